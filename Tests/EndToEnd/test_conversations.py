"""The recorded conversations, and a validated session: what is said, both ways, is in the document."""
import json
import subprocess
import sys
import threading

import pytest

from endtoend import deadline, rawserver
from endtoend.document import PROTOCOL, VALIDATOR
from endtoend.requests import enqueue

CONVERSATIONS = PROTOCOL / "conversations"


def play(command, files):
    played = subprocess.run([sys.executable, str(PROTOCOL / "play.py"), *command, "--", *map(str, files)],
                            capture_output=True, text=True, timeout=120, check=False)
    assert played.returncode == 0, played.stdout + played.stderr


@pytest.mark.parametrize("conversation", sorted(CONVERSATIONS.glob("*.jsonl")), ids=lambda path: path.stem)
def test_the_sidecar_holds_the_recorded_conversation(binary, conversation):
    play([binary, "serve"], [conversation])


def test_there_are_conversations():
    assert len(list(CONVERSATIONS.glob("*.jsonl"))) >= 5
    for folder in ("max-line-1024", "virtual-clock"):
        assert list((CONVERSATIONS / folder).glob("*.jsonl"))


@pytest.mark.parametrize("conversation", sorted((CONVERSATIONS / "max-line-1024").glob("*.jsonl")),
                         ids=lambda path: path.stem)
def test_the_sidecar_holds_the_conversation_with_short_lines(binary, conversation):
    play([binary, "serve", "--max-line", "1024"], [conversation])


@pytest.mark.parametrize("conversation", sorted((CONVERSATIONS / "virtual-clock").glob("*.jsonl")),
                         ids=lambda path: path.stem)
def test_the_sidecar_holds_the_conversation_whose_clock_is_moved(binary, conversation):
    play([binary, "serve", "--virtual-clock"], [conversation])


class Session:
    """A sidecar whose lines are kept in both directions and held against the document."""

    def __init__(self, sidecar):
        self.sidecar = sidecar
        self.sent = []
        write = sidecar.send_line

        def record(text):
            self.sent.append(json.loads(text))
            write(text)
        sidecar.send_line = record

    def problems(self):
        problems = []
        methods = {}
        for message in self.sent:
            methods[json.dumps(message["id"])] = message["method"]
            problems += [f"{problem}: {message}" for problem in VALIDATOR.check_request(message)]
        for frame in self.sidecar.frames:
            if "method" in frame:
                found = VALIDATOR.check_event(dict(frame))
            else:
                found = VALIDATOR.check_response(methods.get(json.dumps(frame["id"])), dict(frame))
            problems += [f"{problem}: {frame.text[:500]}" for problem in found]
        return problems


