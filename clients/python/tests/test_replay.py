"""Delivery by the client over the fake: B51 to B67."""

import threading

import pytest
from rig import PING, Seen, ping, until

from outtray import CallError, InvalidError, OuttrayError, UploadClient
from outtray.testing import NotAcknowledged


def methods(fake):
    return [method for method, _ in fake.calls]


def test_B51_nothing_is_read_before_configure(client, fake):
    ping(client).mutate({})
    assert methods(fake) == ["enqueue"]


def test_B52_B97_replay_delivers_and_acknowledges(client, fake):
    seen = Seen()
    fake.seed_unacknowledged(
        {"id": "a", "key": "ping"},
        {"id": "b", "key": "ping", "kind": "error", "error": {"errorKind": "expired"}},
    )
    ping(
        client,
        on_success=lambda value, vars, meta: seen.add(("a", meta["deliveries"])),
        on_error=lambda error, vars, meta: seen.add((error["errorKind"], meta["deliveries"])),
    )
    client.configure()
    assert sorted(seen.wait(2)) == [("a", 1), ("expired", 1)]
    until(lambda: len(fake.acked_event_ids) == 2)
    assert [row["id"] for row in client.get_requests()] == ["b"]


def test_B53_a_second_configure_replays_nothing(client, fake):
    seen = Seen()
    ping(client, on_success=lambda *all: seen.add(1))
    client.configure()
    fake.seed_unacknowledged({"id": "a", "key": "ping"})
    client.configure(max_vars_bytes=5, http2=True)
    assert methods(fake) == ["subscribe", "configure"]
    with pytest.raises(InvalidError):
        ping(client).mutate({"a": 1})
    assert seen.items == []


def test_B54_B55_live_outcomes_follow_the_replayed_ones(client, fake):
    seen = Seen()
    ping(client, on_success=lambda value, vars, meta: seen.add(meta["requestId"]))
    fake.seed_unacknowledged({"id": "a", "key": "ping", "requestId": "old"})
    client.configure()
    seen.wait(1)
    fake.seed_rows({"id": "a", "key": "ping"})
    fake.settle("a", requestId="new")
    assert seen.items == ["old", "new"]


def test_B56_a_failed_subscribe_is_warned_about_and_tried_again(client, fake, warnings, monkeypatch):
    monkeypatch.setattr("outtray._uploads.SUBSCRIBE_AGAIN_S", (0.01, 0.01))
    client._uploads._subscribe_wait = 0.01
    seen = Seen()
    fake.fail_next("subscribe", "E_STORAGE")
    fake.fail_next("subscribe", "E_STORAGE")
    note = ping(client, on_success=lambda *all: seen.add(1))
    client.configure()
    until(lambda: methods(fake).count("subscribe") == 3)
    fake.settle(note.mutate({}))
    assert seen.items == [1]
    assert len(warnings) == 2 and "trying again" in warnings[0]


def test_B57_an_outcome_that_comes_twice_is_handled_once(client, fake):
    seen = Seen()
    note = ping(client, on_success=lambda *all: seen.add(1))
    client.configure()
    fake.settle(note.mutate({}, id="a"))
    fake.seed_rows({"id": "a", "key": "ping"})
    fake.emit("settled", fake.build_settled("a", eventId=fake.acked_event_ids[0]))
    until(lambda: len(fake.acked_event_ids) == 2)
    assert seen.items == [1]


def test_B60_A_DELIV_05_the_caller_goes_on_before_the_handler(client, fake):
    order = Seen()
    note = ping(client, on_success=lambda value, vars, meta: order.add(("handler", meta["id"])))
    client.configure()
    fake._on_enqueue_before = fake._on_enqueue

    def settle_at_once(given):
        answer, events = fake._on_enqueue_before(given)
        event = fake.build_settled(given["id"])
        fake._journal[event["eventId"]] = event
        return answer, [*events, ("settled", event)]

    fake._on_enqueue = settle_at_once
    for number in range(500):
        order.add(("caller", note.mutate({}, id=f"n{number}")))
    items = order.wait(1000, 30)
    for number in range(500):
        assert items.index(("caller", f"n{number}")) < items.index(("handler", f"n{number}"))


