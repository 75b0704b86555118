"""The client over the fake: B84 to B97."""

import inspect
import threading

import pytest
from rig import PING, Seen, ping, until

from outtray import AsyncUploadClient, CallError, ClosedError, InvalidError, UploadClient

MEMBERS = {
    "add_listener",
    "advance_clock",
    "cancel",
    "cancel_group",
    "chunk_plan",
    "close",
    "configure",
    "define",
    "explain",
    "explain_group",
    "get_requests",
    "on_group_settled",
    "pause",
    "ping",
    "pipeline",
    "redeliver",
    "resume",
    "retry",
    "set_network",
    "set_wifi_only",
    "stats",
    "take_diagnostics",
    "update_headers",
}


def methods(fake):
    return [method for method, _ in fake.calls]


def test_B84_a_client_has_the_members_of_the_api_and_no_others():
    for kind in (UploadClient, AsyncUploadClient):
        assert {name for name in dir(kind) if not name.startswith("_")} == MEMBERS
    for name in MEMBERS:
        ours = inspect.signature(getattr(UploadClient, name)).parameters
        assert list(ours) == list(inspect.signature(getattr(AsyncUploadClient, name)).parameters)


def test_B85_configure_hands_on_what_the_sidecar_knows(client, fake):
    client.configure(headers=dict, max_vars_bytes=9, enqueue_timeout_ms=9)
    assert methods(fake) == ["subscribe"]
    client.configure(lifetime_ms=5, retry={"terminalHttp": {"exempt": []}}, proxy=None)
    assert fake.calls[-1] == (
        "configure",
        {"lifetimeMs": 5, "retry": {"terminalHttp": {"exempt": []}}, "proxy": None},
    )


@pytest.mark.parametrize("option", ["lifetime_ms", "max_vars_bytes", "enqueue_timeout_ms"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), "1"])
def test_B86_configure_refuses_numbers_that_are_none(client, fake, option, value):
    with pytest.raises(InvalidError, match=option):
        client.configure(**{option: value})
    assert fake.calls == []


def test_B86_B301_configure_refuses_half_a_backoff(client, fake):
    with pytest.raises(InvalidError, match="retry.backoff must be complete"):
        client.configure(retry={"backoff": {"baseMs": 1}})
    assert fake.calls == []


def test_B87_headers_and_lifetime_count_from_the_next_mutate(client, fake):
    note = ping(client)
    note.mutate({})
    client.configure(lifetime_ms=1000, headers=lambda: {"A": "b"})
    note.mutate({})
    first, second = (entry["request"] for entry in fake.entries)
    assert (first["headers"], second["headers"]) == ({}, {"A": "b"})
    assert "expiresAt" not in first and "expiresAt" in second


def test_B88_calls_pass_through_refusals_included(client, fake):
    calls = [
        ("pause", lambda: client.pause(keys=["a"]), {"keys": ["a"]}),
        ("pause", client.pause, {}),
        ("resume", lambda: client.resume(keys=[]), {"keys": []}),
        ("cancel", lambda: client.cancel("x"), {"id": "x"}),
        ("setWifiOnly", lambda: client.set_wifi_only(True), {"wifiOnly": True}),
        ("setNetwork", lambda: client.set_network("wifi"), {"type": "wifi", "metered": False}),
        (
            "updateHeaders",
            lambda: client.update_headers({"A": "b"}, origin="https://h"),
            {"headers": {"A": "b"}, "origin": "https://h"},
        ),
    ]
    for method, call, params in calls:
        call()
        assert fake.calls[-1] == (method, params)
        fake.fail_next(method, "E_STORAGE")
        with pytest.raises(CallError) as caught:
            call()
        assert caught.value.code == "E_STORAGE"


@pytest.mark.parametrize("keys", [None, "abc", [""], [7], 7])
def test_B88_a_mistaken_scope_never_pauses_the_whole_queue(client, fake, keys):
    for call in (client.pause, client.resume):
        with pytest.raises(InvalidError, match=f"{call.__name__}: keys"):
            call(keys=keys)
    assert fake.calls == []


def test_B89_get_requests_by_key_by_id_by_both_or_none(client, fake):
    fake.seed_rows({"id": "a", "key": "k"}, {"id": "b", "key": "k"}, {"id": "c", "key": "l"})

    def ids(**by):
        return [row["id"] for row in client.get_requests(**by)]

    assert ids() == ["a", "b", "c"]
    assert ids(key="k") == ["a", "b"]
    assert ids(key="k", id="b") == ["b"]
    assert ids(key="l", id="b") == []
    assert ids(state="error") == []


