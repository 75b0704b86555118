"""Many requests in one call, entries that belong together, and what a killed process leaves of both."""
import threading

import pytest

from endtoend import deadline, rawserver
from endtoend.frames import RPCError


def entry(url, id, group="g", **more):
    return {"id": id, "key": "k", "group": group, "request": {"url": url, "data": {"entry": id}}, **more}


def test_d42_d48_d50_a_repeated_call_after_a_kill_runs_nothing_twice(start, server):
    """D42, D48, D50: completed members are kept until the group's outcome is acknowledged, over kills."""
    hold = threading.Event()
    server.on("/held", rawserver.hold(hold))
    entries = [entry(server.url("/a"), "a"), entry(server.url("/b"), "b"), entry(server.url("/held"), "c")]
    sidecar = start()
    sidecar.subscribe("settled", "groupSettled")
    told = sidecar.call("enqueueAll", entries=entries)["entries"]
    assert [one["disposition"] for one in told] == ["created"] * 3
    sidecar.ack(sidecar.settled("a"), sidecar.settled("b"))
    sidecar.kill()

    sidecar = start()
    told = sidecar.call("enqueueAll", entries=entries)["entries"]
    assert [one["disposition"] for one in told] == ["kept", "kept", "resumed"]
    assert [row["id"] for row in sidecar.rows(group="g")] == ["a", "b", "c"]
    hold.set()
    sidecar.wait_state("c", "completed")
    sidecar.kill()

    sidecar = start()
    sidecar.subscribe("settled", "groupSettled")
    done = sidecar.event("groupSettled")
    assert (done["group"], done["counts"], done["failed"]) == (
        "g", {"completed": 3, "error": 0, "cancelled": 0}, [])
    sidecar.ack(sidecar.settled("c"))
    assert [row["id"] for row in sidecar.rows()] == ["a", "b", "c"]
    told = sidecar.call("enqueueAll", entries=entries)["entries"]
    assert [one["disposition"] for one in told] == ["kept"] * 3
    sidecar.ack(done)
    deadline.until("all are forgotten", lambda: sidecar.rows() == [])
    paths = [request.path for request in server.requests]
    assert (paths.count("/a"), paths.count("/b")) == (1, 1)


def test_d48_the_host_is_told_how_far_a_group_is(start, server):
    """D48: the last value is 1, and comes before the outcome of the group."""
    sidecar = start()
    sidecar.subscribe("group", "groupSettled")
    sidecar.call("enqueueAll", entries=[entry(server.url(f"/{n}"), f"e{n}", weight=n + 1) for n in range(5)])
    sidecar.event("groupSettled")
    told = [event["progress"] for event in sidecar.events("group")]
    assert told == sorted(told) and told[-1] == 1
    assert sidecar.events("group")[-1]["counts"]["completed"] == 5


@pytest.mark.parametrize("fault, code, path", [
    ({"request": {"url": "ftp://x/"}}, "E_INVALID", "entries[2].request.url"),
    ({"request": {"url": "http://127.0.0.1:9/", "file": "/no/such/file"}}, "E_FILE_MISSING",
     "entries[2].request.file"),
    ({"weight": -1}, "E_INVALID", "entries[2].weight"), ({"id": "moved"}, "E_INVALID", "entries[2].id"),
    ({"groupDeadlineMs": 0}, "E_INVALID", "entries[2].groupDeadlineMs"),
])
def test_d50_one_that_is_wrong_refuses_all(sidecar, tmp_path, fault, code, path):
    """D50: it is named, what was copied goes, what was to be moved stays."""
    source = tmp_path / "source"
    source.write_bytes(bytes(200_000))
    url = "http://127.0.0.1:9/"
    sidecar.call("pause")
    entries = [
        {"id": "moved", "key": "k", "request": {"url": url, "file": str(source), "staging": "move"}},
        {"id": "copied", "key": "k", "request": {"url": url, "file": str(source)}},
        {**entry(url, "bad"), **fault}]
    with pytest.raises(RPCError) as refused:
        sidecar.call("enqueueAll", entries=entries)
    assert (refused.value.code, refused.value.path) == (code, path)
    assert sidecar.rows() == []
    assert source.stat().st_size == 200_000
    assert [file for file in (tmp_path / "queue").rglob("body-*")] == []
