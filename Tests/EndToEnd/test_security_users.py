"""Who else can reach the queue: other users, the network, whoever lists processes or finds a core file."""
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

from endtoend import deadline
from endtoend.hosts import role
from endtoend.requests import enqueue
from endtoend.strangers import begin_as_stranger, needs_root, run_as_stranger

# Says what became of a connection: the error, or what came back until the end.
CONNECT = """
import socket, sys
try:
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(10)
        s.connect(sys.argv[1])
        s.sendall(b'outtray-attach 1 exit\\n{"jsonrpc":"2.0","id":1,"method":"ping"}\\n')
        print(s.recv(100))
except OSError as error:
    print(type(error).__name__)
"""

# Listens at a path, answers as an owner would, and says what it was told.
PRETEND = """
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen(9)
print("listening", flush=True)
while True:
    c, _ = s.accept()
    told = b""
    c.settimeout(10)
    try:
        told = c.recv(100)
        if told:
            c.sendall(b"outtray-attach 1\\n")
            told = told + c.recv(1000)
    except OSError:
        pass
    print(repr(told), flush=True)
    c.close()
"""

READ = """
import sys
for path in sys.argv[1:]:
    try:
        open(path).read()
        print("read", path)
    except PermissionError:
        print("refused")
"""


@pytest.fixture
def commons():
    """A folder that everybody may enter and write to."""
    place = Path(tempfile.mkdtemp(prefix="outtray-commons-"))
    os.chmod(place, 0o777)
    yield place
    shutil.rmtree(place)


def test_d38_another_user_finds_every_file_closed(start, commons):
    """D38: neither file nor socket, though the folder around the directory is open to everybody."""
    needs_root()
    directory = commons / "queue"
    sidecar = start(on=directory)
    sidecar.call("ping")
    places = [path for path in directory.rglob("*") if path.is_file()]
    assert len(places) >= 4
    assert set(run_as_stranger(READ, directory, *places).splitlines()) == {"refused"}
    assert run_as_stranger(CONNECT, directory / "socket") == "PermissionError"
    assert sidecar.close() == 0


def test_d38_another_user_at_the_socket_is_sent_away(start, commons):
    """D38, section 5: by the uid of the peer, even where somebody has opened directory and socket; hosts of
    the right user still come in."""
    needs_root()
    directory = commons / "queue"
    sidecar = start(on=directory)
    sidecar.call("ping")
    os.chmod(directory, 0o777)
    os.chmod(directory / "socket", 0o777)
    for _ in range(3):
        said = run_as_stranger(CONNECT, directory / "socket")
        assert said in ("b''", "ConnectionResetError", "BrokenPipeError")
    second = start(on=directory, log=f"{sidecar.log_path}.second")
    assert role(second) == "attached"
    assert second.close() == 0
    assert sidecar.close() == 0


def test_d38_a_stranger_who_listens_is_told_nothing(binary, start, commons, tmp_path):
    """D38: neither greeting nor request goes to a socket that another user listens at, as one that was put
    there before the directory was closed."""
    needs_root()
    directory = commons / "queue"
    assert start(on=directory).close() == 0
    stranger = begin_as_stranger(PRETEND, commons / "trap")
    try:
        assert stranger.stdout.readline() == "listening\n"
        (directory / "socket").symlink_to(commons / "trap")
        for name, *arguments in (("ls",), ("add", "http://127.0.0.1:9/", "--header-file", "-")):
            subprocess.run([binary, name, "--dir", str(directory), *arguments], check=True, timeout=20,
                           input=b"Authorization: s3cret\n", capture_output=True)
            assert stranger.stdout.readline() == "b''\n"
    finally:
        stranger.kill()
        stranger.communicate()


def sockets(process):
    """The inodes of the sockets that it has open."""
    folder = f"/proc/{process.pid}/fd"
    links = [os.readlink(f"{folder}/{number}") for number in os.listdir(folder)]
    return {link[8:-1] for link in links if link.startswith("socket:[")}


