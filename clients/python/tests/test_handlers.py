"""From outcome to handler: B69 to B83, and warnings: B306."""

import asyncio
import logging
import threading

import pytest
from rig import Seen, ping, until

from outtray import UploadClient
from outtray.testing import FakeSidecar, NotAcknowledged


@pytest.fixture
def run(client, fake):
    """Settles one entry of a definition made for it; what its handlers got."""

    def settle(response=None, kind="completed", **outcome):
        got = Seen()
        note = ping(
            client,
            response=response,
            on_success=lambda value, vars, meta: got.add(("success", value, vars)),
            on_error=lambda error, vars, meta: got.add(("error", error, vars)),
        )
        client.configure()
        fake.settle(note.mutate({"v": 1}), kind, **outcome)
        assert len(got.items) == 1
        return got.items[0]

    return settle


def test_B69_without_a_parser_the_response_as_it_is(run):
    assert run() == ("success", {"status": 200, "headers": {}, "bodyTruncated": False}, {"v": 1})


@pytest.mark.parametrize(
    "parser", [lambda raw, vars: [raw, vars["v"]], lambda raw: [raw, 1], lambda raw, strict=False: [raw, 1]]
)
def test_B70_a_parser_takes_one_or_two_arguments(client, fake, parser):
    got = Seen()
    note = ping(client, response=parser, on_success=lambda value, vars, meta: got.add(value))
    client.configure()
    fake.settle(note.mutate({"v": 1}), response={"body": '{"n": 2}'})
    assert got.items == [[{"n": 2}, 1]]


@pytest.mark.parametrize("answer", [{}, {"body": ""}])
def test_B71_without_a_body_the_parser_gets_none(client, fake, answer):
    got = Seen()
    note = ping(
        client, response=lambda raw: ("parsed", raw), on_success=lambda value, vars, meta: got.add(value)
    )
    client.configure()
    fake.settle(note.mutate({}), response=answer)
    assert got.items == [("parsed", None)]


def outcome_of(client, fake, answer, response):
    got = Seen()
    note = ping(
        client,
        response=response,
        on_success=lambda value, vars, meta: got.add(("success", value)),
        on_error=lambda error, vars, meta: got.add(("error", error)),
    )
    client.configure()
    fake.settle(note.mutate({}), response=answer)
    assert len(fake.acked_event_ids) == 1
    return got.items[0]


def test_B72_truncated_and_a_parser(client, fake):
    asked = []
    answer = {"body": "{", "bodyTruncated": True}
    kind, error = outcome_of(client, fake, answer, lambda raw: asked.append(raw))
    assert (kind, error["errorKind"], error["response"]["body"]) == ("error", "truncated", "{")
    assert asked == []


def test_B73_truncated_and_no_parser(client, fake):
    kind, value = outcome_of(client, fake, {"body": "{", "bodyTruncated": True}, None)
    assert (kind, value["bodyTruncated"]) == ("success", True)


def test_B74_a_parser_that_throws(client, fake):
    def parse(raw):
        raise ValueError("no content")

    kind, error = outcome_of(client, fake, {"body": "{}"}, parse)
    assert (kind, error["errorKind"], error["message"]) == ("error", "unknown", "no content")


@pytest.mark.parametrize("answer", [{"body": "<html>"}, {"bodyBase64": "e30="}])
def test_B75_D31_a_body_that_is_not_json(client, fake, answer):
    kind, error = outcome_of(client, fake, answer, lambda raw: raw)
    assert (kind, error["errorKind"]) == ("error", "unknown")
    assert "not JSON" in error["message"]


def test_B76_without_handlers_outcomes_are_acknowledged(client, fake):
    note = ping(client)
    client.configure()
    fake.settle(note.mutate({}))
    fake.settle(note.mutate({}), "error")
    assert len(fake.acked_event_ids) == 2


def test_B77_D40_errors_reach_on_error_unknown_kinds_too(run, fake):
    kind, error, vars = run(kind="error", error={"errorKind": "tired", "message": "m"})
    assert (kind, error["errorKind"], vars) == ("error", "tired", {"v": 1})


