import threading

import pytest

from endtoend import binary as binaries
from endtoend import rawserver
from endtoend.certificates import Certificate
from endtoend.commands import Commands
from endtoend.nginx import Nginx
from endtoend.rawserver import RawServer
from endtoend.sidecar import Sidecar
from endtoend.terminal import Terminal


@pytest.fixture(scope="session")
def binary():
    return binaries.find()


@pytest.fixture
def directory(tmp_path):
    """The queue's directory; the sidecar makes it."""
    return tmp_path / "queue"


@pytest.fixture
def start(binary, directory):
    """Starts sidecars, on the test's directory if not told otherwise; at the end stops and checks them."""
    started = []

    def begin(*arguments, on=None, **options):
        sidecar = Sidecar(binary, on or directory, *arguments, **options)
        started.append(sidecar)
        return sidecar

    yield begin
    for sidecar in started:
        sidecar.dispose()
    for sidecar in started:
        sidecar.check()


@pytest.fixture
def command(binary, directory):
    """Runs commands for people on the test's directory."""
    commands = Commands(binary, directory)
    yield commands
    commands.dispose()


@pytest.fixture
def sidecar(start):
    """One sidecar that is subscribed to everything."""
    sidecar = start()
    sidecar.subscribe()
    return sidecar


@pytest.fixture
def server():
    server = RawServer()
    yield server
    server.close()
    server.check()


@pytest.fixture
def another_server():
    server = RawServer()
    yield server
    server.close()
    server.check()


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    """A certificate for loopback that nobody knows but who is given it as caFile."""
    return Certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def nginx(tmp_path):
    nginx = Nginx(tmp_path / "nginx")
    yield nginx
    nginx.close()


@pytest.fixture
def watch(binary, directory):
    """Starts `outtray watch` on a terminal."""
    started = []

    def begin(*arguments, under=(), **options):
        terminal = Terminal([*under, binary, "watch", "--dir", str(directory), *arguments], **options)
        started.append(terminal)
        return terminal

    yield begin
    for terminal in started:
        terminal.close()


@pytest.fixture
def gate(server):
    """Opens the path /held."""
    gate = threading.Event()
    server.on("/held", rawserver.hold(gate))
    yield gate
    gate.set()
