"""The asyncio client over the fake; what it shares with the other is tested there."""

import asyncio
import inspect
import threading

import pytest
from rig import PING, CheckedFake, ping

from outtray import AsyncUploadClient, CallError, ClosedError, InvalidError, OuttrayError
from outtray.testing import NotAcknowledged


def run(test):
    """Runs a test in a loop of its own."""

    def in_loop():
        asyncio.run(asyncio.wait_for(test(), 30))

    in_loop.__name__, in_loop.__doc__ = test.__name__, test.__doc__
    return in_loop


async def until(condition):
    while not condition():
        await asyncio.sleep(0.002)


def made(**options):
    fake, warnings = CheckedFake(ack_timeout_ms=5000), []
    client = AsyncUploadClient(
        sidecar=fake, on_warning=lambda message, detail: warnings.append(message), **options
    )
    return fake, client, warnings


@run
async def test_B95_mutate_settle_handler_acknowledgement():
    fake, client, _ = made()
    seen = []

    async def handle(value, vars, meta):
        await asyncio.sleep(0)
        seen.append((value, vars, threading.current_thread() is threading.main_thread()))

    async with client:
        note = client.define(
            key="note",
            request=lambda vars: {**PING, "data": vars},
            response=lambda raw: raw["id"],
            on_success=handle,
        )
        await client.configure()
        entry = await note.mutate({"text": "hi"})
        await fake.settle_async(entry, response={"body": '{"id": 7}'})
    assert seen == [(7, {"text": "hi"}, True)]
    assert len(fake.acked_event_ids) == 1


@run
async def test_B60_A_DELIV_05_the_caller_goes_on_before_the_handler():
    fake, client, _ = made()
    order = []
    enqueue = fake._on_enqueue

    def settle_at_once(given):
        answer, events = enqueue(given)
        event = fake.build_settled(given["id"])
        fake._journal[event["eventId"]] = event
        return answer, [*events, ("settled", event)]

    fake._on_enqueue = settle_at_once
    async with client:
        note = ping(client, on_success=lambda value, vars, meta: order.append(("handler", meta["id"])))
        await client.configure()

        async def call(number, through):
            if through == "task":
                entry = await asyncio.create_task(note.mutate({}, id=f"n{number}"))
            elif through == "gather":
                entry = (await asyncio.gather(note.mutate({}, id=f"n{number}")))[0]
            else:
                entry = await note.mutate({}, id=f"n{number}")
            order.append(("caller", entry))

        await asyncio.gather(*(call(number, ("", "task", "gather")[number % 3]) for number in range(500)))
        await until(lambda: len(order) == 1000)
    for number in range(500):
        assert order.index(("caller", f"n{number}")) < order.index(("handler", f"n{number}"))


@run
async def test_B63_one_id_in_order_others_at_once():
    fake, client, _ = made()
    inside, gate = [], asyncio.Event()

    async def handle(value, vars, meta):
        inside.append(meta["id"])
        await gate.wait()

    fake.seed_unacknowledged(*({"id": id, "key": "ping"} for id in ("a", "a", "b", "c")))
    async with client:
        ping(client, on_success=handle)
        await client.configure()
        await until(lambda: len(inside) == 3)
        assert sorted(inside) == ["a", "b", "c"]
        gate.set()
        await until(lambda: len(fake.acked_event_ids) == 4)


@run
async def test_B79_a_failing_handler_is_released_and_comes_again_when_asked_for():
    fake, client, warnings = made()
    answers = [RuntimeError("not yet"), None]

    async def handle(value, vars, meta):
        answer = answers.pop(0)
        if answer:
            raise answer

    async with client:
        note = ping(client, on_success=handle)
        await client.configure()
        with pytest.raises(NotAcknowledged):
            await fake.settle_async(await note.mutate({}))
        await client.redeliver()
        await until(lambda: fake.acked_event_ids)
    assert len(warnings) == 1


