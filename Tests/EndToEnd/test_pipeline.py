"""Requests that depend on each other, over real servers and a killed sidecar (D42, D45 to D47)."""
import json

from endtoend import rawserver


def entries(server, count):
    """Photos side by side, then the observation, then each photo attached to it."""
    photos = [f"photo{number}" for number in range(count)]
    yield {"id": "observation", "key": "o", "after": photos,
           "request": {"url": server.url("/observations"), "data": {"taxon": 3}}}
    for number, photo in enumerate(photos):
        yield {"id": photo, "key": "p", "request": {"url": server.url(f"/photos/{number}"), "data": number}}
        yield {"id": f"attach{number}", "key": "a", "lane": "attach",
               "bind": {"photo": {"entry": photo, "pointer": "/photo/id"},
                        "place": {"entry": "observation", "header": "Location"}},
               "request": {"url": server.url("/attach/{photo}"), "headers": {"X-Place": "{place}"},
                           "data": {"photo": {"$bind": "photo"}}}}


def test_photos_then_observation_then_attach(start, server):
    """D42, D45, D46, D47, D50: it runs by itself over a kill, and a repeated call runs nothing twice."""
    for number in range(3):
        photo = json.dumps({"photo": {"id": f"p/{number}"}}).encode()
        server.on(f"/photos/{number}", rawserver.reply(201, body=photo))
    server.on("/observations", rawserver.reply(201, headers=[("Location", "/observations/9")]))
    sidecar = start()
    sidecar.call("pause", keys=["a"])
    answer = sidecar.call("enqueueAll", entries=list(entries(server, 3)))
    assert {entry["disposition"] for entry in answer["entries"]} == {"created"}
    sidecar.wait_state("observation", "completed")
    sidecar.kill()
    sidecar = start()
    sidecar.subscribe("settled")
    sidecar.ack(*sidecar.wait_events("settled", 4))
    again = sidecar.call("enqueueAll", entries=list(entries(server, 3)))
    assert {entry["id"]: entry["disposition"] for entry in again["entries"]} == {
        "observation": "kept", **{f"photo{n}": "kept" for n in range(3)},
        **{f"attach{n}": "resumed" for n in range(3)}}
    sidecar.call("resume", keys=["a"])
    settled = sidecar.wait_events("settled", 3, key="a")
    assert [(event["id"], event["kind"], event["lane"]) for event in settled] == [
        (f"attach{n}", "completed", "attach") for n in range(3)]
    sidecar.ack(*settled)
    assert sidecar.rows() == []
    paths = [request.path for request in server.seen()]
    assert len(paths) == len(set(paths)) == 7
    last = server.seen()[-1]
    assert last.path == "/attach/p%2F2" and last.header("x-place") == "/observations/9"
    assert json.loads(last.body) == {"photo": "p/2"}


def test_a_failure_settles_what_comes_after_it(start, server):
    """D45: with onFailure settle, in the order of the call, each with an outcome of its own."""
    server.on("/first", rawserver.reply(400))
    sidecar = start()
    sidecar.subscribe("settled")
    request = {"url": server.url("/second"), "data": 1}
    sidecar.call("enqueueAll", entries=[
        {"id": "first", "key": "k", "request": {"url": server.url("/first"), "data": 1}},
        {"id": "second", "key": "k", "after": ["first"], "onFailure": "settle", "request": request},
        {"id": "third", "key": "k", "after": ["second"], "onFailure": "settle", "request": request}])
    settled = sidecar.wait_events("settled", 3)
    assert [(event["id"], event["error"]["errorKind"]) for event in settled] == [
        ("first", "http"), ("second", "dependency"), ("third", "dependency")]
    assert len(server.seen()) == 1
