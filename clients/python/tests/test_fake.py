"""The fake sidecar: B109 to B114."""

import threading

import pytest
from rig import PING, CheckedFake, Seen, ping, until

from outtray import CallError, InvalidError, UploadClient
from outtray.testing import FakeSidecar, NotAcknowledged, create_fake_sidecar


def test_B109_an_enqueue_leaves_an_entry_a_row_and_a_state_event(client, fake):
    seen = Seen()
    client.add_listener("state", seen.add)
    client.configure()
    client.define(key="note", request=lambda vars: {**PING, "data": {"a": None}}).mutate(
        {"v": None}, id="a"
    )
    ping(client).mutate({})
    assert fake.entries[0]["vars"] == {"v": None}
    assert fake.entries[0]["request"]["data"] == {"a": None}
    assert "data" not in fake.entries[1]["request"]
    assert seen.wait(2)[0]["state"] == "queued"
    client.get_requests()[0]["state"] = "broken"
    fake.rows[0]["vars"]["v"] = 1
    assert client.get_requests(id="a")[0]["vars"] == {"v": None}


def test_B110_pauses_know_queue_and_keys_apart(client, fake):
    note, other = ping(client, "a"), ping(client, "b")

    def states():
        return [row["state"] for row in fake.rows]

    client.pause(keys=["a"])
    note.mutate({})
    other.mutate({})
    assert states() == ["paused", "queued"]
    client.pause()
    client.pause(keys=[])
    assert states() == ["paused", "paused"]
    client.resume()
    assert states() == ["paused", "queued"]
    client.resume(keys=["a"])
    assert states() == ["queued", "queued"]
    client.pause()
    fake.reset()
    note.mutate({})
    assert states() == ["queued"]


def test_B111_cancel(client, fake):
    note = ping(client)
    client.configure()
    client.cancel(note.mutate({}, id="a"))
    until(lambda: not fake.rows)
    fake.seed_unacknowledged({"id": "b", "key": "ping", "kind": "error"})
    client.cancel("b")
    assert fake.rows == fake.unacknowledged == []
    client.cancel("unknown")


def test_D44_retry_ends_waits_reopens_and_refuses(client, fake):
    for id, state in (("waits", "queued"), ("parked", "awaiting-auth"), ("runs", "running")):
        fake.seed_rows({"id": id, "key": "k", "state": state})
    fake.seed_rows({"id": "failed", "key": "k", "state": "error", "attempts": 3})
    fake.seed_rows({"id": "delayed", "key": "k", "nextAttemptAt": 9})
    seen = Seen()
    client.add_listener("state", seen.add)
    client.configure()
    assert client.retry("parked")["state"] == "queued"
    assert client.retry("failed")["attempts"] == 0
    assert "nextAttemptAt" not in client.retry("delayed")
    assert [client.retry(id)["state"] for id in ("waits", "runs")] == ["queued", "running"]
    assert [row["id"] for row in seen.wait(3)] == ["parked", "failed", "delayed"]
    fake.seed_rows({"id": "done", "key": "k", "state": "completed"})
    for id in ("done", "nobody"):
        with pytest.raises(InvalidError) as refused:
            client.retry(id)
        assert refused.value.path == "id"
    fake.fail_next("retry", "E_STORAGE")
    with pytest.raises(CallError):
        client.retry("runs")


def test_B112_emitted_events_reach_listeners_until_removed(client, fake):
    seen = Seen()
    client.configure()
    subscription = client.add_listener("attempt", seen.add)
    fake.emit("attempt", {"id": "a"})
    seen.wait(1)
    subscription.remove()
    subscription.remove()
    fake.emit("attempt", {"id": "b"})
    assert len(seen.items) == 1


def test_B113_outcomes_are_built_from_the_entry(client, fake):
    parts = [
        {"url": "https://api.test/1", "range": {"start": 0, "end": 1}},
        {"url": "https://api.test/2", "range": {"start": 1, "end": 2}},
    ]
    chunked = client.define(
        key="chunked", request=lambda vars: {"file": "/f", "parts": parts, "method": "PUT"}
    )
    built = fake.build_settled(chunked.mutate({}, id="a"), at=7)
    assert (built["url"], built["partIndex"], built["method"], built["at"]) == (
        "https://api.test/2",
        1,
        "PUT",
        7,
    )
    assert built["response"] == {"bodyTruncated": False}
    fake.seed_rows({"id": "b", "key": "k", "vars": {"x": 1}})
    assert fake.build_settled("b")["vars"] == {"x": 1}
    ids = {one.build_settled("b")["eventId"] for one in (fake, fake)}
    assert len(ids) == 2
    with pytest.raises(KeyError):
        fake.build_settled("unknown")


def test_B114_settle_returns_after_the_acknowledgement_or_says_why_not():
    fake = CheckedFake(ack_timeout_ms=50)
    with UploadClient(sidecar=fake, on_warning=lambda *all: None) as client:
        gate = threading.Event()
        note = ping(client, on_error=lambda *all: None)
        stuck = ping(client, "stuck", on_success=lambda *all: gate.wait(10))
        with pytest.raises(NotAcknowledged, match="nobody is subscribed"):
            fake.settle(note.mutate({}, id="a"))
        assert fake.unacknowledged[0]["deliveries"] == 0
        client.configure()
        fake.settle(note.mutate({}, id="b"), "error")
        assert [row["state"] for row in fake.rows] == ["error"]
        with pytest.raises(NotAcknowledged, match="its handler has not ended"):
            fake.settle(stuck.mutate({}, id="c"))
        gate.set()


def test_B114_fail_next_fails_once(client, fake):
    fake.fail_next("getRequests", "E_STORAGE", "disk full")
    with pytest.raises(CallError, match="disk full"):
        client.get_requests()
    assert client.get_requests() == []
    fake.fail_next("settle", "E_STORAGE")
    with pytest.raises(CallError):
        fake.settle("a")


def test_B114_reset_lets_go_of_a_settle_that_waits(client, fake):
    gate, failed = threading.Event(), Seen()
    note = ping(client, on_success=lambda *all: gate.wait(10))
    client.configure()
    entry = note.mutate({})

    def settle():
        try:
            fake.settle(entry)
        except NotAcknowledged as error:
            failed.add(str(error))

    settling = threading.Thread(target=settle)
    settling.start()
    until(lambda: client._uploads.running)
    fake.reset()
    assert failed.wait(1) == ["not acknowledged: the fake was reset"]
    gate.set()
    settling.join()
    fake.settle(note.mutate({}))


def test_hold_next_holds_later_enqueues_too(client, fake):
    ids = Seen()
    note = ping(client)
    release = fake.hold_next("enqueue")
    callers = [threading.Thread(target=lambda n=n: ids.add(note.mutate({}, id=f"n{n}"))) for n in range(3)]
    for caller in callers:
        caller.start()
    until(lambda: len(fake.calls) == 3)
    assert ids.items == []
    release()
    for caller in callers:
        caller.join()
    assert len(ids.items) == 3


def test_an_unknown_method_is_an_error_and_the_function_makes_a_fake():
    fake = create_fake_sidecar(ack_timeout_ms=7)
    assert isinstance(fake, FakeSidecar)
    UploadClient(sidecar=fake)
    assert fake.call("rpc.discover", "{}").exception().code == "E_METHOD"