def test_B61_a_refused_mutate_does_not_keep_the_outcome_back(client, fake):
    seen = Seen()
    note = ping(client, on_success=lambda *all: seen.add(1))
    client.configure()
    fake.seed_rows({"id": "a", "key": "ping"})
    fake.fail_next("enqueue", "E_RUNNING")
    with pytest.raises(CallError):
        note.mutate({}, id="a")
    fake.settle("a")
    assert seen.items == [1]


def test_B63_handlers_of_other_ids_go_on(client, fake):
    seen, gate = Seen(), threading.Event()

    def handle(value, vars, meta):
        seen.add(meta["id"])
        if meta["id"] == "slow":
            assert gate.wait(10)

    note = ping(client, on_success=handle)
    client.configure()
    note.mutate({}, id="slow")
    settling = threading.Thread(target=fake.settle, args=("slow",))
    settling.start()
    seen.wait(1)
    for number in range(10):
        fake.settle(note.mutate({}, id=f"n{number}"))
    assert len(seen.items) == 11
    gate.set()
    settling.join()


def test_handlers_at_once_are_bounded(fake):
    gate, inside = threading.Event(), Seen()
    with UploadClient(sidecar=fake, max_handlers=3) as client:
        ping(client, on_success=lambda value, vars, meta: inside.add(meta["id"]) or gate.wait(10))
        fake.seed_unacknowledged(*({"id": f"n{number}", "key": "ping"} for number in range(10)))
        client.configure()
        inside.wait(3)
        assert client._uploads.running == 10 and len(inside.items) == 3
        gate.set()
        inside.wait(10)


def test_B66_cancelled_is_acknowledged_with_no_handler(client, fake):
    seen = Seen()
    note = ping(client, on_success=seen.add, on_error=seen.add)
    client.configure()
    client.cancel(note.mutate({}, id="a"))
    until(lambda: fake.acked_event_ids)
    assert fake.rows == [] and seen.items == []


def test_B67_A_DELIV_03_a_key_without_definition(fake):
    shown, warned, handled = Seen(), Seen(), Seen()
    fake.seed_unacknowledged({"id": "a", "key": "old", "kind": "error"}, {"id": "b", "key": "new"})
    with UploadClient(sidecar=fake, on_warning=lambda message, _: warned.add(message)) as client:
        client.add_listener("state", shown.add)
        ping(client, "new", on_success=lambda *all: handled.add(1))
        client.configure()
        row = shown.wait(1)[0]
        assert (row["id"], row["state"], row["reason"]) == ("a", "error", "unhandled-key")
        assert warned.wait(1) == ["no definition for old: the outcome of a is released"]
        handled.wait(1)
    assert len(fake.unacknowledged) == 1
    with UploadClient(sidecar=fake) as client:
        ping(client, "old", on_error=lambda error, vars, meta: handled.add(meta["deliveries"]))
        client.configure()
        assert handled.wait(2) == [1, 2]


def test_A_DELIV_02_a_poison_handler_is_called_once_a_launch(fake):
    calls, handled = [], Seen()
    fake.seed_unacknowledged(
        {"id": "p", "key": "poison"}, *({"id": f"n{n}", "key": "ping"} for n in range(20))
    )

    def poison(value, vars, meta):
        calls.append(meta["deliveries"])
        raise RuntimeError("never")

    for launch in range(3):
        with UploadClient(sidecar=fake, on_warning=lambda *all: None) as client:
            client.define(key="poison", request=lambda vars: PING, on_success=poison)
            ping(client, on_success=lambda *all: handled.add(1))
            client.configure()
            handled.wait(20)
            until(lambda: len(calls) == launch + 1)
    assert calls == [1, 2, 3]
    assert len(handled.items) == 20


def test_redeliver_brings_back_what_was_released(client, fake, warnings):
    answers = [RuntimeError("not yet"), None]
    seen = Seen()

    def handle(value, vars, meta):
        seen.add(meta["deliveries"])
        answer = answers.pop(0)
        if answer:
            raise answer

    note = ping(client, on_success=handle)
    with pytest.raises(OuttrayError) as early:
        client.redeliver()
    assert (early.value.code, methods(fake)) == ("E_NOT_CONFIGURED", [])
    client.configure()
    with pytest.raises(NotAcknowledged, match="handler failed"):
        fake.settle(note.mutate({}))
    client.redeliver()
    assert seen.wait(2) == [1, 2]
    until(lambda: fake.acked_event_ids)
