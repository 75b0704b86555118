"""What an attempt's result leads to: settle, retry, park, expire."""
import email.utils
import threading
import time

import pytest

from endtoend import deadline, rawserver
from endtoend.requests import FAST, enqueue

SLOW = {"backoff": {"baseMs": 600_000, "maxMs": 600_000, "jitter": 0}}


def now_ms():
    return int(time.time() * 1000)


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_b164_a_2xx_settles_completed(sidecar, server, status):
    """B164, B179: the outcome names status, url, method and attempts."""
    server.on("/x", rawserver.raw_reply(rawserver.head(status, [("Content-Length", "0")]), close=False))
    enqueue(sidecar, server.url("/x"), id="a", key="k", vars=[1], method="PUT", data=1)
    outcome = sidecar.settled("a")
    assert outcome["kind"] == outcome["state"] == "completed"
    assert outcome["response"]["status"] == status
    assert (outcome["url"], outcome["method"], outcome["attempts"], outcome["deliveries"]) == (
        server.url("/x"), "PUT", 1, 1)
    assert (outcome["key"], outcome["vars"], outcome["generation"]) == ("k", [1], 1)
    assert "error" not in outcome and "cancelReason" not in outcome


@pytest.mark.parametrize("status", [300, 400, 402, 405, 409, 410, 413, 422, 423, 425])
def test_a_retry_07_terminal_statuses_settle_after_one_request(sidecar, server, status):
    """A-RETRY-07, B164, B187, D13: error http with the response attached; one request."""
    server.on("/x", rawserver.reply(status, [("X-Why", "no")], b"because"))
    enqueue(sidecar, server.url("/x"), id="a")
    outcome = sidecar.settled("a")
    assert (outcome["kind"], outcome["error"]["errorKind"]) == ("error", "http")
    assert outcome["error"]["response"]["status"] == status
    assert outcome["error"]["response"]["headers"]["x-why"] == "no"
    assert outcome["error"]["response"]["body"] == "because"
    assert str(status) in outcome["error"]["message"]
    server.quiet(0.3)
    assert len(server.seen()) == 1


def test_d13_an_answer_without_a_body_is_terminal_too(sidecar, server):
    """D13: 304 is terminal http unless it is accepted."""
    server.on("/x", rawserver.raw_reply(rawserver.head(304, [("ETag", "e")]), close=False))
    enqueue(sidecar, server.url("/x"), id="a")
    assert sidecar.settled("a")["error"]["response"]["status"] == 304


@pytest.mark.parametrize("status", [404, 408, 429, 500, 501, 502, 503, 504, 599])
def test_a_retry_07_transient_statuses_are_tried_again(sidecar, server, status):
    """A-RETRY-07, B164: repeated until something else comes; the attempts say what came."""
    server.on("/x", rawserver.reply(status), rawserver.reply(status), rawserver.reply())
    enqueue(sidecar, server.url("/x"), id="a")
    assert sidecar.settled("a")["attempts"] == 3
    attempts = sidecar.events("attempt")
    assert [(event["outcome"], event["httpCode"], event.get("errorKind")) for event in attempts] == [
        ("error", status, "http"), ("error", status, "http"), ("completed", 200, None)]


def test_b192_404_is_terminal_when_nothing_is_exempt(sidecar, server):
    """B192: by the descriptor, and by configure."""
    server.on("/x", rawserver.reply(404))
    enqueue(sidecar, server.url("/x"), id="a", retry={"terminalHttp": {"exempt": []}})
    assert sidecar.settled("a")["error"]["response"]["status"] == 404
    sidecar.call("configure", retry={"backoff": FAST, "terminalHttp": {"exempt": []}})
    sidecar.call("enqueue", id="b", key="k", request={"url": server.url("/x")})
    assert sidecar.settled("b")["attempts"] == 1


@pytest.mark.parametrize("rule, body, kind", [
    ({"status": 409}, b"whatever", "completed"),
    ({"status": 409, "bodyIncludes": "already done"}, b"it is already done.", "completed"),
    ({"status": 409, "bodyIncludes": "already done"}, b"no", "error"),
    ({"status": 410}, b"already done", "error")])
def test_b191_accept_rules(sidecar, server, rule, body, kind):
    """B191, D11: status, and the text where one is given."""
    server.on("/x", rawserver.reply(409, body=body))
    enqueue(sidecar, server.url("/x"), id="a", accept=[rule])
    outcome = sidecar.settled("a")
    assert outcome["kind"] == kind
    if kind == "completed":
        assert outcome["response"]["status"] == 409


