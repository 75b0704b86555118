"""The call `enqueue`: what it answers, what it refuses, and what a known id means."""
import re
import threading

import pytest

from endtoend import rawserver
from endtoend.frames import RPCError
from endtoend.requests import enqueue

URL = "http://127.0.0.1:9/"
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def test_the_answer_holds_id_generation_disposition_and_row(sidecar):
    """Section 2: enqueue."""
    sidecar.call("pause")
    told = enqueue(sidecar, URL, id="a", key="note", vars={"n": None}, data={"x": 1})
    row = told["row"]
    assert (told["id"], told["generation"], told["disposition"]) == ("a", 1, "created")
    assert (row["id"], row["key"], row["vars"], row["state"]) == ("a", "note", {"n": None}, "paused")
    assert (row["bytesSent"], row["totalBytes"], row["attempts"]) == (0, len('{"x": 1}'), 0)
    assert "nextAttemptAt" not in row and row["updatedAt"] > 1_600_000_000_000
    assert sidecar.rows() == [row]


def test_b12_an_id_is_made_where_none_is_given(sidecar):
    """B12: a version 4 UUID, each time another; vars are then null."""
    sidecar.call("pause")
    told = [enqueue(sidecar, URL) for _ in range(20)]
    assert all(UUID.fullmatch(answer["id"]) for answer in told)
    assert len({answer["id"] for answer in told}) == 20
    assert told[0]["row"]["vars"] is None


@pytest.mark.parametrize("fields, path", [
    ({"method": "TRACE"}, "request.method"), ({"method": "get"}, "request.method"),
    ({"method": "GET", "data": 1}, "request.data"), ({"method": "GET", "file": "/etc/hosts"}, "request.file"),
    ({"data": 1, "form": [{"name": "a", "contentType": "t/p", "string": "s"}]}, "request"),
    ({"data": 1, "file": "/etc/hosts"}, "request"), ({"form": []}, "request.form"),
    ({"headers": []}, "request.headers"), ({"accept": {}}, "request.accept"),
    ({"accept": [{"status": "409"}]}, "request.accept[0].status"),
    ({"accept": [{"status": 99}]}, "request.accept[0].status"),
    ({"accept": [{"bodyIncludes": "x"}]}, "request.accept[0].status"),
    ({"accept": [{"status": 409, "body": "x"}]}, "request.accept[0].body"),
    ({"expiresAt": 0}, "request.expiresAt"), ({"expiresAt": -1}, "request.expiresAt"),
    ({"expiresAt": 1.5}, "request.expiresAt"), ({"expiresAt": "now"}, "request.expiresAt"),
    ({"wifiOnly": None}, "request.wifiOnly"), ({"wifiOnly": "yes"}, "request.wifiOnly"),
    ({"priority": "low"}, "request.priority"), ({"idempotencyKey": True}, "request.idempotencyKey"),
    ({"retry": []}, "request.retry"),
    ({"retry": {"backoff": {"baseMs": 1, "maxMs": 2}}}, "request.retry.backoff.jitter"),
    ({"retry": {"backoff": {"baseMs": 5, "maxMs": 2, "jitter": 0}}}, "request.retry.backoff.maxMs"),
    ({"retry": {"backoff": {"baseMs": 1, "maxMs": 2, "jitter": 2}}}, "request.retry.backoff.jitter"),
    ({"retry": {"terminalHttp": {"exempt": [500]}}}, "request.retry.terminalHttp.exempt[0]"),
    ({"retry": {"transient": [{"status": 409}, {"status": 401}]}}, "request.retry.transient[1].status"),
    ({"retry": {"transient": [{"status": 500}]}}, "request.retry.transient[0].status"),
    ({"retry": {"transient": [{"status": 409, "maxRetries": -1}]}}, "request.retry.transient[0].maxRetries"),
    ({"timeouts": {"stallMs": 0}}, "request.timeouts.stallMs"),
    ({"staging": "steal"}, "request.staging"), ({"android": {}}, "request.android"),
    ({"urls": 1}, "request.urls"),
])
def test_b31_to_b46_descriptors_that_cannot_be_sent_are_refused(sidecar, fields, path):
    """B31, B34, B39, B40, B42, B43, B44, B46, B301, D17: refused with the path; nothing is kept."""
    with pytest.raises(RPCError) as refused:
        sidecar.call("enqueue", key="k", request={"url": URL, **fields})
    assert (refused.value.number, refused.value.code, refused.value.path) == (-32602, "E_INVALID", path)
    assert sidecar.rows() == []


