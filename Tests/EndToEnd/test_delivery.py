"""Outcomes: delivered until acknowledged, in a window, counted."""
import threading

import pytest

from endtoend import deadline, rawserver
from endtoend.requests import enqueue


def settle(sidecar, server, count, prefix="e", **fields):
    """Enqueues `count` entries and waits until all are completed."""
    calls = [sidecar.send("enqueue", {"id": f"{prefix}{n}", "key": "k", "request": {
        "url": server.url("/ok"), **fields}}) for n in range(count)]
    for call in calls:
        sidecar.result(call)
    deadline.until(f"{count} completed", lambda: sidecar.call("stats")["entries"]["completed"] >= count, 60)


def test_a_deliv_01_acknowledged_outcomes_never_come_back(start, server):
    """A-DELIV-01, B179: rows go with the acknowledgement; it is idempotent and takes unknown ids."""
    first = start()
    first.subscribe("settled")
    settle(first, server, 3)
    outcomes = [first.settled(f"e{n}") for n in range(3)]
    assert first.ack(*outcomes) == first.ack(*outcomes) == {}
    assert first.call("ackEvents", eventIds=["unknown", ""]) == {}
    assert first.rows() == []
    for _ in range(3):
        first.subscribe("settled")
    first.close()
    second = start()
    second.subscribe("settled")
    second.call("ping")
    # Entries run side by side, so they settle in any order.
    assert sorted(first.events("settled"), key=lambda event: event["id"]) == outcomes
    assert second.events("settled") == []


def test_a_deliv_04_an_outcome_without_a_listener_waits(start, server):
    """A-DELIV-04, B181: delivered on subscribe, deliveries 1."""
    sidecar = start()
    settle(sidecar, server, 1)
    sidecar.subscribe("settled")
    assert sidecar.settled("e0")["deliveries"] == 1


def test_a_store_08_deliveries_count_over_starts(start, server):
    """A-STORE-08, B180: killed before the acknowledgement: no new request, the same event again."""
    events = []
    for _ in range(3):
        sidecar = start()
        sidecar.subscribe("settled")
        if not events:
            settle(sidecar, server, 1)
        events.append(sidecar.settled("e0"))
        sidecar.kill()
    assert [event["deliveries"] for event in events] == [1, 2, 3]
    assert len({event["eventId"] for event in events}) == 1
    assert len({event["at"] for event in events}) == 1
    assert len(server.seen()) == 1


def test_unacknowledged_outcomes_come_oldest_first(start, server):
    """Section 3: on subscribe, oldest first, then live ones."""
    first = start()
    for n in range(5):
        enqueue(first, server.url("/ok"), id=f"e{n}")
        first.wait_state(f"e{n}", "completed")
    first.close()
    second = start()
    second.subscribe("settled")
    enqueue(second, server.url("/ok"), id="live")
    second.settled("live")
    assert [event["id"] for event in second.events("settled")] == ["e0", "e1", "e2", "e3", "e4", "live"]


@pytest.mark.parametrize("window", [1, 3, 64])
def test_no_more_outcomes_are_out_than_the_window(start, server, window):
    """Section 3: the rest wait until some are acknowledged."""
    sidecar = start()
    settle(sidecar, server, 100)
    sidecar.subscribe("settled", window=window)
    seen = []
    while len(seen) < 100:
        expected = min(len(seen) + window, 100)
        events = sidecar.wait_events("settled", expected)
        sidecar.call("ping")
        assert len(sidecar.events("settled")) == expected
        seen = events
        sidecar.ack(*events[-window:])
    assert len({event["eventId"] for event in seen}) == 100
    assert all(event["deliveries"] == 1 for event in seen)


def test_the_window_counts_bytes_too(start, server):
    """Section 3: 4 MiB of outcomes, but at least one."""
    server.on("/ok", rawserver.reply(body=b"x" * 1_000_000))
    sidecar = start()
    settle(sidecar, server, 10)
    sidecar.subscribe("settled", window=64)
    sidecar.wait_events("settled", 3)
    sidecar.call("ping")
    out = sidecar.events("settled")
    assert 3 <= len(out) <= 5
    for _ in range(10):
        sidecar.ack(*sidecar.events("settled"))
    assert len(sidecar.wait_events("settled", 10)) == 10


