"""Section 5 of the protocol: several hosts on one directory, and a queue that outlives its host."""
import os
import signal
import socket
import stat
import threading

import pytest

from endtoend import deadline, rawserver
from endtoend.frames import RPCError
from endtoend.hosts import pair, role
from endtoend.requests import enqueue


def test_a_store_03_a_second_sidecar_attaches_and_sends_nothing(start, server):
    """A-STORE-03: hosts share one queue, each entry is sent once; after a SIGKILL the next answers in 2 s."""
    gate = threading.Event()
    server.on("/held", rawserver.hold(gate))
    first, second = pair(start)
    for number in range(10):
        enqueue(first, server.url("/held"), id=f"first{number}")
        enqueue(second, server.url("/held"), id=f"second{number}")
    assert len(first.rows()) == len(second.rows()) == 20
    gate.set()
    for sidecar in (first, second):
        deadline.until("all completed", lambda: sidecar.call("stats")["entries"]["completed"] == 20)
    assert len(server.seen("/held")) == 20
    first.kill()
    assert second.wait_exit() == 0
    third = start()
    third.result(third.send("ping"), 5)
    assert role(start()) == "attached"


def test_outcomes_go_to_who_enqueued(start, server):
    """Section 3: each host gets its own outcomes; what a leaving one had not acknowledged moves on."""
    first, second = pair(start)
    first.subscribe("settled")
    second.subscribe("settled")
    enqueue(first, server.url("/a"), id="a")
    enqueue(second, server.url("/b"), id="b")
    assert first.settled("a")["deliveries"] == second.settled("b")["deliveries"] == 1
    assert second.close() == 0
    assert first.settled("b")["deliveries"] == 2
    first.ack(*first.events("settled"))
    assert first.rows() == []


def test_the_owners_host_may_leave_while_others_stay(start, server):
    """Section 5: an owner with others attached goes on until the last of them has gone."""
    gate = threading.Event()
    server.on("/held", rawserver.hold(gate))
    first, second = pair(start)
    second.subscribe("settled")
    enqueue(first, server.url("/held"), id="a")
    server.wait_requests(1)
    first.process.stdin.close()
    assert second.call("ping")["now"] > 0
    assert first.process.poll() is None
    gate.set()
    assert second.settled("a")["kind"] == "completed"
    assert second.close() == 0
    assert first.wait_exit() == 0


def test_shutdown_of_one_of_several_ends_that_one(start):
    """Section 2: `shutdown` ends the caller's own process; an owner with others attached goes on."""
    first, second = pair(start)
    third = start()
    assert role(third) == "attached"
    assert second.call("shutdown") == {} and second.wait_exit() == 0
    assert first.call("shutdown") == {}
    assert third.call("ping")["now"] > 0
    assert first.process.poll() is None
    assert third.call("shutdown", mode="now") == {}
    assert third.wait_exit() == 0 and first.wait_exit() == 0


def test_what_is_pending_when_the_owner_ends_is_answered(start, tmp_path):
    """Section 5: a relay whose owner was killed answers E_SHUTDOWN, exits 0; the next takes the lock."""
    first, second = pair(start)
    second.call("ping")
    first.process.send_signal(signal.SIGSTOP)
    pending = [second.send("stats"), second.send("ping")]
    deadline.until("the relay has passed them on", lambda: unread(second) == 0)
    first.process.kill()
    for id in pending:
        with pytest.raises(RPCError) as refused:
            second.result(id)
        assert refused.value.code == "E_SHUTDOWN"
    assert second.wait_exit() == 0
    assert role(start()) == "owner"


def unread(sidecar):
    """Bytes in the pipe to the process's stdin."""
    import array
    import fcntl
    import termios
    count = array.array("i", [0])
    fcntl.ioctl(sidecar.process.stdin.fileno(), termios.FIONREAD, count)
    return count[0]


def test_a_relay_keeps_every_byte_and_its_own_line_limit(start):
    """Section 1 holds for attached hosts: exact vars, long lines, lines that are refused."""
    start().call("ping")
    second = start("--max-line", "100000")
    for line, code in (("nonsense", "E_PARSE"), ("[]", "E_REQUEST")):
        position = second.position()
        second.send_line(line)
        answer = second.wait(code, lambda frame: frame.get("id") is None and "error" in frame, position)
        error = answer["error"]
        assert error["data"]["code"] == code
    position = second.position()
    second.send_line('"' + "x" * 200_000 + '"')
    error = second.wait("too long", lambda frame: "error" in frame, position)["error"]
    assert error["data"]["code"] == "E_LINE_TOO_LONG"
    vars = '{"b":1.0,"a":9007199254740993,"u":"\\u2028/"}'
    second.call("pause")
    second.send_line('{"jsonrpc":"2.0","id":"x","method":"enqueue","params":{"id":"a","key":"k","vars":%s,'
                     '"request":{"url":"http://127.0.0.1:1/"}}}' % vars)
    assert vars in second.answer("x").text


def test_an_attached_host_may_be_killed(start, server):
    """Section 5: its connection ends with it, and others are not disturbed."""
    first, second = pair(start)
    enqueue(second, server.url("/a"), id="a")
    second.kill()
    first.subscribe("settled")
    assert first.settled("a")["kind"] == "completed"


