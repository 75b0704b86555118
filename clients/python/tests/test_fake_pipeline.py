"""The fake plays pipelines and groups: D42, D45 to D48."""

import pytest
from observation import AT, SERVER, App, answer
from rig import until

from outtray import InvalidError
from outtray.testing import Held, NotAcknowledged


@pytest.fixture
def app(client):
    return App(client)


def test_D48_cancel_group_settles_the_live_and_forgets_a_group_that_has_none(app, fake, warnings):
    def fail(outcome):
        raise RuntimeError("not now")

    app.client.on_group_settled(fail)
    app.client.configure()
    for id in ("a", "b"):
        app.photo.mutate(id=id, group="g")
    fake.settle("a", "error")
    app.client.cancel_group("g")
    until(lambda: [row["id"] for row in fake.rows] == ["a"])
    assert fake.unacknowledged_groups[0]["counts"] == {"completed": 0, "error": 1, "cancelled": 1}
    app.client.cancel_group("g")
    assert fake.rows == fake.unacknowledged_groups == []


def test_D42_an_entry_that_others_wait_for_keeps_its_row_until_theirs_are_gone(app, fake):
    app.client.configure()
    app.photo.mutate(id="p")
    app.photo.mutate(id="s", after=["p"])
    fake.settle("p")
    assert [row["id"] for row in fake.rows] == ["p", "s"]
    with pytest.raises(InvalidError, match="whose answer was acknowledged"):
        app.attach.mutate(None, bind={"observation": AT, "photo": AT})
    fake.settle("s")
    assert fake.rows == []


def test_D42_a_pipeline_that_is_repeated_runs_nothing_again(app, fake, warnings):
    def fail(outcome):
        raise RuntimeError("not now")

    app.client.on_group_settled(fail)
    app.client.configure()

    def dispositions():
        return [one["disposition"] for one in app.pipeline().enqueue().values()]

    assert dispositions() == ["created"] * 3
    fake.settle("p", **answer({"id": 1}))
    assert dispositions() == ["kept", "created", "created"]
    fake.settle("o", **answer({"id": 2}))
    with pytest.raises(NotAcknowledged):
        fake.settle("a")
    assert dispositions() == ["kept"] * 3
    app.client.on_group_settled(lambda outcome: None)
    app.client.redeliver()
    until(lambda: not fake.rows)
    assert fake.unacknowledged_groups == []
    assert dispositions() == ["created"] * 3


def test_D45_D46_the_fake_takes_values_and_shows_the_request_with_them(app, fake):
    app.client.configure()
    app.pipeline().enqueue()
    for early in ("o", "a"):
        with pytest.raises(Held, match=f"{early} cannot have been sent: waits for"):
            fake.settle(early)
    with pytest.raises(Held):
        fake.request_of("a")
    fake.settle("p", **answer({"id": "a/b"}))
    fake.settle("o", **answer({"id": 7}))
    assert fake.request_of("a") == {
        "url": f"{SERVER}/observations/7/photos",
        "headers": {"X-Photo": "a/b"},
        "data": {"photo_id": "a/b", "list": [7]},
    }
    fake.settle("a")
    assert app.heard.items == ["p", "o", "a"]


def test_D46_a_value_that_is_not_there_ends_what_needs_it(app, fake):
    app.client.configure()
    app.pipeline().enqueue()
    fake.settle("p", **answer({"no": 1}))
    assert app.heard.items == ["p", "a dependency"]


def test_D45_on_failure_waits_or_settles(app, fake):
    app.client.configure()
    app.pipeline().enqueue()
    fake.settle("p", "error")
    assert [row["state"] for row in fake.rows] == ["error", "queued", "queued"]
    app.photo.mutate(id="x")
    app.photo.mutate(id="y", after=["x"], on_failure="settle")
    app.photo.mutate(id="z", after=["y"], on_failure="settle")
    fake.settle("x", "error")
    assert app.heard.items == ["p http", "x http", "y dependency", "z dependency"]


def test_D45_the_fake_refuses_circles_and_who_is_not_there(app, fake):
    app.photo.mutate(id="x")
    app.photo.mutate(id="y", after=["x"])
    for after, path in ((["y"], "after"), (["x"], "after[0]")):
        with pytest.raises(InvalidError) as refused:
            app.photo.mutate(id="x", after=after)
        assert refused.value.path == path
    with pytest.raises(InvalidError, match=r"after\[0\]: names no entry"):
        app.photo.mutate(after=["nobody"])


@pytest.mark.parametrize(
    "request_of, path",
    [
        ({"url": f"{SERVER}/{{no}}"}, "request.url"),
        ({"url": SERVER, "headers": {"A": "{no}"}}, "request.headers.A"),
        ({"url": SERVER, "data": {"a": [{"$bind": "no"}]}}, "request.data.a[0]"),
        ({"url": SERVER, "data": {"$bind": "id", "more": 1}}, "request.data"),
    ],
)
def test_D46_the_fake_refuses_names_that_are_not_bound_and_without_bind_they_are_text(
    client, fake, request_of, path
):
    fake.seed_rows({"id": "p", "key": "k"})
    define = client.define(key="k", request=lambda vars: request_of)
    with pytest.raises(InvalidError) as refused:
        define.mutate({}, id="s", bind={"id": {"entry": "p", "pointer": ""}})
    assert refused.value.path == path
    define.mutate({}, id="t")
    assert fake.request_of("t")["url"] == request_of["url"]


def test_D47_the_fake_keeps_the_order_of_a_lane(app, fake):
    app.client.configure()
    for id in ("a", "b"):
        app.photo.mutate(id=id, lane="l")
    app.photo.mutate(id="c", lane="other")
    with pytest.raises(Held, match="a is in front of it in the lane l"):
        fake.settle("b")
    assert [gate["gate"] for gate in app.client.explain("b")] == ["lane"]
    for id in ("c", "a", "b"):
        fake.settle(id)
    assert app.heard.items == ["c", "a", "b"]