def test_b191_an_accept_rule_goes_before_parking(sidecar, server):
    """D11: judged before 401, and a 3xx can be accepted (D13)."""
    server.on("/x", rawserver.reply(401))
    server.on("/y", rawserver.reply(304))
    enqueue(sidecar, server.url("/x"), id="a", accept=[{"status": 401}])
    enqueue(sidecar, server.url("/y"), id="b", accept=[{"status": 304}])
    assert sidecar.settled("a")["kind"] == sidecar.settled("b")["kind"] == "completed"


@pytest.mark.parametrize("rules, requests", [
    ([{"status": 409, "maxRetries": 3}], 4), ([{"status": 409, "maxRetries": 0}], 1),
    ([{"status": 409, "bodyIncludes": "busy", "maxRetries": 2}], 3),
    ([{"status": 409, "bodyIncludes": "other"}], 1),
    ([{"status": 409, "maxRetries": 1}, {"status": 409}], 2)])
def test_b298_transient_rules_have_a_cap(sidecar, server, rules, requests):
    """B298, D17: the cap counts retries, the first match wins."""
    server.on("/x", rawserver.reply(409, body=b"busy"))
    enqueue(sidecar, server.url("/x"), id="a", retry={"transient": rules})
    assert sidecar.settled("a")["attempts"] == requests
    server.quiet(0.3)
    assert len(server.seen()) == requests


def test_b298_a_rule_shadows_exempt_and_counts_survive_a_restart(start, server):
    """B298: 404 with a rule settles past its cap; the count is kept on disk."""
    server.on("/x", rawserver.reply(404))
    rules = {"transient": [{"status": 404, "maxRetries": 3}], "backoff": {**FAST, "baseMs": 200}}
    first = start()
    enqueue(first, server.url("/x"), id="a", retry=rules)
    server.wait_requests(2)
    first.kill()
    second = start()
    second.subscribe()
    second.settled("a")
    # The kill may have cut off an answer; that attempt then counted as none of the rule's.
    assert len(server.seen()) in (4, 5)


def test_b168_the_backoff_doubles_up_to_its_most(sidecar, server):
    """B168, D15: base, twice, four times, then the most; nextAttemptAt tells."""
    server.on("/x", *[rawserver.reply(503)] * 4, rawserver.reply())
    backoff = {"baseMs": 100, "maxMs": 400, "jitter": 0}
    enqueue(sidecar, server.url("/x"), id="a", retry={"backoff": backoff})
    sidecar.settled("a")
    times = [request.at for request in server.seen()]
    waits = [later - earlier for earlier, later in zip(times, times[1:])]
    for wait, least in zip(waits, [0.1, 0.2, 0.4, 0.4]):
        assert wait >= least - 0.01, waits
    queued = [row for row in sidecar.events("state", id="a", state="queued") if "nextAttemptAt" in row]
    assert [row["nextAttemptAt"] - row["updatedAt"] for row in queued] == [100, 200, 400, 400]


def retry_after(seconds):
    return email.utils.formatdate(time.time() + seconds, usegmt=True)


def planned_wait(sidecar, id):
    """The wait in ms that the row showed when the entry went back into the queue."""
    row = sidecar.wait("a row in backoff", lambda frame: frame.get("method") == "state"
                       and frame["params"]["id"] == id and "nextAttemptAt" in frame["params"])["params"]
    return row["nextAttemptAt"] - row["updatedAt"]


@pytest.mark.parametrize("value, least, most", [
    ("1", 1000, 1000), (lambda: retry_after(2), 500, 2000),
    ("Wed, 21 Oct 2015 07:28:00 GMT", 50, 50), ("-5", 50, 50), ("soon", 50, 50), ("0", 50, 50)])
def test_a_retry_01_a_retry_02_retry_after_is_waited_for(sidecar, server, value, least, most):
    """A-RETRY-01, A-RETRY-02, D14: seconds or a date; what is past or unreadable counts as absent."""
    def step(exchange):
        exchange.read_body()
        exchange.answer(503, [("Retry-After", value() if callable(value) else value)])
    server.on("/x", step, rawserver.reply())
    backoff = {"baseMs": 50, "maxMs": 60_000, "jitter": 0}
    enqueue(sidecar, server.url("/x"), id="a", retry={"backoff": backoff})
    sidecar.settled("a")
    first, second = server.seen()
    wait = planned_wait(sidecar, "a")
    assert least <= wait <= most
    assert second.at - first.at >= wait / 1000 - 0.01


