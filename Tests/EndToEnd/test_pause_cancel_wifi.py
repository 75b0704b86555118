"""Holding back, stopping and giving up."""
import random
import threading
import time

import pytest

from endtoend import deadline, rawserver
from endtoend.frames import RPCError
from endtoend.requests import enqueue


@pytest.fixture
def body(tmp_path):
    path = tmp_path / "body"
    with open(path, "wb") as out:
        out.truncate(40_000_000)
    return str(path)


def slow(exchange):
    """Reads 200 KB every 100 ms."""
    while not exchange.request.whole:
        exchange.read_body(200_000)
        exchange.pause(0.1)
    exchange.answer()


def test_a_queue_02_pause_is_answered_once_nothing_moves(sidecar, server, body):
    """A-QUEUE-02, B238: connections end, one `paused` event each, no attempt event; resume sends again."""
    server.on("/x", slow, slow, slow, rawserver.reply())
    for n in range(3):
        enqueue(sidecar, server.url("/x"), id=str(n), method="PUT", file=body)
    requests = server.wait_requests(3)
    since = sidecar.position()
    sidecar.call("pause")
    rows = sidecar.rows()
    assert [(row["id"], row["state"]) for row in rows] == [("0", "paused"), ("1", "paused"), ("2", "paused")]
    for request in requests:
        assert request.connection.closed.wait(5)
    read = [request.body_length for request in requests]
    server.quiet(0.4)
    assert [request.body_length for request in requests] == read
    for n in range(3):
        assert len(sidecar.events("state", id=str(n), state="paused")) == 1
    assert [frame for frame in sidecar.frames[since:] if frame.get("method") in ("attempt", "settled")] == []
    sidecar.call("resume")
    for n in range(3):
        assert sidecar.settled(str(n))["attempts"] == 2
    assert len(server.seen()) == 6


def test_b242_a_key_pauses_and_resumes_on_its_own(sidecar, server):
    """B242, B243: only that key, future entries included; each scope is resumed by itself."""
    sidecar.call("pause", keys=["a"])
    enqueue(sidecar, server.url("/a"), id="a", key="a")
    enqueue(sidecar, server.url("/b"), id="b", key="b")
    assert sidecar.settled("b")["kind"] == "completed"
    sidecar.call("pause")
    sidecar.call("resume", keys=["a"])
    assert sidecar.row("a")["state"] == "paused"
    sidecar.call("pause", keys=["a"])
    sidecar.call("resume")
    assert sidecar.row("a")["state"] == "paused"
    server.quiet(0.2)
    sidecar.call("resume", keys=["a"])
    assert sidecar.settled("a")["kind"] == "completed"


def test_b244_b245_what_changes_nothing_says_nothing(sidecar, server):
    """B244, B245: pausing twice, and an empty list."""
    enqueue(sidecar, server.url("/a"), id="a", key="a", wifiOnly=False)
    sidecar.settled("a")
    assert sidecar.call("pause", keys=[]) == {}
    enqueue(sidecar, server.url("/a"), id="b")
    sidecar.settled("b")
    sidecar.call("pause")
    enqueue(sidecar, server.url("/a"), id="c")
    sidecar.call("pause")
    sidecar.call("ping")
    assert len(sidecar.events("state", id="c")) == 1


@pytest.mark.parametrize("keys", [None, "a", [1], [""]])
def test_b245_malformed_keys_are_refused(sidecar, keys):
    """B245: a mistake cannot pause the whole queue."""
    with pytest.raises(RPCError) as refused:
        sidecar.call("pause", keys=keys)
    assert refused.value.code == "E_INVALID" and refused.value.path.startswith("keys")


def test_a_store_10_pauses_survive_a_kill(start, server):
    """A-STORE-10, B239: on the right key."""
    first = start()
    first.call("pause", keys=["a"])
    first.kill()
    second = start()
    second.subscribe()
    enqueue(second, server.url("/a"), id="a", key="a")
    enqueue(second, server.url("/b"), id="b", key="b")
    assert second.settled("b")["kind"] == "completed"
    assert second.row("a")["state"] == "paused" and server.seen("/a") == []