@pytest.mark.parametrize("wish", ["drain", "stay:600"])
def test_a_queue_drains_without_its_host(start, server, wish):
    """Section 5: the upload ends without the host, then the process ends, the outcome waits."""
    gate = threading.Event()
    server.on("/held", rawserver.hold(gate))
    first = start("--on-disconnect", wish)
    enqueue(first, server.url("/held"), id="a")
    enqueue(first, server.url("/b"), id="b")
    server.wait_requests(2)
    first.call("pause", keys=["waits"])
    enqueue(first, server.url("/c"), id="c", key="waits")
    first.process.stdin.close()
    gate.set()
    assert first.wait_exit() == 0
    second = start()
    second.subscribe("settled")
    assert second.settled("a")["attempts"] == second.settled("b")["attempts"] == 1
    assert second.row("c")["state"] == "paused"


def test_stay_ends_when_its_time_has_passed(start, server):
    """Section 5: `stay:SECONDS` is a drain that lasts at most so long."""
    gate = threading.Event()
    server.on("/held", rawserver.hold(gate))
    first = start("--on-disconnect", "stay:1")
    enqueue(first, server.url("/held"), id="a")
    server.wait_requests(1)
    first.process.stdin.close()
    assert first.wait_exit() == 0
    gate.set()
    second = start()
    second.subscribe("settled")
    assert second.settled("a")["attempts"] == 2


def test_a_host_that_comes_back_finds_the_transfer_under_way(start, server):
    """Section 5: while it goes on alone it can be attached to, and then it stays for its new host."""
    gate = threading.Event()
    server.on("/held", rawserver.hold(gate))
    first = start("--on-disconnect", "drain")
    enqueue(first, server.url("/held"), id="a")
    server.wait_requests(1)
    first.process.stdin.close()
    second = start()
    assert role(second) == "attached"
    assert second.row("a")["state"] == "running"
    second.subscribe("settled")
    gate.set()
    assert second.settled("a")["attempts"] == 1
    assert second.call("ping")["now"] > 0
    second.ack(second.settled("a"))
    assert second.close() == 0
    assert first.wait_exit() == 0


def test_the_most_lasting_wish_holds(start, server):
    """Section 5: each connection brings its own `--on-disconnect`, the most lasting since the start holds."""
    gate = threading.Event()
    server.on("/held", rawserver.hold(gate))
    first = start()
    first.call("ping")
    second = start("--on-disconnect", "drain")
    enqueue(first, server.url("/held"), id="a")
    server.wait_requests(1)
    assert second.close() == 0
    first.process.stdin.close()
    third = start()
    assert role(third) == "attached"
    gate.set()
    third.subscribe("settled")
    assert third.settled("a")["attempts"] == 1


@pytest.mark.parametrize("wish", ["", "later", "stay", "stay:", "stay:0", "stay:-1", "stay:x"])
def test_another_wish_is_refused(start, wish):
    """Section 5: usage errors end with 64 and say what is right."""
    sidecar = start("--on-disconnect", wish)
    assert sidecar.wait_exit() == 64
    assert "--on-disconnect: must be exit, drain or stay:SECONDS" in sidecar.stderr()


def test_d38_the_socket_is_the_owners_alone(start, directory):
    """D38, section 5: mode 0600, gone after an orderly end, and one that was left behind is no obstacle."""
    first = start()
    first.call("ping")
    place = directory / "socket"
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    first.kill()
    assert place.exists()
    second = start()
    assert role(second) == "owner"
    assert second.close() == 0
    assert not place.exists()


@pytest.mark.parametrize(
    "line", [b"", b"outtray-attach 2 drain\n", b"GET / HTTP/1.1\r\n", b"\n", b"x" * 1000])
def test_who_does_not_greet_is_no_host(start, directory, line):
    """Section 5: another program at the socket changes nothing and is let go when it ends."""
    sidecar = start()
    sidecar.call("ping")
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.connect(str(directory / "socket"))
        stranger.sendall(line)
        stranger.shutdown(socket.SHUT_WR)
        assert stranger.recv(1) == b""
    assert sidecar.close() == 0


def test_a_directory_with_a_long_name_can_be_attached_to(start, tmp_path):
    """Section 5: whatever the length of DIR, though an address has room for 107 bytes."""
    long = tmp_path / ("d" * 200) / ("e" * 200)
    long.mkdir(parents=True)
    pair(start, on=long)


def test_fifty_hosts_come_and_go(start, server):
    """Section 5: descriptors of those who left are given back."""
    first = start()
    first.call("ping")
    before = len(os.listdir(f"/proc/{first.process.pid}/fd"))
    for number in range(50):
        host = start(log=f"{first.log_path}.{number}")
        enqueue(host, server.url("/x"), id=str(number))
        assert host.close() == 0
    descriptors = f"/proc/{first.process.pid}/fd"
    deadline.until("descriptors are back", lambda: len(os.listdir(descriptors)) <= before + 5)
    deadline.until("all sent", lambda: first.call("stats")["entries"]["completed"] == 50)