@pytest.mark.parametrize("value", ["99999999999999999999", "86400"])
def test_a_retry_02_retry_after_is_capped(sidecar, server, value):
    """A-RETRY-02, D14: at backoff.maxMs."""
    server.on("/x", rawserver.reply(429, [("Retry-After", value)]), rawserver.reply())
    enqueue(sidecar, server.url("/x"), id="a", retry={"backoff": {"baseMs": 50, "maxMs": 300, "jitter": 0}})
    sidecar.settled("a")
    first, second = server.seen()
    assert planned_wait(sidecar, "a") == 300
    assert second.at - first.at >= 0.29


def test_a_auth_01_each_401_parks_and_each_update_sends_once(sidecar, server):
    """A-AUTH-01, B251: 1 + 3 requests, 4 park transitions, none by a timer."""
    server.on("/x", rawserver.reply(401))
    enqueue(sidecar, server.url("/x"), id="a", headers={"authorization": "t0"})
    for number in range(1, 4):
        sidecar.wait_events("state", number, id="a", state="awaiting-auth")
        server.quiet(0.3)
        sidecar.call("updateHeaders", headers={"Authorization": f"t{number}"})
    sidecar.wait_events("state", 4, id="a", state="awaiting-auth")
    server.quiet(0.5)
    assert [request.values("authorization") for request in server.seen()] == [["t0"], ["t1"], ["t2"], ["t3"]]
    assert len(sidecar.events("state", id="a", state="awaiting-auth")) == 4
    assert sidecar.events("settled") == []


@pytest.mark.parametrize("status", [401, 403])
def test_a_auth_02_a_401_for_an_old_token_is_sent_again_at_once(sidecar, server, status):
    """A-AUTH-02, B252: no park, no backoff."""
    gate = threading.Event()
    server.on("/x", rawserver.hold(gate, rawserver.reply(status)), rawserver.reply())
    enqueue(sidecar, server.url("/x"), id="a", headers={"Authorization": "old"}, retry=SLOW)
    server.wait_requests(1)
    sidecar.call("updateHeaders", headers={"Authorization": "new"})
    gate.set()
    assert sidecar.settled("a", seconds=5)["attempts"] == 2
    assert server.seen()[1].values("authorization") == ["new"]
    assert sidecar.events("state", state="awaiting-auth") == []


def test_d7_a_401_for_the_headers_before_a_same_id_call_is_sent_again_at_once(sidecar, server):
    """D7: fresh headers of a same-id enqueue count like an update."""
    gate = threading.Event()
    server.on("/x", rawserver.hold(gate, rawserver.reply(401)), rawserver.reply())
    enqueue(sidecar, server.url("/x"), id="a", headers={"Authorization": "old"}, data=1, retry=SLOW)
    server.wait_requests(1)
    enqueue(sidecar, server.url("/x"), id="a", headers={"Authorization": "new"}, data=1, retry=SLOW)
    gate.set()
    assert sidecar.settled("a", seconds=5)["attempts"] == 2
    assert server.seen()[1].values("authorization") == ["new"]


def test_a_auth_03_many_parked_entries_resume_together(sidecar, server):
    """A-AUTH-03: 300 parked, one update: each sent once more, one park event each."""
    def step(exchange):
        exchange.read_body()
        exchange.answer(200 if exchange.request.header("authorization") == "new" else 401)
    server.on("/x", step)
    # A smaller window could fill up with others while one is waited for.
    sidecar.subscribe(window=1024)
    ids = [sidecar.send("enqueue", {"id": str(n), "key": "k", "request": {
        "url": server.url("/x"), "headers": {"Authorization": "old"}}}) for n in range(300)]
    for id in ids:
        sidecar.result(id)
    sidecar.wait_events("state", 300, seconds=60, state="awaiting-auth")
    sidecar.call("updateHeaders", headers={"Authorization": "new"})
    for n in range(300):
        sidecar.ack(sidecar.settled(str(n), seconds=60))
    assert len(server.seen()) == 600
    assert len(sidecar.events("state", state="awaiting-auth")) == 300