def test_B90_B91_B92_listeners(client, fake):
    seen = Seen()
    with pytest.raises(InvalidError, match="no event 'settled'"):
        client.add_listener("settled", seen.add)
    client.configure()
    first = client.add_listener("progress", seen.add)
    second = client.add_listener("progress", seen.add)
    attempts = Seen()
    client.add_listener("attempt", attempts.add)
    fake.emit("progress", {"id": "a"})
    seen.wait(2)
    first.remove()
    first.remove()
    fake.emit("progress", {"id": "b"})
    seen.wait(3)
    second.remove()
    fake.emit("progress", {"id": "c"})
    fake.emit("attempt", {"id": "d"})
    attempts.wait(1)
    assert [one["id"] for one in seen.items] == ["a", "a", "b"]


def test_B93_a_throwing_listener_disturbs_nobody(client, fake, warnings):
    seen = Seen()
    client.add_listener("state", lambda row: 1 / 0)
    client.add_listener("state", seen.add)
    note = ping(client)
    client.configure()
    fake.settle(note.mutate({}))
    seen.wait(2)
    assert any("a listener for state failed" in message for message in warnings)


def test_a_listener_that_exits_disturbs_nobody(client, fake, warnings):
    seen = Seen()

    def leave(row):
        raise SystemExit

    client.add_listener("state", leave)
    client.add_listener("state", seen.add)
    client.configure()
    note = ping(client)
    note.mutate({})
    note.mutate({})
    seen.wait(2)
    assert until(lambda: len(warnings) == 2)


def test_a_listener_that_never_returns_holds_up_no_call_and_no_handler(client, fake):
    stuck, gate, handled = Seen(), threading.Event(), Seen()
    client.add_listener("state", lambda row: stuck.add(1) or gate.wait(30))
    note = ping(client, on_success=lambda *all: handled.add(1))
    client.configure()
    for number in range(1500):
        note.mutate({}, id=f"n{number % 1200}")
    stuck.wait(1)
    fake.settle("n1")
    assert handled.items == [1]
    assert len(client._uploads._backlog._events) <= 1024
    before = len(fake.calls)
    gate.set()
    until(lambda: ("getRequests", {}) in fake.calls[before:])


def test_a_resync_hands_all_rows_to_the_state_listeners(client, fake):
    seen = Seen()
    fake.seed_rows({"id": "a", "key": "k"}, {"id": "b", "key": "k"})
    client.add_listener("state", seen.add)
    client.configure()
    fake.emit("resync", {})
    assert [row["id"] for row in seen.wait(2)] == ["a", "b"]


def test_B95_B96_end_to_end_over_the_fake(client, fake):
    seen = Seen()
    note = client.define(
        key="note",
        request=lambda vars: {**PING, "data": vars["text"]},
        response=lambda raw, vars: (raw["id"], vars["text"]),
        on_success=lambda value, vars, meta: seen.add((value, vars, meta)),
    )
    client.configure()
    entry = note.mutate({"text": "hi"})
    fake.settle(entry, response={"body": '{"id": 7}'}, requestId="r")
    value, vars, meta = seen.items[0]
    assert (value, vars) == ((7, "hi"), {"text": "hi"})
    assert (meta["id"], meta["key"], meta["deliveries"], meta["requestId"]) == (entry, "note", 1, "r")
    assert len(fake.acked_event_ids) == 1


def test_the_rest_of_the_calls(client, fake):
    fake.seed_diagnostics({"message": "boot sweep"})
    fake.seed_rows({"id": "a", "key": "k"})
    assert [record["message"] for record in client.take_diagnostics()] == ["boot sweep"]
    assert client.take_diagnostics() == []
    assert client.explain("a") == [] and client.stats() == {} and client.ping() > 0
    with pytest.raises(InvalidError):
        client.explain("unknown")


def test_a_closed_client_says_so(fake):
    client = UploadClient(sidecar=fake)
    note = ping(client)
    client.close()
    client.close()
    for call in (client.configure, client.ping, client.redeliver, lambda: note.mutate({})):
        with pytest.raises(ClosedError):
            call()


def test_after_a_death_setnetwork_and_subscribe_are_told_again(client, fake, warnings):
    ping(client)
    client.configure()
    client.set_network("none")
    before = len(fake.calls)
    fake.die()
    assert methods(fake)[before:] == ["setNetwork", "subscribe"]


def test_close_waits_for_a_running_handler_and_its_acknowledgement(fake):
    inside, gate = Seen(), threading.Event()
    client = UploadClient(sidecar=fake)
    ping(client, on_success=lambda *all: inside.add(1) or gate.wait(10))
    fake.seed_unacknowledged({"id": "a", "key": "ping"})
    client.configure()
    inside.wait(1)
    closing = threading.Thread(target=client.close)
    closing.start()
    gate.set()
    closing.join()
    assert len(fake.acked_event_ids) == 1


def test_close_from_inside_a_handler_does_not_wait_for_itself(fake):
    done = Seen()
    client = UploadClient(sidecar=fake)
    ping(client, on_success=lambda *all: client.close() or done.add(1))
    fake.seed_unacknowledged({"id": "a", "key": "ping"})
    client.configure()
    done.wait(1, 3)
