"""401 and 403: entries that wait for credentials, and what lets them go."""
from endtoend import rawserver
from endtoend.requests import enqueue


def test_a_auth_05_a_signed_url_that_expired_is_replaced(sidecar, server, tmp_path):
    """A-AUTH-05, B213: 403 parks; new headers are one more 403 and park again; the same id with another URL
    goes out there, from the file that was handed over first."""
    body = tmp_path / "body"
    body.write_bytes(b"photo" * 30_000)
    server.on("/1", rawserver.reply(403))
    enqueue(sidecar, server.url("/1?sig=old"), id="a", method="PUT", file=str(body))
    sidecar.wait_events("state", 1, id="a", state="awaiting-auth")
    sidecar.call("updateHeaders", headers={"Authorization": "new"})
    sidecar.wait_events("state", 2, id="a", state="awaiting-auth")
    server.quiet(0.3)
    told = enqueue(sidecar, server.url("/2?sig=new"), id="a", method="PUT", file=str(body))
    assert (told["disposition"], told["generation"]) == ("replaced", 2)
    outcome = sidecar.settled("a")
    assert (outcome["kind"], outcome["attempts"], outcome["url"]) == (
        "completed", 1, server.url("/2?sig=new"))
    assert [request.path for request in server.seen()] == ["/1", "/1", "/2"]
    assert server.seen()[2].body == body.read_bytes()


def test_a_auth_06_a_start_before_the_token_costs_one_request_each(start, server):
    """A-AUTH-06: entries stored with the old token: at most one request with it, then one with the new one;
    all complete and none ends as an error."""
    def step(exchange):
        exchange.read_body()
        exchange.answer(200 if exchange.request.header("authorization") == "new" else 401)
    server.on("/x", step)
    first = start()
    first.call("pause")
    for n in range(12):
        enqueue(first, server.url("/x"), id=str(n), data=n, headers={"Authorization": "old"})
    first.kill()
    second = start()
    second.subscribe()
    second.call("resume")
    second.wait_events("state", 12, state="awaiting-auth")
    server.quiet(0.3)
    second.call("updateHeaders", headers={"authorization": "new"})
    for n in range(12):
        assert second.settled(str(n))["kind"] == "completed"
    for n in range(12):
        mine = [request for request in server.seen() if request.body == b"%d" % n]
        assert [request.header("authorization") for request in mine] == ["old", "new"]
    assert len(second.events("settled")) == 12


def test_a_auth_06_the_new_token_may_come_while_the_old_one_is_under_way(start, server):
    """A-AUTH-06, A-AUTH-02: at the start itself, before the first answer."""
    def step(exchange):
        exchange.read_body()
        is_new = exchange.request.header("authorization") == "new"
        if not is_new:
            exchange.pause(0.2)
        exchange.answer(200 if is_new else 401)
    server.on("/x", step)
    first = start()
    first.call("pause")
    for n in range(6):
        enqueue(first, server.url("/x"), id=str(n), data=n, headers={"Authorization": "old"})
    first.call("resume")
    server.wait_requests(1)
    first.kill()
    second = start()
    second.subscribe()
    second.call("updateHeaders", headers={"Authorization": "new"})
    for n in range(6):
        assert second.settled(str(n))["kind"] == "completed"
    old = [request.body for request in server.seen() if request.header("authorization") == "old"]
    # Of each entry at most one by each process.
    assert all(old.count(body) <= 2 for body in old)
    new = sorted(request.body for request in server.seen() if request.header("authorization") == "new")
    assert new == [b"%d" % n for n in range(6)]


def test_b254_a_patch_reaches_settled_entries_too(sidecar, server):
    """B254, B188: an entry with an error that is enqueued again brings its own headers; one that waits gets
    the patch, and a bad patch changes nothing."""
    server.on("/x", rawserver.reply(400), rawserver.reply())
    enqueue(sidecar, server.url("/x"), id="a", data=1, headers={"X-T": "old"})
    sidecar.settled("a")
    sidecar.call("pause")
    enqueue(sidecar, server.url("/y"), id="b", data=1, headers={"x-t": "old"})
    sidecar.call("updateHeaders", headers={"X-T": "new", "X-More": "m"})
    enqueue(sidecar, server.url("/x"), id="a", data=1, headers={"X-T": "mine"})
    sidecar.call("resume")
    sidecar.settled("a", 2)
    sidecar.settled("b")
    assert (server.seen("/x")[1].values("x-t"), server.seen("/x")[1].values("x-more")) == (["mine"], [])
    assert (server.seen("/y")[0].values("x-t"), server.seen("/y")[0].values("x-more")) == (["new"], ["m"])