@pytest.mark.parametrize("name", ["id", "key"])
@pytest.mark.parametrize("value, fits", [
    ("", False), ("x" * 256, True), ("x" * 257, False), ("é" * 128, True), ("é" * 129, False),
    ("a/b:..\u0000\U0001f600", True)])
def test_d10_ids_and_keys_are_1_to_256_bytes(sidecar, name, value, fits):
    """D10: bytes of UTF-8, any of them; no file name derives from an id."""
    sidecar.call("pause")
    params = {"id": "i", "key": "k", "request": {"url": URL}, name: value}
    if fits:
        assert sidecar.call("enqueue", **params)["row"][name] == value
        assert [row[name] for row in sidecar.rows()] == [value]
    else:
        with pytest.raises(RPCError) as refused:
            sidecar.call("enqueue", **params)
        assert (refused.value.code, refused.value.path) == ("E_INVALID", name)


def test_d10_ids_are_compared_byte_by_byte(sidecar):
    """D10: two spellings of one letter are two ids."""
    sidecar.call("pause")
    for id in ("\u00e9", "e\u0301"):
        assert enqueue(sidecar, URL, id=id)["disposition"] == "created"
    assert len(sidecar.rows()) == 2
    assert sidecar.row("e\u0301")["id"] == "e\u0301"


def test_vars_over_their_limit_are_refused(sidecar):
    """Section 1: vars have at most 8 MiB."""
    sidecar.call("pause")
    limit = 8 * 1024 * 1024
    assert enqueue(sidecar, URL, id="a", vars=["x" * (limit - 4)])["disposition"] == "created"
    with pytest.raises(RPCError) as refused:
        enqueue(sidecar, URL, id="b", vars=["x" * (limit - 3)])
    assert (refused.value.code, refused.value.path) == ("E_INVALID", "vars")


@pytest.mark.parametrize("vars", ["text", 5, True])
def test_b20_vars_are_an_object_an_array_or_null(sidecar, vars):
    """B20."""
    with pytest.raises(RPCError) as refused:
        enqueue(sidecar, URL, vars=vars)
    assert (refused.value.code, refused.value.path) == ("E_INVALID", "vars")


def test_a_queue_07_the_same_body_while_it_runs_changes_metadata_only(sidecar, server):
    """A-QUEUE-07 (1), B211, D5: one request; JSON compares as a value, whatever its order and spacing."""
    gate = threading.Event()
    server.on("/x", rawserver.hold(gate))
    enqueue(sidecar, server.url("/x"), id="a", data={"p": 1, "q": [2]})
    server.wait_requests(1)
    told = enqueue(sidecar, server.url("/x"), id="a", data={"q": [2], "p": 1}, vars={"new": True})
    assert (told["disposition"], told["generation"]) == ("resumed", 1)
    gate.set()
    outcome = sidecar.settled("a")
    assert (outcome["vars"], outcome["attempts"]) == ({"new": True}, 1)
    assert len(server.seen()) == 1


@pytest.mark.parametrize("change", [{"data": 2}, {"method": "PUT"}, {"path": "/y"}])
def test_a_queue_07_another_body_while_it_runs_is_refused(sidecar, server, change):
    """A-QUEUE-07 (2), B213, B214: E_RUNNING for another body, method or url; the entry is unchanged."""
    gate = threading.Event()
    server.on("/x", rawserver.hold(gate))
    enqueue(sidecar, server.url("/x"), id="a", data=1, vars={"old": 1})
    server.wait_requests(1)
    fields = {"data": 1, **change}
    with pytest.raises(RPCError) as refused:
        enqueue(sidecar, server.url(fields.pop("path", "/x")), id="a", vars={"new": 1}, **fields)
    assert (refused.value.number, refused.value.code) == (1001, "E_RUNNING")
    gate.set()
    assert sidecar.settled("a")["vars"] == {"old": 1}
    assert len(server.seen()) == 1