def test_a_released_outcome_waits_for_the_next_subscribe(start, server):
    """Section 3: released here, it does not come again until then; what is held is not brought back."""
    sidecar = start()
    sidecar.subscribe("settled")
    settle(sidecar, server, 2)
    released, held = sidecar.settled("e0"), sidecar.settled("e1")
    assert sidecar.call("releaseEvents", eventIds=[released["eventId"], "unknown"]) == {}
    sidecar.call("ping")
    assert len(sidecar.events("settled")) == 2
    sidecar.subscribe("settled")
    again = sidecar.settled("e0", 2)
    sidecar.call("ping")
    assert (again["eventId"], again["deliveries"]) == (released["eventId"], 2)
    assert sidecar.events("settled", id="e1") == [held]


def test_a_release_makes_room_in_the_window(start, server):
    """Section 3: neither acknowledged nor released is what counts."""
    sidecar = start()
    settle(sidecar, server, 3)
    sidecar.subscribe("settled", window=1)
    for count in (1, 2, 3):
        event = sidecar.wait_events("settled", count)[-1]
        sidecar.call("releaseEvents", eventIds=[event["eventId"]])
    assert {event["id"] for event in sidecar.events("settled")} == {"e0", "e1", "e2"}


def test_a_subscription_can_be_limited_to_keys(start, server):
    """Section 3: other keys' outcomes and states stay away, and come when they are asked for."""
    sidecar = start()
    sidecar.subscribe("settled", "state", "attempt", "progress", keys=["one"])
    enqueue(sidecar, server.url("/ok"), id="a", key="one")
    enqueue(sidecar, server.url("/ok"), id="b", key="two")
    sidecar.settled("a")
    sidecar.wait_state("b", "completed")
    assert {frame["params"]["id"] for frame in sidecar.frames if "method" in frame} == {"a"}
    sidecar.subscribe("settled")
    assert sidecar.settled("b")["deliveries"] == 1


def test_only_the_events_asked_for_are_sent(start, server):
    """Section 3; unsubscribe ends them, and outcomes then wait."""
    sidecar = start()
    sidecar.subscribe("state")
    settle(sidecar, server, 1)
    assert {frame["method"] for frame in sidecar.frames if "method" in frame} == {"state"}
    assert sidecar.call("unsubscribe") == {}
    since = sidecar.position()
    settle(sidecar, server, 2, "f")
    assert [frame for frame in sidecar.frames[since:] if "method" in frame] == []


def test_the_order_of_events_when_an_entry_settles(sidecar, server):
    """Section 3: progress (last value), attempt, state, settled; one state for each transition."""
    enqueue(sidecar, server.url("/ok"), id="a", data={"x": 1})
    sidecar.settled("a")
    frames = [frame for frame in sidecar.frames if "method" in frame]
    events = [(frame["method"], frame["params"].get("state")) for frame in frames]
    assert events[-4:] == [
        ("progress", None), ("attempt", None), ("state", "completed"), ("settled", "completed")]
    assert [state for name, state in events if name == "state"] == ["queued", "running", "completed"]


def test_the_members_of_a_settled_event(sidecar, server):
    """B279: exactly these, for each kind."""
    always = {"eventId", "id", "key", "vars", "at", "generation", "attempts", "deliveries", "state",
              "bytesSent", "totalBytes", "url", "method", "kind"}
    server.on("/bad", rawserver.reply(400))
    enqueue(sidecar, server.url("/ok"), id="ok")
    enqueue(sidecar, server.url("/bad"), id="bad")
    sidecar.call("pause", keys=["p"])
    enqueue(sidecar, server.url("/ok"), id="gone", key="p")
    sidecar.call("cancel", id="gone")
    assert set(sidecar.settled("ok")) == always | {"requestId", "response"}
    assert set(sidecar.settled("bad")) == always | {"requestId", "error"}
    gone = sidecar.settled("gone")
    assert set(gone) == always | {"cancelReason"}
    assert (gone["kind"], gone["cancelReason"], gone["attempts"]) == ("cancelled", "user", 0)


def test_b188_an_error_entry_outlives_its_acknowledgement(start, server):
    """B188: it stays until cancel or a same-id enqueue; its outcome does not come again."""
    server.on("/bad", rawserver.reply(400))
    first = start()
    first.subscribe("settled")
    enqueue(first, server.url("/bad"), id="a")
    first.ack(first.settled("a"))
    assert first.row("a")["state"] == "error"
    first.close()
    second = start()
    second.subscribe("settled")
    second.call("ping")
    assert second.events("settled") == []
    second.call("cancel", id="a")
    assert second.rows() == []


