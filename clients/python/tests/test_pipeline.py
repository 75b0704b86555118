"""Pipelines and groups over the fake: D42, D45 to D50."""

import asyncio
import re
import threading

import pytest
from observation import AT, SERVER, App, answer
from rig import PING, CheckedFake, Seen, ping, until

from outtray import AsyncUploadClient, Bound, InvalidError, SidecarExited, UploadClient
from outtray.testing import NotAcknowledged


@pytest.fixture
def app(client):
    return App(client)


def enqueued(fake):
    return [params for method, params in fake.calls if method.startswith("enqueue")]


def test_D50_nothing_is_sent_before_enqueue_and_then_one_call(app, fake):
    pipeline = app.pipeline(on_failure="settle", group_deadline_ms=5)
    assert fake.calls == []
    accepted = pipeline.enqueue()
    assert [method for method, _ in fake.calls] == ["enqueueAll"]
    photo, observation, attach = fake.calls[0][1]["entries"]
    assert photo == {
        "id": "p",
        "key": "photo",
        "vars": None,
        "request": {"url": f"{SERVER}/photos", "data": {"a": 1}, "headers": {}},
        "group": "g",
        "onFailure": "settle",
        "groupDeadlineMs": 5,
        "weight": 0.5,
    }
    assert (observation["after"], observation["lane"]) == (["p"], "observations")
    assert attach["bind"] == {
        "observation": {"entry": "o", "pointer": "/id"},
        "photo": {"entry": "p", "pointer": "/id"},
    }
    assert list(accepted) == pipeline.steps
    assert [(step.id, one["disposition"], one["row"]["group"]) for step, one in accepted.items()] == [
        ("p", "created", "g"),
        ("o", "created", "g"),
        ("a", "created", "g"),
    ]


def test_D50_ids_are_the_clients_so_that_enqueue_may_be_repeated(app, fake):
    pipeline = app.client.pipeline()
    step = pipeline.add(app.photo)
    fake.fail_next("enqueueAll", "E_STORAGE")
    with pytest.raises(Exception, match="E_STORAGE|told to fail"):
        pipeline.enqueue()
    pipeline.enqueue()
    assert [call["entries"][0]["id"] for call in enqueued(fake)] == [step.id, step.id]
    assert len(fake.rows) == 1
    with pytest.raises(InvalidError, match="is enqueued; begin another"):
        pipeline.add(app.photo)


def test_D50_a_step_is_checked_when_it_is_added(app, fake):
    pipeline = app.client.pipeline(group="g")
    with UploadClient(sidecar=CheckedFake()) as other:
        stranger = ping(other)
    for wrong in (stranger, "photo", None):
        with pytest.raises(InvalidError, match="what define of this client gave"):
            pipeline.add(wrong)
    pipeline.add(app.photo, id="p")
    with pytest.raises(InvalidError, match="that of another step: p"):
        pipeline.add(app.photo, id="p")
    with pytest.raises(InvalidError, match="vars"):
        pipeline.add(app.photo, 5)
    with pytest.raises(InvalidError, match="no step"):
        app.client.pipeline().enqueue()
    with pytest.raises(InvalidError, match="weight"):
        app.client.pipeline(weight=-1)
    assert fake.calls == []


@pytest.mark.parametrize(
    "options, path",
    [
        ({"weight": 0}, "weight"),
        ({"weight": 2e9}, "weight"),
        ({"weight": True}, "weight"),
        ({"deadline_ms": 0}, "deadline_ms"),
        ({"lane": ""}, "lane"),
        ({"group": 5}, "group"),
        ({"on_failure": "stop"}, "on_failure"),
        ({"group_deadline_ms": 5}, "group_deadline_ms"),
        ({"after": "p"}, "after"),
        ({"after": [{}]}, "after[0]"),
        ({"after": ["p", 5]}, "after[1]"),
        ({"bind": {"1a": AT}}, "bind.1a"),
        ({"bind": {"a-b": AT}}, "bind.a-b"),
        ({"bind": {"a\n": AT}}, "bind.a\n"),
        ({"bind": {"a": {"entry": "p"}}}, "bind.a"),
        ({"bind": {"a": {**AT, "header": "X"}}}, "bind.a"),
        ({"bind": {"a": {"entry": "p", "pointer": "id"}}}, "bind.a.pointer"),
        ({"bind": {"a": {"entry": "p", "header": ""}}}, "bind.a.header"),
        ({"bind": [AT]}, "bind"),
        ({"bind": {"a": {"pointer": ""}}}, "bind.a.entry"),
        ({"bind": {"a": {**AT, "x": 1}}}, "bind.a.x"),
    ],
)
def test_D45_to_D49_mutate_refuses_and_names_the_option(client, fake, options, path):
    with pytest.raises(InvalidError) as refused:
        ping(client).mutate({}, **options)
    assert refused.value.path == path
    assert fake.calls == []