def test_every_line_of_a_mixed_session_is_in_the_document(start, server, tmp_path):
    server.on("/retried", rawserver.reply(503, [("Retry-After", "0")]), rawserver.reply(200, [], b"ok"))
    server.on("/refused", rawserver.reply(422, [("X-Why", "no")], b'{"no":1}'))
    server.on("/parked", rawserver.reply(401), rawserver.reply(204))
    server.on("/binary", rawserver.reply(200, [("Content-Type", "image/png")], b"\xff\x00\xfe" * 3000))
    server.on("/dropped", rawserver.hang_up(), rawserver.reply(200))
    gate = threading.Event()
    server.on("/held", rawserver.hold(gate))
    body = tmp_path / "body"
    body.write_bytes(b"x" * 300_000)

    sidecar = start()
    session = Session(sidecar)
    call = sidecar.call
    call("initialize", protocolVersion=1, client={"name": "tests", "version": "1"})
    assert call("rpc.discover") == json.loads((PROTOCOL / "openrpc.json").read_text(encoding="utf-8"))
    call("configure", lifetimeMs=3_600_000, retry={"backoff": {"baseMs": 50, "maxMs": 100, "jitter": 0}},
         concurrency={"total": 4, "reservedHigh": 1, "partsPerEntry": 2, "perOrigin": 4},
         timeouts={"connectMs": 5000, "stallMs": 5000, "responseMs": 5000}, http2=False, proxy=None, tls=None)
    sidecar.subscribe("state", "progress", "attempt", "settled", "group", "groupSettled", window=16)
    enqueue(sidecar, server.url("/x?secret=1"), id="plain", vars={"a": [1, None]}, data={"x": 1.50})
    enqueue(sidecar, server.url("/retried"), id="retried", vars=[1], priority="high")
    enqueue(sidecar, server.url("/refused"), id="refused", accept=[{"status": 409}])
    enqueue(sidecar, server.url("/parked"), id="parked", headers={"Authorization": "old"})
    enqueue(sidecar, server.url("/binary"), id="binary", method="PUT", file=str(body))
    enqueue(sidecar, server.url("/dropped"), id="dropped", idempotencyKey="once", form=[
        {"name": "f", "path": str(body), "contentType": "text/plain", "fileName": "b"},
        {"name": "s", "contentType": "text/plain", "string": "t"}])
    for id in ("plain", "retried", "refused", "binary", "dropped"):
        sidecar.settled(id)
    sidecar.wait_state("parked", "awaiting-auth")
    call("updateHeaders", headers={"Authorization": "new"}, origin=server.url(""))
    sidecar.settled("parked")
    enqueue(sidecar, "http://127.0.0.1:9/", id="unreached")
    sidecar.wait("an attempt", lambda frame: frame.get("method") == "attempt"
                 and frame["params"]["id"] == "unreached")
    call("getRequests", limit=2)
    call("getRequests", state="completed", key="k")
    call("retry", id="unreached")
    call("pause", keys=["k"])
    enqueue(sidecar, server.url("/held"), id="waits")
    call("cancel", id="unreached")
    call("resume", keys=["k"])
    server.wait_requests(1, "/held")
    for wrong in [("enqueue", {"id": "waits", "key": "k",
                               "request": {"url": server.url("/other"), "data": 1}}),
                  ("enqueue", {"key": "k", "request": {
                      "url": server.url("/x"), "method": "PUT", "file": str(tmp_path / "none")}})]:
        refused = sidecar.answer(sidecar.send(*wrong))
        assert refused["error"]["data"]["code"] in ("E_RUNNING", "E_FILE_MISSING")
    call("cancel", id="waits")
    call("pause", groups=["g"])
    call("enqueueAll", entries=[
        {"id": "member", "key": "k", "group": "g", "weight": 2.5, "deadlineMs": 60_000,
         "groupDeadlineMs": 60_000, "request": {"url": server.url("/x")}}])
    call("explain", group="g")
    call("getRequests", group="g")
    call("resume", groups=["g"])
    sidecar.settled("member")
    call("cancel", group="g")
    call("enqueueAll", entries=[
        {"id": "first", "key": "k", "request": {"url": server.url("/x"), "data": 1}},
        {"id": "second", "key": "k", "lane": "l",
         "bind": {"n": {"entry": "first", "header": "Content-Length"}},
         "request": {"url": server.url("/x?{n}"), "data": {"$bind": "n"}}}])
    sidecar.settled("second")
    call("setWifiOnly", wifiOnly=True)
    call("setNetwork", type="cellular", metered=True)
    enqueue(sidecar, server.url("/x"), id="wifi")
    assert [gate["gate"] for gate in call("explain", id="wifi")["gates"]] == ["network"]
    call("setNetwork", type="auto")
    call("setWifiOnly", wifiOnly=False)
    sidecar.settled("wifi")
    outcomes = {event["id"]: event for event in sidecar.events("settled")}
    call("releaseEvents", eventIds=[outcomes["plain"]["eventId"]])
    sidecar.subscribe("settled", keys=["k"])
    sidecar.wait_events("settled", 2, id="plain")
    again = enqueue(sidecar, server.url("/x?secret=1"), id="plain", data={"x": 1.50})
    assert again["disposition"] == "redelivered"
    sidecar.ack(*outcomes.values())
    call("takeDiagnostics")
    call("chunkPlan", size=50_000_000)
    stats = call("stats")
    assert stats["attempts"]["started"] >= 9
    call("unsubscribe")
    call("ping")
    gate.set()
    call("shutdown", mode="drain")
    assert sidecar.wait_exit(10) == 0
    kinds = {frame["method"] for frame in sidecar.frames if "method" in frame}
    assert kinds >= {"state", "attempt", "settled", "progress", "group", "groupSettled"}
    # Of the methods, only that of another clock is missing; it has a conversation of its own.
    assert {message["method"] for message in session.sent} | {"advanceClock"} == {
        method["name"] for method in VALIDATOR.document["methods"] if method.get("x-since") != "next"}
    assert session.problems() == []