def test_a_queue_03_resuming_twice_sends_once(sidecar, server):
    """A-QUEUE-03: 50 entries, 50 requests."""
    sidecar.call("pause")
    for n in range(50):
        enqueue(sidecar, server.url("/x"), id=str(n))
    for method, params in [("resume", {}), ("resume", {}), ("setWifiOnly", {"wifiOnly": False})]:
        sidecar.send(method, params)
    for n in range(50):
        sidecar.ack(sidecar.settled(str(n)))
    server.quiet(0.2)
    assert len(server.seen()) == 50


def test_b246_a_paused_entry_expires_when_it_is_resumed(start, server):
    """B246, D4."""
    sidecar = start("--virtual-clock")
    sidecar.subscribe()
    sidecar.call("pause")
    enqueue(sidecar, server.url("/x"), id="a", expiresAt=sidecar.call("ping")["now"] + 200)
    sidecar.call("advanceClock", ms=500)
    assert sidecar.row("a")["state"] == "paused" and sidecar.events("settled") == []
    sidecar.call("resume")
    assert sidecar.settled("a")["error"]["errorKind"] == "expired"
    assert server.seen() == []


def test_d1_a_pause_keeps_the_backoff(sidecar, server):
    """D1: nextAttemptAt is not shown meanwhile, and is the same afterwards."""
    server.on("/x", rawserver.reply(503))
    backoff = {"baseMs": 60_000, "maxMs": 60_000, "jitter": 0}
    enqueue(sidecar, server.url("/x"), id="a", retry={"backoff": backoff})
    sidecar.event("attempt", id="a")
    before = sidecar.wait_state("a", "queued")
    sidecar.call("pause")
    assert "nextAttemptAt" not in sidecar.row("a")
    sidecar.call("resume")
    assert abs(sidecar.row("a")["nextAttemptAt"] - before["nextAttemptAt"]) <= 50
    server.quiet(0.2)


def test_b240_a_parked_entry_stays_parked_through_a_pause(sidecar, server):
    """B240, B248: unless the headers changed in between."""
    server.on("/x", rawserver.reply(401))
    enqueue(sidecar, server.url("/x"), id="a")
    sidecar.wait_state("a", "awaiting-auth")
    sidecar.call("pause")
    assert sidecar.row("a")["state"] == "paused"
    sidecar.call("resume")
    assert sidecar.row("a")["state"] == "awaiting-auth"
    server.on("/x", rawserver.reply())
    sidecar.call("pause")
    sidecar.call("updateHeaders", headers={"Authorization": "new"})
    assert sidecar.row("a")["state"] == "paused"
    sidecar.call("resume")
    assert sidecar.settled("a")["attempts"] == 2


def test_a_queue_05_cancel_stops_one_of_many(sidecar, server, body):
    """A-QUEUE-05, B229, B210: its connection ends at once, the others keep theirs; no attempt event."""
    gate = threading.Event()

    def step(exchange):
        exchange.read_body(1000)
        exchange.hold(gate)
        exchange.read_body()
        exchange.answer()
    for n in range(3):
        server.on(f"/{n}", step)
        enqueue(sidecar, server.url(f"/{n}"), id=str(n), method="PUT", file=body)
    server.wait_requests(3)
    assert sidecar.call("cancel", id="1") == {}
    outcome = sidecar.settled("1")
    assert (outcome["kind"], outcome["cancelReason"]) == ("cancelled", "user")
    assert server.seen("/1")[0].connection.closed.wait(5)
    gate.set()
    for id in ("0", "2"):
        assert sidecar.settled(id)["attempts"] == 1
    assert sidecar.events("attempt", id="1") == []
    assert sidecar.row("1")["state"] == "cancelled"
    sidecar.ack(outcome)
    assert sidecar.row("1") is None


def test_b230_b231_cancel_forgets_a_settled_entry_and_takes_an_unknown_id(sidecar, server):
    """B230, B231: with its unacknowledged outcome, and without an event."""
    enqueue(sidecar, server.url("/x"), id="a")
    sidecar.settled("a")
    since = sidecar.position()
    assert sidecar.call("cancel", id="a") == sidecar.call("cancel", id="nobody") == {}
    assert sidecar.rows() == []
    sidecar.subscribe()
    sidecar.call("ping")
    assert [frame for frame in sidecar.frames[since:] if "method" in frame] == []