def test_B78_acknowledged_after_the_handler(client, fake):
    inside, gate = Seen(), threading.Event()
    ping(client, on_success=lambda *all: inside.add(1) or gate.wait(10))
    fake.seed_unacknowledged({"id": "a", "key": "ping"})
    client.configure()
    inside.wait(1)
    assert fake.acked_event_ids == []
    gate.set()
    until(lambda: fake.acked_event_ids)


def test_B78_an_async_handler_is_awaited_in_the_synchronous_client(client, fake):
    got = Seen()

    async def handle(value, vars, meta):
        await asyncio.sleep(0)
        got.add(meta["id"])

    note = ping(client, on_success=handle)
    client.configure()
    fake.settle(note.mutate({}, id="a"))
    assert got.items == ["a"]


def test_B79_B80_a_failing_handler_is_released_and_warned_about(client, fake, warnings):
    async def later(value, vars, meta):
        raise RuntimeError("later")

    def exit_(value, vars, meta):
        raise SystemExit

    client.configure()
    for handler in (lambda *all: 1 / 0, later, exit_):
        note = ping(client, key=f"k{id(handler)}", on_success=handler)
        with pytest.raises(NotAcknowledged, match="not acknowledged"):
            fake.settle(note.mutate({}))
    assert fake.acked_event_ids == [] and len(fake.released_event_ids) == 3
    until(lambda: len(warnings) == 3)
    assert all("failed for" in message for message in warnings)


def test_B81_a_failed_acknowledgement_is_a_warning(client, fake, warnings):
    fake.fail_next("ackEvents", "E_STORAGE")
    note = ping(client)
    client.configure()
    with pytest.raises(NotAcknowledged):
        fake._timeout = 0.2
        fake.settle(note.mutate({}))
    assert until(lambda: [message for message in warnings if "ackEvents failed" in message])


def test_B82_a_slow_handler_is_warned_about_by_the_client(client, fake, warnings, monkeypatch):
    monkeypatch.setattr("outtray._delivery.SLOW_HANDLER_S", 0.02)
    gate = threading.Event()
    ping(client, on_success=lambda *all: gate.wait(10))
    fake.seed_unacknowledged({"id": "a", "key": "ping"})
    client.configure()
    until(lambda: [message for message in warnings if "has not ended" in message])
    gate.set()
    until(lambda: fake.acked_event_ids)
    assert len(warnings) == 1


def test_B83_meta_tells_deliveries_absent_is_one(client, fake):
    got = Seen()
    ping(client, on_success=lambda value, vars, meta: got.add(meta))
    client.configure()
    fake.seed_rows({"id": "a", "key": "ping"})
    event = fake.build_settled("a", at=5, attempts=3, requestId="r")
    fake.emit("settled", {**event, "deliveries": 4})
    assert got.wait(1)[0] == {
        "id": "a",
        "key": "ping",
        "at": 5,
        "attempts": 3,
        "requestId": "r",
        "deliveries": 4,
    }
    other = fake.build_settled("a")
    del other["deliveries"], other["requestId"]
    fake.emit("settled", other)
    assert got.wait(2)[1]["deliveries"] == 1 and "requestId" not in got.items[1]


def test_B306_without_a_sink_warnings_go_to_the_log(fake, caplog):
    with caplog.at_level(logging.WARNING, "outtray"), UploadClient(sidecar=fake) as client:
        ping(client)
        ping(client)
        until(lambda: caplog.messages)
    assert caplog.messages == ["ping is defined again; the newer definition counts"]


def test_B306_a_sink_that_fails_leaves_both_in_the_log(caplog):
    def sink(message, detail):
        raise RuntimeError("sink")

    with (
        caplog.at_level(logging.WARNING, "outtray"),
        UploadClient(sidecar=FakeSidecar(), on_warning=sink) as client,
    ):
        ping(client)
        ping(client)
        until(lambda: len(caplog.messages) == 2)
    assert caplog.messages == [
        "on_warning failed: sink",
        "ping is defined again; the newer definition counts",
    ]


def test_B306_configure_changes_the_sink(client, warnings):
    newer = Seen()
    client.configure(on_warning=lambda message, detail: newer.add(message))
    ping(client)
    ping(client)
    newer.wait(1)
    assert warnings == []
