"""`serve --virtual-clock`: waits of hours and weeks, in no time."""
import threading
import time

import pytest

from endtoend import rawserver
from endtoend.frames import RPCError
from endtoend.requests import enqueue

HOUR = 3_600_000
DAY = 24 * HOUR
TWO_HOURS = {"backoff": {"baseMs": 2 * HOUR, "maxMs": 2 * HOUR, "jitter": 0}}


@pytest.fixture
def virtual(start):
    """Starts sidecars with a virtual clock, subscribed to everything."""
    def begin(**options):
        sidecar = start("--virtual-clock", **options)
        sidecar.subscribe()
        return sidecar
    return begin


def now(sidecar):
    return sidecar.call("ping")["now"]


def advance(sidecar, milliseconds):
    return sidecar.call("advanceClock", ms=milliseconds)["now"]


def failed_once(sidecar, server, *then, **fields):
    """An entry that was answered 503 and waits two hours; gives the server's URL path."""
    path = "/busy"
    server.on(path, rawserver.reply(503), *then)
    enqueue(sidecar, server.url(path), id="a", data=1, retry=TWO_HOURS, **fields)
    sidecar.event("attempt", id="a", attempt=1)
    assert sidecar.wait_state("a", "queued")["attempts"] == 1
    return path


def test_it_stands_still_and_is_moved(virtual):
    """The clock shows the same until it is moved, and then exactly what it was moved by; it is announced."""
    before = int(time.time() * 1000)
    sidecar = virtual()
    begin = now(sidecar)
    assert abs(begin - before) < 60_000
    time.sleep(0.02)
    assert now(sidecar) == begin
    assert advance(sidecar, 0) == begin
    assert advance(sidecar, 5 * DAY + 1) == begin + 5 * DAY + 1 == now(sidecar)
    assert now(sidecar) == begin + 5 * DAY + 1


def test_d15_two_hours_of_backoff_take_no_time(virtual, server):
    """D15, D2: one millisecond early nothing starts; on time it has been started before the answer comes."""
    gate = threading.Event()
    sidecar = virtual()
    begin = now(sidecar)
    path = failed_once(sidecar, server, rawserver.hold(gate))
    assert sidecar.row("a")["nextAttemptAt"] == begin + 2 * HOUR
    advance(sidecar, 2 * HOUR - 1)
    row = sidecar.row("a")
    assert (row["state"], row["attempts"], row["nextAttemptAt"]) == ("queued", 1, begin + 2 * HOUR)
    assert advance(sidecar, 1) == begin + 2 * HOUR
    row = sidecar.row("a")
    assert (row["state"], row["attempts"], row["updatedAt"]) == ("running", 2, begin + 2 * HOUR)
    assert len(server.wait_requests(2, path)) == 2
    gate.set()
    assert sidecar.settled("a")["at"] == begin + 2 * HOUR


def test_the_events_of_what_is_due_precede_the_answer(virtual, server):
    """The state event of the second attempt stands before the answer to advanceClock, on the wire."""
    sidecar = virtual()
    failed_once(sidecar, server, rawserver.hold(threading.Event()))
    since = sidecar.position()
    call = sidecar.send("advanceClock", {"ms": 2 * HOUR})
    sidecar.answer(call)
    frames = sidecar.frames[since:]
    running = [n for n, frame in enumerate(frames) if frame.get("method") == "state"]
    answer = next(n for n, frame in enumerate(frames) if frame.get("id") == call)
    assert running and running[0] < answer


def test_d4_an_entry_expires_after_14_days(virtual, server):
    """D4: not a millisecond early; the outcome is there and dated when the answer has come."""
    sidecar = virtual()
    begin = now(sidecar)
    failed_once(sidecar, server)
    sidecar.call("pause", keys=["k"])
    advance(sidecar, 14 * DAY - 1)
    sidecar.call("resume", keys=["k"])
    sidecar.event("attempt", id="a", attempt=2)
    assert sidecar.wait_state("a", "queued")["attempts"] == 2
    assert advance(sidecar, 1) == begin + 14 * DAY
    outcome, = sidecar.events("settled", id="a")
    assert (outcome["at"], outcome["error"]["errorKind"]) == (begin + 14 * DAY, "expired")


