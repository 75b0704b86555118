"""`serve --keep-awake`: a lock of logind's while something is sent, against a bus of the test's own."""
import os
import socket
import subprocess
import sys
import threading

import pytest

from endtoend import deadline, rawserver
from endtoend.requests import enqueue

dbus = pytest.importorskip("dbus")
pytest.importorskip("dbusmock")

LOGIND = ("org.freedesktop.login1", "/org/freedesktop/login1")
CONFIG = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>system</type><listen>unix:path={path}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/>
<allow own="*"/></policy></busconfig>"""


class Bus:
    """A system bus; logind is on it from `start_logind` on."""

    def __init__(self, folder):
        self.path = folder / "bus"
        config = folder / "bus.conf"
        config.write_text(CONFIG.format(path=self.path))
        self.env = {"DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={self.path}"}
        self.processes = [subprocess.Popen(["dbus-daemon", f"--config-file={config}", "--nofork"])]
        deadline.until("the bus listens", self.path.exists)
        self.connection = None

    def start_logind(self):
        self.processes.append(subprocess.Popen(
            [sys.executable, "-m", "dbusmock", "--system", "--template", "logind"],
            env={**os.environ, **self.env}, stdout=subprocess.DEVNULL))
        self.connection = dbus.bus.BusConnection(self.env["DBUS_SYSTEM_BUS_ADDRESS"])
        deadline.until("logind is there", lambda: self.connection.name_has_owner(LOGIND[0]))
        deadline.until("logind answers", self._answers)

    def _answers(self):
        try:
            return self.locks() == []
        except dbus.exceptions.DBusException:
            return False

    def locks(self):
        """(what, who, why, mode) of each lock that is held."""
        manager = dbus.Interface(self.connection.get_object(*LOGIND), f"{LOGIND[0]}.Manager")
        return [tuple(map(str, lock[:4])) for lock in manager.ListInhibitors()]

    def close(self):
        if self.connection is not None:
            self.connection.close()
        for process in reversed(self.processes):
            process.terminate()
            process.wait(10)


@pytest.fixture
def bus(tmp_path):
    bus = Bus(tmp_path)
    yield bus
    bus.close()


def slow(server):
    """A path that is answered when the event is set."""
    hold = threading.Event()
    server.on("/slow", *[rawserver.hold(hold)] * 4)
    return hold


LOCK = ("sleep:idle", "outtray", "requests are being sent", "block")


def test_a_lock_while_something_is_sent(start, server, bus):
    """Held during the transfer, one lock for several, gone some seconds after the last; no diagnostic."""
    bus.start_logind()
    hold = slow(server)
    sidecar = start("--keep-awake", env=bus.env)
    greeting = sidecar.call("initialize", protocolVersion=1, client={"name": "t", "version": "1"})
    assert "keepAwake" in greeting["capabilities"]
    assert sidecar.call("stats")["keepAwake"] == "free"
    assert bus.locks() == []
    for number in range(2):
        enqueue(sidecar, server.url("/slow"), id=f"a{number}", data=1)
    server.wait_requests(2, "/slow")
    deadline.until("the lock is held", lambda: bus.locks() == [LOCK])
    assert sidecar.call("stats")["keepAwake"] == "held"
    hold.set()
    sidecar.wait_state("a1", "completed")
    deadline.until("the lock is given back", lambda: bus.locks() == [], 10)
    assert sidecar.call("stats")["keepAwake"] == "free"
    assert [record["message"] for record in sidecar.call("takeDiagnostics")["records"]] == ["boot sweep"]
    assert sidecar.close() == 0


def test_the_end_of_the_process_gives_it_back(start, server, bus):
    """A kill leaves no lock behind."""
    bus.start_logind()
    hold = slow(server)
    sidecar = start("--keep-awake", env=bus.env)
    enqueue(sidecar, server.url("/slow"), id="a", data=1)
    deadline.until("the lock is held", lambda: bus.locks() == [LOCK])
    sidecar.kill()
    deadline.until("the lock is gone", lambda: bus.locks() == [])
    hold.set()


def test_an_attached_process_may_wish_for_it(start, server, bus, directory):
    """The flag of one host counts for the owner, from then on."""
    bus.start_logind()
    hold = slow(server)
    owner = start(env=bus.env)
    assert "keepAwake" not in owner.call("stats")
    enqueue(owner, server.url("/slow"), id="a", data=1)
    server.wait_requests(1, "/slow")
    host = start("--keep-awake", env=bus.env, log=f"{directory}.second")
    assert host.call("stats")["keepAwake"] in ("free", "held")
    deadline.until("the lock is held", lambda: bus.locks() == [LOCK])
    hold.set()


def told(sidecar):
    """The one warning about it, once there is one."""
    def look():
        records.extend(sidecar.call("takeDiagnostics")["records"])
        return [record for record in records if "kept awake" in record["message"]]
    records = []
    found = deadline.until("a diagnostic", look)
    assert len(found) == 1 and found[0]["level"] == "warn"
    return found[0]["error"]


@pytest.mark.parametrize("is_there", [False, True])
def test_without_a_bus_or_logind(start, server, bus, tmp_path, is_there):
    """It is said once in a diagnostic and in the log, stats says so, and everything is sent all the same."""
    env = bus.env if is_there else {"DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={tmp_path}/none"}
    sidecar = start("--keep-awake", env=env)
    for number in range(3):
        enqueue(sidecar, server.url("/x"), id=f"a{number}", data=1)
        sidecar.wait_state(f"a{number}", "completed")
    reason = told(sidecar)
    assert ("logind gives no lock: " if is_there else "the system bus cannot be reached: ") in reason
    assert sidecar.call("stats")["keepAwake"] == "unavailable"
    assert sidecar.close() == 0
    lines = sidecar.stderr().splitlines()
    assert len(lines) == 1 and "warn the machine cannot be kept awake while requests are sent" in lines[0]


def test_a_bus_that_never_answers(start, server, tmp_path):
    """Calls, transfers and the end go on meanwhile; after some seconds it is given up."""
    path = tmp_path / "mute"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        sidecar = start("--keep-awake", env={"DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={path}"})
        enqueue(sidecar, server.url("/x"), id="a", data=1)
        sidecar.wait_state("a", "completed", 3)
        assert "the system bus cannot be reached: " in told(sidecar)
        enqueue(sidecar, server.url("/x"), id="b", data=1)
        assert sidecar.close(5) == 0