@run
async def test_B24_a_slow_enqueue_warns_and_a_cancelled_caller_takes_nothing_back():
    fake, client, warnings = made()
    seen = []
    async with client:
        note = ping(client, on_success=lambda value, vars, meta: seen.append(meta["id"]))
        await client.configure(enqueue_timeout_ms=10)
        release = fake.hold_next("enqueue")
        caller = asyncio.create_task(note.mutate({}, id="a"))
        await until(lambda: warnings)
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        release()
        await fake.settle_async("a")
    assert seen == ["a"] and len(warnings) == 1


@run
async def test_B88_B89_every_call_of_the_synchronous_client():
    fake, client, _ = made()
    fake.seed_rows({"id": "a", "key": "k"})
    async with client:
        await client.pause()
        await client.pause(keys=["k"])
        await client.resume(keys=[])
        await client.set_wifi_only(True)
        await client.set_network("wifi", metered=True)
        await client.update_headers({"A": "b"}, keys=["k"])
        assert [row["id"] for row in await client.get_requests(key="k")] == ["a"]
        assert [gate["gate"] for gate in await client.explain("a")] == ["queue", "key"]
        assert (await client.retry("a"))["id"] == "a"
        assert await client.take_diagnostics() == []
        assert await client.stats() == {} and await client.ping() > 0
        await client.cancel("unknown")
        assert client.chunk_plan(1) == [{"start": 0, "end": 1}]
        fake.fail_next("cancel", "E_STORAGE")
        with pytest.raises(CallError):
            await client.cancel("a")
        with pytest.raises(InvalidError):
            await client.pause(keys=None)
        bare = client.define(key="bare", request=lambda: PING)
        assert await bare.mutate(id="b") == "b"
    with pytest.raises(ClosedError):
        await client.ping()
    await client.close()


@run
async def test_B93_listeners_run_in_the_loop_and_may_fail():
    fake, client, warnings = made()
    seen = []
    async with client:
        with pytest.raises(InvalidError, match="plain function"):
            client.add_listener("state", test_listener)
        client.add_listener("state", lambda row: 1 / 0)
        client.add_listener("state", lambda row: seen.append(asyncio.get_running_loop()))
        await client.configure()
        await ping(client).mutate({})
        await until(lambda: seen and warnings)
    assert seen == [asyncio.get_running_loop()]


async def test_listener(row):
    raise AssertionError("never called")


test_listener.__test__ = False


@run
async def test_B306_a_warning_from_before_the_loop_is_told_in_it():
    fake, client, warnings = made()
    ping(client)
    ping(client)
    async with client:
        await client.ping()
        await until(lambda: warnings)
    assert warnings == ["ping is defined again; the newer definition counts"]


@run
async def test_B82_a_slow_handler_is_warned_about():
    fake, client, warnings = made()
    import outtray._delivery as delivery

    before, delivery.SLOW_HANDLER_S = delivery.SLOW_HANDLER_S, 0.01
    try:
        async with client:
            note = ping(client, on_success=lambda *all: asyncio.sleep(0.2))
            await client.configure()
            await fake.settle_async(await note.mutate({}))
            await until(lambda: warnings)
    finally:
        delivery.SLOW_HANDLER_S = before
    assert len(warnings) == 1 and "has not ended" in warnings[0]


def test_another_loop_is_refused_with_the_reason():
    fake, client, _ = made()
    asyncio.run(client.ping())

    async def later():
        with pytest.raises(OuttrayError, match="another event loop") as caught:
            await client.ping()
        assert caught.value.code == "E_LOOP"

    asyncio.run(later())


def test_close_waits_for_handlers():
    fake, client, _ = made()

    async def main():
        fake.seed_unacknowledged({"id": "a", "key": "ping"})
        ping(client, on_success=lambda *all: asyncio.sleep(0.05))
        await client.configure()
        await until(lambda: client._uploads.running)
        await client.close()

    asyncio.run(main())
    assert len(fake.acked_event_ids) == 1
    assert inspect.iscoroutinefunction(AsyncUploadClient.close)