def test_a_queue_06_cancel_against_the_answer_leaves_one_outcome(sidecar, server):
    """A-QUEUE-06, B237: 100 races, the answer 20 ms before the cancel to 5 ms after; afterwards no row."""
    chance = random.Random(6)
    for n in range(100):
        gate = threading.Event()
        server.on(f"/{n}", rawserver.hold(gate))
        enqueue(sidecar, server.url(f"/{n}"), id=str(n))
        server.wait_requests(1, f"/{n}")
        late = chance.uniform(-0.02, 0.005)
        if late > 0:
            threading.Timer(late, gate.set).start()
        else:
            gate.set()
            time.sleep(-late)
        sidecar.call("cancel", id=str(n))
        gate.set()
        sidecar.call("ping")
    # A cancel after the settle forgets the entry and its outcome, which may then never have been sent.
    for n in range(100):
        outcomes = sidecar.events("settled", id=str(n))
        assert len({outcome["eventId"] for outcome in outcomes}) <= 1
        sidecar.ack(*outcomes)
    deadline.until("no row is left", lambda: sidecar.rows() == [])
    kinds = [outcome["kind"] for outcome in sidecar.events("settled")]
    assert {"completed", "cancelled"} <= set(kinds)


def test_a_queue_01_wifi_only_moves_the_entries_that_follow_it(sidecar, server):
    """A-QUEUE-01, B249, B250, D34: an entry's own value wins; the toggle sends the others, no poll does."""
    sidecar.call("setNetwork", type="cellular")
    sidecar.call("setWifiOnly", wifiOnly=True)
    enqueue(sidecar, server.url("/own"), id="own", wifiOnly=False)
    enqueue(sidecar, server.url("/follows"), id="follows")
    enqueue(sidecar, server.url("/always"), id="always", wifiOnly=True)
    assert sidecar.settled("own")["kind"] == "completed"
    server.quiet(0.3)
    assert sidecar.row("follows")["state"] == "queued"
    sidecar.call("setWifiOnly", wifiOnly=False)
    assert sidecar.settled("follows", seconds=5)["kind"] == "completed"
    server.quiet(0.2)
    sidecar.call("setNetwork", type="wifi")
    assert sidecar.settled("always", seconds=5)["kind"] == "completed"


@pytest.mark.parametrize("network, sent", [
    ({"type": "wifi"}, True), ({"type": "ethernet"}, True), ({"type": "wifi", "metered": True}, False),
    ({"type": "ethernet", "metered": True}, False), ({"type": "cellular"}, False), ({"type": "none"}, False)])
def test_d34_which_networks_meet_wifi_only(sidecar, server, network, sent):
    """D34; none holds back wifiOnly entries and no others."""
    sidecar.call("setNetwork", **network)
    enqueue(sidecar, server.url("/w"), id="w", wifiOnly=True)
    enqueue(sidecar, server.url("/x"), id="x")
    assert sidecar.settled("x")["kind"] == "completed"
    if sent:
        assert sidecar.settled("w")["kind"] == "completed"
    else:
        server.quiet(0.3, "/w")
        assert sidecar.row("w")["state"] == "queued" and server.seen("/w") == []


def test_a_queue_09_high_priority_has_a_slot_of_its_own(sidecar, server):
    """A-QUEUE-09, B299, D25: at most 3 normal in flight; a high one starts at once; then in enqueue order."""
    gate = threading.Event()
    server.on("/normal", rawserver.hold(gate))
    for n in range(10):
        enqueue(sidecar, server.url("/normal"), id=str(n))
    server.wait_requests(3, "/normal")
    enqueue(sidecar, server.url("/high"), id="high", priority="high")
    # The normal ones are held all this time.
    assert sidecar.settled("high")["kind"] == "completed"
    assert len(server.seen("/normal")) == 3
    gate.set()
    for n in range(10):
        sidecar.settled(str(n))
    started = [row["id"] for row in sidecar.events("state", state="running") if row["id"] != "high"]
    assert started == [str(n) for n in range(10)]


def test_configure_concurrency_counts_at_the_next_attempt(sidecar, server):
    """Section 2, D25: total and reservedHigh."""
    gate = threading.Event()
    server.on("/x", rawserver.hold(gate))
    sidecar.call("configure", concurrency={"total": 2, "reservedHigh": 0, "partsPerEntry": 1})
    for n in range(5):
        enqueue(sidecar, server.url("/x"), id=str(n))
    server.wait_requests(2)
    server.quiet(0.2)
    sidecar.call("configure", concurrency=None)
    server.wait_requests(3)
    server.quiet(0.2)
    gate.set()
    for n in range(5):
        sidecar.settled(str(n))