def test_d38_it_listens_at_its_own_socket_and_nowhere_else(sidecar, server, directory):
    """D38: at no port and at no abstract name, which has no owner and no mode."""
    enqueue(sidecar, server.url("/x"), id="a")
    sidecar.settled("a")
    own = sockets(sidecar.process)
    listening = []
    for table, inode in (("tcp", 9), ("tcp6", 9), ("udp", 9), ("udp6", 9)):
        lines = Path(f"/proc/net/{table}").read_text(encoding="ascii").splitlines()[1:]
        listening += [line for line in lines
                      if line.split()[inode] in own and line.split()[3] in ("0A", "07")]
    assert listening == []
    named = [line.split() for line in Path("/proc/net/unix").read_text(encoding="utf-8").splitlines()[1:]]
    # A path of an attached process has the same name; the listener alone has the flag 00010000.
    places = [words[7] for words in named if words[6] in own and len(words) > 7 and words[3] == "00010000"]
    assert len(places) == 1 and re.fullmatch(r"/proc/self/fd/\d+/socket", places[0]), places


def test_d38_a_process_that_dies_leaves_no_core_file(binary, tmp_path):
    """D38: tokens are in its memory. The control shows whether this machine writes core files at all; where
    it does not, the limit alone is looked at."""
    def run(*words):
        def allow():
            hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
            resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
        return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path,
                                preexec_fn=allow)

    def dies_with_core(process):
        process.send_signal(signal.SIGABRT)
        _, status = os.waitpid(process.pid, 0)
        process.returncode = -os.WTERMSIG(status)
        assert os.WTERMSIG(status) == signal.SIGABRT
        process.stdin.close()
        process.stdout.close()
        return os.WCOREDUMP(status)

    control = run("cat")
    control.stdin.write(b"x")
    control.stdin.flush()
    assert control.stdout.read(1) == b"x"
    writes_cores = dies_with_core(control)
    for path in tmp_path.glob("core*"):
        path.unlink()
    sidecar = run(binary, "serve", "--dir", str(tmp_path / "queue"))
    sidecar.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    sidecar.stdin.flush()
    assert b'"now"' in sidecar.stdout.readline()
    soft, _ = resource.prlimit(sidecar.pid, resource.RLIMIT_CORE)
    assert soft in (0, 1)
    assert not dies_with_core(sidecar)
    assert list(tmp_path.glob("core*")) == []
    if not writes_cores:
        pytest.skip("this machine writes no core files; the limit of the process was looked at")


def test_d38_the_process_list_shows_no_secret(binary, command, start, tmp_path, server):
    """D38: a header comes by a file, stdin or the environment; `/proc/PID/cmdline` of any process of the
    queue has none."""
    start().call("ping")
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    adding = subprocess.Popen([binary, "add", "--dir", command.directory, server.url("/x"), "--header-file",
                               str(gate)], stdout=subprocess.PIPE)
    with open(gate, "w", encoding="ascii") as source:
        source.write("Authorization: Bearer s3cret\n")
        lines = [line for line in map(words, Path("/proc").glob("[0-9]*/cmdline"))
                 if command.directory.encode() in line]
        assert any(b"--header-file" in line for line in lines)
        assert not any(b"s3cret" in line for line in lines)
    assert adding.wait(20) == 0
    adding.stdout.close()
    deadline.until("it was sent", server.seen)
    assert server.seen()[0].header("authorization") == "Bearer s3cret"
    for name in ("Authorization", "cookie", "X-API-Key"):
        refused = command("add", server.url("/x"), "--header", f"{name}: s3cret", status=64)
        assert "s3cret" not in refused.error and "--header-file" in refused.reason


def words(path):
    """What a process was started with; nothing when it has ended while the list is read."""
    try:
        return path.read_bytes()
    except OSError:
        return b""