def test_b188_b221_the_same_body_after_an_error_reopens_the_entry(sidecar, server):
    """B188, B221: generation + 1, attempts from 0, one more outcome."""
    server.on("/x", rawserver.reply(400), rawserver.reply())
    enqueue(sidecar, server.url("/x"), id="a", data=1)
    sidecar.settled("a")
    told = enqueue(sidecar, server.url("/x"), id="a", data=1)
    assert (told["disposition"], told["generation"]) == ("reopened", 2)
    assert sidecar.settled("a", 2)["attempts"] == 1


def test_a_queue_07_another_body_after_an_error_takes_its_place(sidecar, server):
    """A-QUEUE-07 (3), B217, A-RETRY-08: the new body goes out at once; one more outcome, attempts from 0."""
    server.on("/x", rawserver.reply(413), rawserver.reply())
    enqueue(sidecar, server.url("/x"), id="a", data=1)
    first = sidecar.settled("a")
    told = enqueue(sidecar, server.url("/x"), id="a", data=2)
    assert (told["disposition"], told["generation"]) == ("replaced", 2)
    second = sidecar.settled("a", 2)
    assert (first["kind"], second["kind"], second["attempts"]) == ("error", "completed", 1)
    assert second["generation"] == 2 and second["eventId"] != first["eventId"]
    assert [request.body for request in server.seen()] == [b"1", b"2"]


def test_b216_another_body_while_it_waits_replaces_it(sidecar, server):
    """B216, D2: an entry in backoff is queued, so a different body replaces it."""
    server.on("/x", rawserver.reply(503), rawserver.reply())
    slow = {"backoff": {"baseMs": 60_000, "maxMs": 60_000, "jitter": 0}}
    enqueue(sidecar, server.url("/x"), id="a", data=1, retry=slow)
    sidecar.event("attempt", id="a")
    row = sidecar.wait_state("a", "queued")
    assert row["nextAttemptAt"] > row["updatedAt"]
    told = enqueue(sidecar, server.url("/x"), id="a", data=2)
    assert (told["disposition"], told["generation"]) == ("replaced", 2)
    assert sidecar.settled("a")["generation"] == 2
    assert [request.body for request in server.seen()] == [b"1", b"2"]


def test_b212_the_same_body_while_it_waits_runs_now(sidecar, server):
    """B212: the backoff is cleared, the attempts go on counting, the new headers go out."""
    server.on("/x", rawserver.reply(503), rawserver.reply())
    slow = {"backoff": {"baseMs": 60_000, "maxMs": 60_000, "jitter": 0}}
    enqueue(sidecar, server.url("/x"), id="a", data=1, retry=slow, headers={"X-A": "1"})
    sidecar.event("attempt", id="a")
    told = enqueue(sidecar, server.url("/x"), id="a", data=1, headers={"X-A": "2"})
    assert told["disposition"] == "resumed"
    assert sidecar.settled("a")["attempts"] == 2
    assert [request.header("x-a") for request in server.seen()] == ["1", "2"]


def test_b218_d8_a_completed_entry_delivers_its_outcome_again(sidecar, server):
    """B218, D8: nothing runs; deliveries 2; after the acknowledgement the id is new."""
    enqueue(sidecar, server.url("/x"), id="a", data=1, vars={"v": 1})
    first = sidecar.settled("a")
    told = enqueue(sidecar, server.url("/x"), id="a", data=1, vars={"v": 2})
    assert (told["disposition"], told["generation"]) == ("redelivered", 1)
    second = sidecar.settled("a", 2)
    assert (first["deliveries"], second["deliveries"]) == (1, 2)
    assert (second["eventId"], second["vars"]) == (first["eventId"], {"v": 1})
    sidecar.ack(second)
    assert enqueue(sidecar, server.url("/x"), id="a", data=2)["disposition"] == "created"
    sidecar.settled("a", 3)
    assert [request.body for request in server.seen()] == [b"1", b"2"]


