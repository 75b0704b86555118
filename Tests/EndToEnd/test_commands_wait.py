"""Commands for people that stay: they wait and follow, and the life of the queue does not depend on them."""
import json
import os
import socket
import threading

import pytest

from endtoend import deadline, rawserver
from endtoend.commands import SECRET, hears_of
from endtoend.hosts import pair
from endtoend.requests import enqueue

NOWHERE = "http://127.0.0.1:1/"


@pytest.mark.parametrize("wish", ["exit", "drain", "stay:600"])
def test_a_command_makes_no_life_longer_or_shorter(command, start, server, wish):
    """Section 5: a visitor is no host: nobody stays for it, and its going ends nothing."""
    gate = threading.Event()
    server.on("/held", rawserver.hold(gate))
    sidecar = start("--on-disconnect", wish)
    enqueue(sidecar, server.url("/held"), id="a")
    server.wait_requests(1)
    follower = command.begin("log", "-f")
    for _ in range(2):
        command("ls")
        command("pause", "other")
        sidecar.call("ping")
    sidecar.process.stdin.close()
    if wish != "exit":
        # It goes on alone, visited or not, until the entry has gone.
        assert command("explain", "a").output == "a is running.\nNothing holds it back: it is being sent.\n"
        assert sidecar.process.poll() is None
        gate.set()
    assert sidecar.wait_exit() == 0
    gate.set()
    follower.wait_remark("nobody serves the queue; waiting until outtray serve does")
    assert follower.process.poll() is None


def test_a_visitor_may_not_end_the_queue(start, directory):
    """Section 5: shutdown of a visitor lets the visitor go and no more."""
    first, second = pair(start)
    visitor = socket.socket(socket.AF_UNIX)
    visitor.connect(os.path.relpath(directory / "socket"))
    visitor.sendall(b"outtray-attach 1 visit\n"
                    b'{"jsonrpc":"2.0","id":1,"method":"shutdown","params":{"mode":"drain"}}\n')
    received = b""
    while chunk := visitor.recv(4096):
        received += chunk
    visitor.close()
    assert received.endswith(b'{"jsonrpc":"2.0","id":1,"result":{}}\n')
    assert second.close() == 0
    first.call("ping")
    first.process.stdin.close()
    assert first.wait_exit() == 0


def test_add_wait_tells_the_outcome_and_acknowledges_it(command, sidecar, server):
    """add --wait: 0, 1 or 2 by the outcome; it is acknowledged, and those of others stay theirs."""
    for path, status in (("/good", 201), ("/bad", 422)):
        server.on(path, rawserver.reply(status, headers=[("X-Token", SECRET)], body=SECRET.encode()))
    sidecar.call("unsubscribe")
    enqueue(sidecar, server.url("/good"), id="before", key="outtray.add")
    sidecar.wait_state("before", "completed")
    good = command("add", server.url("/good"), "--id", "g", "--wait")
    assert good.output == "g\ncompleted 201\n"
    bad = command("add", server.url("/bad"), "--id", "b", "--wait", "--json", status=1)
    answer, outcome = bad.lines
    assert answer["disposition"] == "created"
    assert outcome["error"]["response"]["status"] == 422 and outcome["id"] == "b"
    sidecar.call("pause", keys=["k"])
    going = command.begin("add", NOWHERE, "--id", "c", "--key", "k", "--wait")
    going.wait_line("the id", lambda line: line == "c")
    sidecar.call("cancel", id="c")
    assert going.wait() == 2 and going.lines == ["c", "cancelled: user"]
    sidecar.subscribe("settled")
    assert sidecar.settled("before")["id"] == "before"
    assert [event["id"] for event in sidecar.events("settled")] == ["before"]
    assert {row["id"]: row["state"] for row in sidecar.rows()} == {"before": "completed", "b": "error"}


def test_add_wait_outlasts_whoever_serves(command, start, server):
    """add --wait: without a process, or when it ends, it waits for the next one."""
    gate = threading.Event()
    server.on("/held", rawserver.hold(gate, rawserver.reply(200)))
    start().close()
    going = command.begin("add", server.url("/held"), "--id", "a", "--wait")
    going.wait_line("the id", lambda line: line == "a")
    going.wait_remark("nobody serves the queue; waiting until outtray serve does")
    first = start()
    server.wait_requests(1)
    first.kill()
    second = start()
    server.wait_requests(2)
    gate.set()
    assert going.wait() == 0 and going.lines[-1] == "completed 200"
    deadline.until("it is acknowledged", lambda: second.rows() == [])


def test_log_follows_what_happens(command, start, server):
    """log -f: attempts and states as they happen, over the end of a process, and takes no outcome."""
    server.on("/up", rawserver.reply(201, headers=[("X-Token", SECRET)], body=SECRET.encode()))
    start().close()
    going = command.begin("log", "-f", "--json")
    going.wait_remark("waiting until outtray serve does")
    for name in ("a", "b"):
        sidecar = start()
        deadline.until("it has attached", lambda: hears_of(sidecar, going, f"probe-{name}"))
        enqueue(sidecar, server.url(f"/up?{SECRET}"), id=name, data={"secret": SECRET})
        line = going.wait_line("an attempt", lambda line: f'"attempt","params":{{"id":"{name}"' in line)
        params = json.loads(line)["params"]
        assert params["httpCode"] == 201 and "responseBody" not in params
        going.wait_line("a state", lambda line: f'"id":"{name}"' in line and '"state":"completed"' in line)
        assert sidecar.close() == 0
    sidecar = start()
    sidecar.subscribe("settled")
    assert sidecar.settled("a")["deliveries"] == sidecar.settled("b")["deliveries"] == 1