def test_many_that_expire_at_once_are_all_settled_when_the_answer_comes(virtual, server):
    """More than one turn of the engine takes."""
    sidecar = virtual()
    sidecar.call("setNetwork", type="none")
    for n in range(200):
        enqueue(sidecar, server.url("/x"), id=f"{n}", data=n, wifiOnly=True)
    assert len(sidecar.rows(state="queued")) == 200
    advance(sidecar, 14 * DAY)
    assert len(sidecar.rows(state="error")) == 200
    assert server.seen() == []


def test_what_was_sent_before_is_decided_at_the_old_time(virtual):
    """Calls in one write: the clock moves between those before it and those after it."""
    sidecar = virtual()
    begin = now(sidecar)
    sidecar.call("pause")
    request = {"url": "http://127.0.0.1:9/", "data": 1}
    first = sidecar.send("enqueue", {"id": "a", "key": "k", "request": request})
    moved = sidecar.send("advanceClock", {"ms": HOUR})
    second = sidecar.send("enqueue", {"id": "b", "key": "k", "request": request})
    assert sidecar.result(first)["row"]["updatedAt"] == begin
    assert sidecar.result(moved)["now"] == begin + HOUR
    assert sidecar.result(second)["row"]["updatedAt"] == begin + HOUR


def test_d21_a_new_process_goes_on_where_the_clock_stood(virtual, server):
    """D21, D15: after a kill the clock is not behind, and the rest of the wait is what was left."""
    sidecar = virtual()
    path = failed_once(sidecar, server, rawserver.reply(201))
    due = sidecar.row("a")["nextAttemptAt"]
    stood = advance(sidecar, HOUR)
    sidecar.kill()
    again = virtual()
    began = now(again)
    assert stood <= began < stood + HOUR / 2
    assert again.row("a")["nextAttemptAt"] == pytest.approx(due, abs=began - stood)
    assert len(server.seen(path)) == 1
    advance(again, HOUR)
    assert again.settled("a")["kind"] == "completed"
    assert len(server.seen(path)) == 2


def test_d22_time_limits_of_the_transport_are_real(virtual, server):
    """D22: a server that is silent is given up though the clock stands still."""
    sidecar = virtual()
    begin = now(sidecar)
    url = server.on("/silent", rawserver.hold(threading.Event()))
    enqueue(sidecar, url, id="a", data=1, retry=TWO_HOURS,
            timeouts={"connectMs": 5000, "stallMs": 5000, "responseMs": 100})
    attempt = sidecar.event("attempt", id="a")
    assert "responseMs" in attempt["errorMessage"] and attempt["at"] == begin
    assert sidecar.wait_state("a", "queued")["nextAttemptAt"] == begin + 2 * HOUR


@pytest.mark.parametrize("params, path", [
    ({}, "ms"), ({"ms": -1}, "ms"), ({"ms": 1.5}, "ms"), ({"ms": "1"}, "ms"), ({"ms": 1, "s": 1}, "s"),
    ({"ms": 2**53 - 1}, "ms"), ({"ms": 2**53}, "ms")])
def test_bad_input_moves_nothing(virtual, params, path):
    """E_INVALID names the field, and the clock stands where it stood."""
    sidecar = virtual()
    begin = now(sidecar)
    with pytest.raises(RPCError) as refused:
        sidecar.call("advanceClock", **params)
    assert (refused.value.code, refused.value.path) == ("E_INVALID", path)
    assert now(sidecar) == begin


def test_it_goes_to_the_end_of_time_and_not_beyond(virtual):
    """The greatest date is reached exactly, and the queue still answers."""
    sidecar = virtual()
    last = 8_640_000_000_000_000
    assert advance(sidecar, last - now(sidecar)) == last
    enqueue(sidecar, "http://127.0.0.1:9/", id="a", data=1)
    assert sidecar.row("a")["updatedAt"] == last
    with pytest.raises(RPCError):
        advance(sidecar, 1)


def test_without_the_flag_there_is_no_such_method(start):
    """E_METHOD, no capability; with it, virtualClock is among the capabilities."""
    client = {"protocolVersion": 1, "client": {"name": "test", "version": "1"}}
    plain = start()
    assert "virtualClock" not in plain.call("initialize", **client)["capabilities"]
    with pytest.raises(RPCError) as refused:
        plain.call("advanceClock", ms=1)
    assert refused.value.code == "E_METHOD"
    plain.close()
    assert "virtualClock" in start("--virtual-clock").call("initialize", **client)["capabilities"]