def test_b220_a_cancelled_entry_starts_a_fresh_generation(sidecar, server):
    """B220: the old outcome's acknowledgement forgets nothing of the new one."""
    sidecar.call("pause")
    enqueue(sidecar, server.url("/x"), id="a", data=1)
    sidecar.call("cancel", id="a")
    old = sidecar.settled("a")
    told = enqueue(sidecar, server.url("/x"), id="a", data=1)
    assert told["generation"] == 2
    sidecar.ack(old)
    assert sidecar.row("a")["state"] == "paused"
    sidecar.call("resume")
    assert sidecar.settled("a", 2)["kind"] == "completed"


def test_a_queue_08_the_same_content_under_two_ids_is_sent_twice(sidecar, server, tmp_path):
    """A-QUEUE-08."""
    body = tmp_path / "body"
    body.write_bytes(bytes(100_000))
    for id in ("1", "2"):
        enqueue(sidecar, server.url("/x"), id=id, method="PUT", file=str(body), headers={"X-M": id})
    for id in ("1", "2"):
        assert sidecar.settled(id)["kind"] == "completed"
    assert sorted(request.header("x-m") for request in server.seen()) == ["1", "2"]


def test_d6_another_key_moves_the_entry(sidecar, server):
    """D6, B225: onto a paused key its attempt stops; off it, it runs."""
    gate = threading.Event()
    server.on("/x", rawserver.hold(gate), rawserver.reply())
    sidecar.call("pause", keys=["stop"])
    enqueue(sidecar, server.url("/x"), id="a", key="go", data=1)
    held = server.wait_requests(1)[0]
    assert enqueue(sidecar, server.url("/x"), id="a", key="stop", data=1)["row"]["state"] == "paused"
    assert held.connection.closed.wait(5)
    enqueue(sidecar, server.url("/x"), id="a", key="go", data=1)
    outcome = sidecar.settled("a")
    assert (outcome["key"], outcome["kind"], len(server.seen())) == ("go", "completed", 2)


def test_requests_about_one_id_take_effect_in_their_order(sidecar, server, tmp_path):
    """Section 1: while an enqueue stages its body, a later cancel of its id waits for it."""
    body = tmp_path / "body"
    body.write_bytes(bytes(50_000_000))
    sidecar.call("pause")
    first = sidecar.send("enqueue", {"id": "a", "key": "k", "request": {
        "url": server.url("/x"), "method": "PUT", "file": str(body)}})
    second = sidecar.send("cancel", {"id": "a"})
    assert sidecar.result(first)["disposition"] == "created"
    assert sidecar.result(second) == {}
    assert sidecar.settled("a")["kind"] == "cancelled"


@pytest.mark.parametrize("params, ranges", [
    ({"size": 0}, [(0, 0)]), ({"size": 1}, [(0, 1)]), ({"size": 25, "min": 8, "max": 20}, [(0, 25)]),
    ({"size": 28, "min": 8, "max": 20}, [(0, 20), (20, 28)]),
    ({"size": 27, "min": 8, "max": 20}, [(0, 27)]), ({"size": 40, "min": 8, "max": 20}, [(0, 20), (20, 40)]),
    ({"size": 47, "min": 8, "max": 20}, [(0, 20), (20, 47)]),
    ({"size": 50 * 2**20}, [(0, 20 * 2**20), (20 * 2**20, 40 * 2**20), (40 * 2**20, 50 * 2**20)])])
def test_b100_chunk_plan_is_greedy_and_absorbs_a_small_rest(sidecar, params, ranges):
    """B100 to B104, D9."""
    told = sidecar.call("chunkPlan", **params)["ranges"]
    assert [(range["start"], range["end"]) for range in told] == ranges


@pytest.mark.parametrize("params, path", [
    ({"size": -1}, "size"), ({"size": 1.5}, "size"), ({}, "size"), ({"size": 1, "min": 0}, "min"),
    ({"size": 1, "min": 9, "max": 8}, "max")])
def test_b105_chunk_plan_refuses_what_has_no_plan(sidecar, params, path):
    """B105, B106."""
    with pytest.raises(RPCError) as refused:
        sidecar.call("chunkPlan", **params)
    assert (refused.value.code, refused.value.path) == ("E_INVALID", path)
