"""`outtray watch` without a terminal: plain lines, and objects."""
import json

from endtoend.hosts import role
from endtoend.requests import enqueue


def test_plain_lines_without_a_terminal(start, server, gate, command):
    """A line for each change of state, sums in between, and the coming and going of who serves."""
    first = start()
    assert role(first) == "owner"
    told = command.begin("watch")
    told.wait_for(f"served by process {first.process.pid}")
    told.wait_for("no entries")
    enqueue(first, server.url("/held"), id="a\x1b[2J")
    told.wait_for("a\\u{1b}[2J is running, attempts: 1")
    gate.set()
    told.wait_for("a\\u{1b}[2J is completed")
    first.kill()
    after = told.wait_for("nobody serves this queue")
    second = start()
    told.wait_for(f"served by process {second.process.pid}", after)
    assert not any("\x1b" in line for line in told.lines)


def test_json_lines(sidecar, server, command):
    """--json: one object a line; states as on the wire, and sums."""
    told = command.begin("watch", "--json")
    told.wait_for('"served"')
    told.wait_for('"summary"')
    enqueue(sidecar, server.url("/ok"), id="a", vars={"n": 1})
    told.wait_for('"state":"completed"')
    objects = [json.loads(line) for line in told.lines]
    assert {"method": "served", "params": {"pid": sidecar.process.pid}} in objects
    states = [one["params"] for one in objects if one["method"] == "state"]
    assert [row["state"] for row in states if row["id"] == "a"][-1] == "completed"
    assert states[-1] == sidecar.events("state", id="a")[-1]
    summary = next(one["params"] for one in objects if one["method"] == "summary")
    assert summary["entries"]["queued"] == 0 and summary["served"] is True and summary["paused"] is False


def test_a_directory_without_a_queue_is_refused(command, tmp_path):
    """As every command for people: status 73, and the reason as the last line of stderr."""
    refused = command("watch", on=tmp_path, status=73)
    assert "holds no queue" in refused.reason and not refused.output