def test_D45_D46_mutate_takes_the_same_and_after_takes_what_has_an_id(app, fake):
    first = app.photo.mutate(id="p")
    step = app.client.pipeline().add(app.photo, id="p")
    bind = {"observation": {"entry": "p", "pointer": "/id"}, "photo": step.header("Location")}
    app.attach.mutate(None, id="a", after=[first, step], bind=bind, lane="l", weight=2)
    sent = enqueued(fake)[1]
    assert (sent["after"], sent["lane"], sent["weight"]) == (["p", "p"], "l", 2)
    assert sent["bind"]["photo"] == {"entry": "p", "header": "Location"}
    assert sent["request"] == {
        "url": f"{SERVER}/observations/{{observation}}/photos",
        "headers": {"X-Photo": "{photo}"},
        "data": {"photo_id": {"$bind": "photo"}, "list": [{"$bind": "observation"}]},
    }


def test_D46_a_name_that_request_uses_and_bind_lacks(app, fake):
    with pytest.raises(InvalidError) as refused:
        app.attach.mutate(None)
    assert refused.value.path == "bind.observation"
    with pytest.raises(InvalidError) as refused:
        app.attach.mutate(None, bind={"observation": AT})
    assert refused.value.path == "bind.photo"
    assert fake.calls == []
    assert not hasattr(Bound(["a"]), "__deepcopy__")


@pytest.mark.parametrize("request_of", [lambda vars: PING, lambda vars, more=1: PING, lambda *all: PING])
def test_D46_a_builder_of_one_argument_goes_on_working(client, fake, request_of):
    client.define(key="k", request=request_of).mutate({"a": 1})
    assert enqueued(fake)[0]["request"]["url"] == PING["url"]


@pytest.mark.parametrize("text", ["%7Ba%7D", "%7ba%7d"])
def test_D46_a_bound_name_that_was_percent_encoded_is_refused(client, fake, text):
    wrong = client.define(key="k", request=lambda vars, bound: {"url": f"{SERVER}/{text}"})
    with pytest.raises(InvalidError) as refused:
        wrong.mutate({}, bind={"a": AT})
    assert refused.value.path == "request.url"


def test_D46_the_url_may_be_a_bound_value_as_a_whole(client, fake):
    fake.seed_rows({"id": "p", "key": "k"})
    put = client.define(key="put", request=lambda vars, bound: {"url": f"{bound.a}", "boundOrigin": True})
    put.mutate({}, bind={"a": AT})
    assert enqueued(fake)[0]["request"]["boundOrigin"] is True
    loose = client.define(key="loose", request=lambda vars: {**PING, "boundOrigin": 1})
    with pytest.raises(InvalidError, match="boundOrigin"):
        loose.mutate({})


def test_D50_an_error_of_the_sidecar_names_the_step(app, fake):
    pipeline = app.client.pipeline()
    pipeline.add(app.photo)
    pipeline.add(app.photo, after=["nobody"])
    with pytest.raises(InvalidError) as refused:
        pipeline.enqueue()
    assert refused.value.path == "entries[1].after[0]"
    assert fake.rows == []