def test_updates_can_be_limited_to_keys_and_an_origin(sidecar, server, another_server):
    """D38: only covered entries get the header and go on."""
    for path in ("/a", "/b"):
        server.on(path, rawserver.reply(401))
    another_server.on("/c", rawserver.reply(401))
    enqueue(sidecar, server.url("/a"), id="a", key="one")
    enqueue(sidecar, server.url("/b"), id="b", key="two")
    enqueue(sidecar, another_server.url("/c"), id="c", key="one")
    sidecar.wait_events("state", 3, state="awaiting-auth")
    server.on("/a", rawserver.reply())
    sidecar.call("updateHeaders", headers={"X-T": "1"}, keys=["one"], origin=server.url(""))
    assert sidecar.settled("a")["kind"] == "completed"
    server.quiet(0.3, "/b")
    another_server.quiet(0.1)
    assert (len(server.seen("/b")), len(another_server.seen())) == (1, 1)
    assert server.seen("/a")[1].values("x-t") == ["1"]


def test_b194_an_entry_past_its_deadline_is_not_sent(sidecar, server):
    """B194, D4: settles expired without a request."""
    enqueue(sidecar, server.url("/x"), id="a", expiresAt=now_ms() - 1)
    outcome = sidecar.settled("a")
    assert (outcome["kind"], outcome["error"]["errorKind"], outcome["attempts"]) == ("error", "expired", 0)
    assert server.seen() == [] and "requestId" not in outcome


def test_b196_a_waiting_entry_expires_at_its_deadline_and_not_before(sidecar, server):
    """B196, D4: in backoff, and parked (B199)."""
    server.on("/x", rawserver.reply(503))
    server.on("/y", rawserver.reply(401))
    expires = now_ms() + 1500
    enqueue(sidecar, server.url("/x"), id="a", expiresAt=expires, retry=SLOW)
    enqueue(sidecar, server.url("/y"), id="b", expiresAt=expires)
    for id in ("a", "b"):
        outcome = sidecar.settled(id)
        assert outcome["error"]["errorKind"] == "expired"
        assert expires <= outcome["at"] < expires + 10_000


@pytest.mark.parametrize("status, kind", [(200, None), (400, "http"), (503, "expired")])
def test_b197_expiry_never_interrupts_an_attempt(sidecar, server, status, kind):
    """B197, B167, D4: a 2xx after the deadline completes, 400 stays http, only a transient result expires."""
    gate = threading.Event()
    server.on("/x", rawserver.hold(gate, rawserver.reply(status)))
    expires = now_ms() + 1500
    enqueue(sidecar, server.url("/x"), id="a", expiresAt=expires)
    server.wait_requests(1)
    deadline.until("the deadline is past", lambda: now_ms() > expires + 200)
    assert sidecar.events("settled") == []
    gate.set()
    outcome = sidecar.settled("a")
    assert outcome.get("error", {}).get("errorKind") == kind
    assert len(server.seen()) == 1


def test_a_retry_09_a_restart_keeps_the_backoff(start, server):
    """A-RETRY-09, D15: no request at the start, nextAttemptAt unchanged."""
    server.on("/x", rawserver.reply(503))
    first = start()
    for number in range(4):
        enqueue(first, server.url("/x"), id=str(number), retry=SLOW)
    server.wait_requests(4)
    for number in range(4):
        first.wait_state(str(number), "queued")
    before = {row["id"]: row["nextAttemptAt"] for row in first.rows()}
    first.kill()
    second = start()
    second.call("ping")
    server.quiet(1)
    for row in second.rows():
        assert abs(row["nextAttemptAt"] - before.pop(row["id"])) <= 50
    assert before == {}


def test_a_deliv_07_failures_are_told_by_their_kind(sidecar, server):
    """A-DELIV-07: a refused connection is network, with words, and never a cancel."""
    enqueue(sidecar, "http://127.0.0.1:9/", id="a", expiresAt=now_ms() + 2000)
    outcome = sidecar.settled("a")
    assert (outcome["kind"], outcome["error"]["errorKind"]) == ("error", "expired")
    attempts = sidecar.events("attempt", id="a")
    assert attempts and all(event["errorKind"] == "network" and event["errorMessage"] for event in attempts)
    assert all("httpCode" not in event for event in attempts)


def test_d15_a_backoff_that_ends_while_the_disk_is_slow_is_not_forgotten(start, server):
    """D15: each sync takes longer than the backoff; the retry follows though nothing else wakes us."""
    server.on("/x", rawserver.reply(503), rawserver.reply(503), rawserver.reply())
    sidecar = start(under=["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync,fdatasync",
                           "-e", "inject=fsync,fdatasync:delay_exit=200000"])
    sidecar.subscribe("settled")
    enqueue(sidecar, server.url("/x"), id="a")
    assert sidecar.settled("a")["attempts"] == 3