def test_a_deliv_02_a_poison_outcome_is_released_and_holds_up_nobody(start, server):
    """A-DELIV-02, the sidecar's half: over three starts it comes once each with rising deliveries, while
    twenty others are delivered and acknowledged at the first; its request went out once."""
    deliveries = []
    for launch in range(3):
        sidecar = start()
        sidecar.subscribe("settled", window=1)
        if launch == 0:
            enqueue(sidecar, server.url("/poison"), id="p")
            for n in range(20):
                enqueue(sidecar, server.url("/ok"), id=str(n))
        for count in range(1, 22 if launch == 0 else 2):
            event = sidecar.wait_events("settled", count)[count - 1]
            if event["id"] == "p":
                deliveries.append(event["deliveries"])
                sidecar.call("releaseEvents", eventIds=[event["eventId"]])
            else:
                sidecar.ack(event)
        sidecar.call("ping")
        assert [row["id"] for row in sidecar.rows()] == ["p"]
        sidecar.close()
    assert deliveries == [1, 2, 3]
    assert len(server.seen("/poison")) == 1


def test_a_deliv_03_a_key_that_nobody_knows_waits_for_who_does(start, server):
    """A-DELIV-03, the sidecar's half: released by a host that does not know its key, an outcome is kept, row
    and all; others are delivered; a later start hears it again."""
    first = start()
    enqueue(first, server.url("/x"), id="o", key="old", vars={"v": [1]})
    enqueue(first, server.url("/x"), id="n", key="new")
    for id in ("o", "n"):
        first.wait_state(id, "completed")
    first.close()
    second = start()
    second.subscribe("settled")
    unknown = second.settled("o")
    second.call("releaseEvents", eventIds=[unknown["eventId"]])
    second.ack(second.settled("n"))
    assert [(row["id"], row["state"]) for row in second.rows()] == [("o", "completed")]
    second.close()
    third = start()
    third.subscribe("settled", keys=["old"])
    again = third.settled("o")
    assert (again["eventId"], again["vars"], again["deliveries"]) == (unknown["eventId"], {"v": [1]}, 2)
    third.ack(again)
    assert third.rows() == [] and len(server.seen()) == 2


def test_b280_an_entry_that_settles_while_a_host_subscribes_is_told_once(start, server):
    """B280: fifty times, the answer and the subscribe at the same moment."""
    sidecar = start()
    for n in range(50):
        gate = threading.Event()
        server.on(f"/{n}", rawserver.hold(gate))
        enqueue(sidecar, server.url(f"/{n}"), id=str(n))
        server.wait_requests(1, f"/{n}")
        gate.set()
        sidecar.subscribe("settled")
        sidecar.ack(sidecar.settled(str(n)))
        sidecar.call("unsubscribe")
    assert [event["deliveries"] for event in sidecar.events("settled")] == [1] * 50


def test_get_requests_pages_and_filters(start, server):
    """Section 2: by creation number; a page ends at its limit; key, id and state filter."""
    sidecar = start()
    sidecar.call("pause")
    for n in range(25):
        enqueue(sidecar, server.url("/ok"), id=f"e{n}", key=f"k{n % 2}")
    page = sidecar.call("getRequests", limit=10)
    assert [row["id"] for row in page["requests"]] == [f"e{n}" for n in range(10)]
    assert [row["id"] for row in sidecar.rows(limit=10)] == [f"e{n}" for n in range(25)]
    assert len(sidecar.rows(key="k1")) == 12
    assert [row["id"] for row in sidecar.rows(id="e7")] == ["e7"]
    assert len(sidecar.rows(state="paused")) == 25 and sidecar.rows(state="running") == []


def test_a_page_ends_at_a_mebibyte_with_at_least_one_row(start, server):
    """Section 2: rows of large vars."""
    sidecar = start()
    sidecar.call("pause")
    for n in range(5):
        enqueue(sidecar, server.url("/ok"), id=f"e{n}", vars={"v": "x" * 600_000})
    enqueue(sidecar, server.url("/ok"), id="huge", vars={"v": "x" * 3_000_000})
    page = sidecar.call("getRequests")
    assert 1 <= len(page["requests"]) <= 2 and "nextCursor" in page
    assert [row["id"] for row in sidecar.rows()] == ["e0", "e1", "e2", "e3", "e4", "huge"]