def test_D48_handlers_run_after_enqueue_has_returned_and_the_group_after_its_members(app, fake):
    app.client.on_group_settled(lambda outcome: app.heard.add(outcome["group"]))
    app.client.configure()
    take = fake._on_enqueueAll

    def settle_at_once(given):
        taken, events = take(given)
        return taken, [*events, *fake._end([fake.build_settled("p")])]

    fake._on_enqueueAll = settle_at_once
    for number in range(50):
        pipeline = app.client.pipeline(group=f"g{number}")
        pipeline.add(app.photo, id="p")
        pipeline.enqueue()
        app.heard.add(f"enqueued {number}")
        until(lambda number=number: f"g{number}" in app.heard.items)
    assert app.heard.items == [one for n in range(50) for one in (f"enqueued {n}", "p", f"g{n}")]


def test_D48_the_group_waits_for_a_handler_of_a_member(client, fake):
    gate, order = threading.Event(), Seen()
    slow = ping(client, on_success=lambda *all: gate.wait(10) and order.add("member"))
    client.on_group_settled(lambda outcome: order.add(outcome["group"]))
    client.configure()
    slow.mutate({}, id="a", group="g")
    settling = threading.Thread(target=fake.settle, args=("a",))
    settling.start()
    until(lambda: len(fake._out) == 2)
    assert order.items == []
    gate.set()
    settling.join()
    assert order.items == ["member", "g"]


def test_D48_the_outcome_of_a_group_is_acknowledged_behind_its_handler(app, fake):
    outcomes = Seen()
    app.client.on_group_settled(lambda outcome: outcomes.add((outcome, len(fake.unacknowledged_groups))))
    app.client.configure()
    app.photo.mutate(id="p", group="g")
    app.photo.mutate(id="q", group="g")
    fake.settle("p")
    assert outcomes.items == []
    fake.settle("q", "error")
    ((outcome, held),) = outcomes.items
    assert outcome.pop("at") > 0
    assert outcome == {
        "group": "g",
        "generation": 1,
        "deliveries": 1,
        "counts": {"completed": 1, "error": 1, "cancelled": 0},
        "failed": ["q"],
    }
    assert (held, fake.unacknowledged_groups) == (1, [])


def test_D48_meta_names_the_group(client, fake):
    metas = Seen()
    note = ping(client, on_success=lambda value, vars, meta: metas.add(meta.get("group")))
    client.configure()
    fake.settle(note.mutate({}, group="g"))
    fake.settle(note.mutate({}))
    assert metas.items == ["g", None]


def test_D48_a_group_handler_that_fails_releases_and_redeliver_brings_it_again(app, fake, warnings):
    answers, deliveries = [RuntimeError("disk full"), None], Seen()

    def handle(outcome):
        deliveries.add(outcome["deliveries"])
        failure = answers.pop(0)
        if failure:
            raise failure

    app.client.on_group_settled(handle)
    app.client.configure()
    app.photo.mutate(id="p", group="g")
    with pytest.raises(NotAcknowledged, match="released"):
        fake.settle("p")
    until(lambda: warnings == ["the handler of groups failed for g; the outcome is released"])
    app.client.redeliver()
    assert deliveries.wait(2) == [1, 2]
    until(lambda: not fake.unacknowledged_groups)


def test_D42_D48_without_a_handler_a_group_leaves_nothing_behind_and_later_ones_reach_a_new_one(
    app, fake, warnings
):
    app.client.configure()
    app.photo.mutate(id="p", group="g")
    fake.settle("p")
    until(lambda: not fake.unacknowledged_groups)
    assert (fake.rows, warnings) == ([], [])
    app.client.on_group_settled(lambda outcome: app.heard.add(outcome["group"]))
    app.photo.mutate(id="q", group="h")
    fake.settle("q")
    until(lambda: app.heard.items == ["p", "q", "h"])


def test_D48_progress_of_groups_is_asked_for_only_where_somebody_listens(client, fake, warnings):
    def asked():
        return [params["events"][4:] for method, params in fake.calls if method == "subscribe"]

    client.configure()
    client.on_group_settled(lambda outcome: None)
    shown = Seen()
    client.add_listener("group", shown.add)
    client.add_listener("group", lambda status: None)
    assert asked() == [["groupSettled"], ["groupSettled", "group"]]
    client.on_group_settled(lambda outcome: None)
    until(lambda: warnings == ["on_group_settled was called again; the newer handler counts"])
    with pytest.raises(InvalidError, match="must be a function"):
        client.on_group_settled("x")
    ping(client).mutate({}, id="a", group="g")
    fake.settle("a")
    assert [status["progress"] for status in shown.wait(2)] == [0, 1]
    fake.die()
    assert asked()[-1] == ["groupSettled", "group"]


