"""Section 5 of the protocol: how attached processes and their owner begin and end, one of them slow, or short
of something."""
import os
import signal
import socket
import subprocess
import threading
import time

import pytest

from endtoend import deadline, rawserver
from endtoend.hosts import pair, role
from endtoend.processes import wake_ups
from endtoend.requests import enqueue


def holds_answers_back(host):
    """Asks for more than its pipe takes, and reads none of it."""
    host.call("pause")
    for number in range(60):
        enqueue(host, "http://127.0.0.1:1/", id=f"large{number}", vars=["x" * 20_000])
    host.stop_reading()
    for _ in range(20):
        host.send("getRequests")


@pytest.mark.parametrize("end", ["SIGTERM", "SIGHUP", "stdin"])
def test_a_relay_whose_host_does_not_read_ends(start, end):
    """Section 5: within 5 s, as an owner does, and the owner goes on."""
    first, second = pair(start)
    holds_answers_back(second)
    if end == "stdin":
        second.process.stdin.close()
    else:
        second.process.send_signal(getattr(signal, end))
    assert second.process.wait(5) == 0
    second.may_cut_its_last_line = True
    assert first.call("ping")["now"] > 0


def test_a_second_signal_ends_a_relay_at_once(start):
    """Section 5: though its host reads nothing."""
    _, second = pair(start)
    holds_answers_back(second)
    second.may_cut_its_last_line = True
    second.process.send_signal(signal.SIGTERM)
    deadline.until("the first one was taken", lambda: signals_pending(second) == 0)
    second.process.send_signal(signal.SIGTERM)
    assert second.process.wait(1.5) == 0


def signals_pending(sidecar):
    """The set of signals that wait for the whole process."""
    with open(f"/proc/{sidecar.process.pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1], 16) for line in status if line.startswith("ShdPnd"))


def test_a_relay_whose_output_breaks_is_gone(start):
    """Section 5: a host is gone when its stdout breaks, also where nothing is to be said to it."""
    first, second = pair(start)
    second.break_stdout()
    assert second.wait_exit() == 0
    assert first.close() == 0


def test_an_owner_that_ends_does_not_take_who_attaches_along(start, directory):
    """Section 5: a connection that is closed before the greeting is tried again; no signal, no 75."""
    first = start()
    first.call("ping")
    first.process.send_signal(signal.SIGSTOP)
    place = directory / "socket"
    place.unlink()
    with socket.socket(socket.AF_UNIX) as ending:
        ending.bind(str(place))
        ending.listen()
        second = start()
        for _ in range(5):
            ending.accept()[0].close()
    first.kill()
    assert role(second) == "owner"


def test_who_attaches_to_a_drain_is_served(start, server):
    """Sections 2 and 5: a host that comes during a `shutdown` drain is a host as any; the owner goes on for
    it, and what it leaves undone is drained again."""
    gate = threading.Event()
    server.on("/held", rawserver.hold(gate))
    first = start()
    enqueue(first, server.url("/held"), id="a")
    server.wait_requests(1)
    first.call("shutdown", mode="drain")
    second, third = start(), start()
    assert role(second) == role(third) == "attached"
    enqueue(second, server.url("/held"), id="b")
    assert second.close() == 0
    gate.set()
    third.wait_state("b", "completed")
    assert first.process.poll() is None
    assert third.close() == 0
    assert first.wait_exit() == 0


def test_a_drain_ends_although_its_host_reads_nothing(start):
    """Section 5: what nobody takes holds up an end for a short time only."""
    sidecar = start()
    sidecar.call("ping")
    holds_answers_back(sidecar)
    sidecar.send("shutdown", {"mode": "drain"})
    sidecar.process.stdin.close()
    assert sidecar.process.wait(6) == 0
    sidecar.may_cut_its_last_line = True


def test_without_a_socket_the_host_is_served(start, directory):
    """Section 5: where none can be made, on a full disk for one, the log says so and the queue works."""
    (directory / "socket").mkdir(parents=True)
    sidecar = start()
    assert sidecar.call("ping")["now"] > 0
    deadline.until("it is told", lambda:
                   'no further process can be attached error="bind: ' in sidecar.stderr())
    assert sidecar.close() == 0


def test_who_found_no_room_is_let_in_when_there_is(start):
    """Section 5: the owner is out of descriptors for a moment, for whatever reason, and does not spin."""
    first = start()
    first.call("ping")
    pid = first.process.pid

    def limit(descriptors):
        subprocess.run(["prlimit", "--pid", str(pid), f"--nofile={descriptors}:"], check=True)

    limit(len(os.listdir(f"/proc/{pid}/fd")))
    second = start()
    ping = second.send("ping")
    before = wake_ups(first.process)
    time.sleep(1)
    assert wake_ups(first.process) - before < 100
    limit(1024)
    assert second.result(ping)["now"] > 0