def test_D48_registered_before_configure_one_subscription_has_all(client, fake):
    client.on_group_settled(lambda outcome: None)
    client.add_listener("group", lambda status: None)
    client.configure()
    assert [params["events"] for method, params in fake.calls if method == "subscribe"] == [
        ["state", "progress", "attempt", "settled", "groupSettled", "group"]
    ]


def test_D48_pause_resume_cancel_read_and_explain_by_group(app, fake):
    client = app.client
    client.on_group_settled(lambda outcome: app.heard.add(outcome["counts"]))
    client.configure()
    app.pipeline().enqueue()
    app.photo.mutate(id="other")

    def states():
        return [(row["id"], row["state"]) for row in client.get_requests()]

    client.pause(groups=["g"])
    assert states() == [("p", "paused"), ("o", "paused"), ("a", "paused"), ("other", "queued")]
    assert client.explain("p") == [{"gate": "group", "detail": "paused"}]
    client.resume(keys=["photo"], groups=["g"])
    assert {state for _, state in states()} == {"queued"}
    assert [(row["id"], row.get("lane")) for row in client.get_requests(group="g")] == [
        ("p", None),
        ("o", "observations"),
        ("a", None),
    ]
    told = client.explain_group("g")
    assert (told["group"], told["counts"]["queued"], told["progress"]) == ("g", 3, 0)
    assert told["entries"][1]["gates"] == [{"gate": "dependency", "detail": "waits for p"}]
    client.cancel_group("g")
    assert app.heard.wait(1) == [{"completed": 0, "error": 0, "cancelled": 3}]
    until(lambda: states() == [("other", "queued")])
    with pytest.raises(InvalidError, match="pause: groups"):
        client.pause(groups="g")
    with pytest.raises(Exception, match="unknown"):
        client.explain_group("unknown")


def test_D41_a_pipeline_that_was_lost_with_its_sidecar_may_be_sent_again(app, fake):
    pipeline, errors = app.pipeline(), Seen()
    fake.hold_next()

    def enqueue():
        try:
            pipeline.enqueue()
        except SidecarExited as error:
            errors.add(error.code)

    caller = threading.Thread(target=enqueue)
    caller.start()
    until(lambda: fake._held_calls)
    _, _, lost = fake._held_calls[0]
    lost.set_exception(SidecarExited(None, 9, ""))
    caller.join()
    fake._held_calls.clear()
    fake._holding = False
    assert errors.items == ["E_SIDECAR_EXITED"]
    assert len(pipeline.enqueue()) == 3


def test_D48_D50_with_asyncio():
    async def main():
        fake, heard = CheckedFake(), []
        async with AsyncUploadClient(sidecar=fake) as client:

            async def settled(outcome):
                await asyncio.sleep(0)
                heard.append(outcome["group"])

            app = App(client)
            client.on_group_settled(settled)
            await client.configure()
            accepted = await app.pipeline().enqueue()
            assert [one["disposition"] for one in accepted.values()] == ["created"] * 3
            assert (await client.explain_group("g"))["counts"]["queued"] == 3
            await client.pause(groups=["g"])
            await client.resume(groups=["g"])
            assert len(await client.get_requests(group="g")) == 3
            for id in ("p", "o", "a"):
                await fake.settle_async(id, **answer({"id": 1}))
            assert heard == ["g"]
            await app.photo.mutate(id="b", group="h", lane="l", after=[])
            await client.cancel_group("h")
            while heard != ["g", "h"]:
                await asyncio.sleep(0)

    asyncio.run(asyncio.wait_for(main(), 30))


def test_the_client_of_a_pipeline_is_asked_when_it_is_closed(fake):
    client = UploadClient(sidecar=fake)
    pipeline = client.pipeline()
    pipeline.add(ping(client), {})
    client.close()
    with pytest.raises(Exception, match="closed"):
        pipeline.enqueue()
    assert re.match("[0-9a-f-]{36}$", pipeline.steps[0].id)
