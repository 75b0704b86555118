"""Answers that come early, cut, late or odd."""
import gzip
import threading
import time

import pytest

from endtoend import rawserver
from endtoend.requests import enqueue


@pytest.fixture
def large(tmp_path):
    path = tmp_path / "large"
    with open(path, "wb") as out:
        out.truncate(20_000_000)
    return str(path)


def test_a_early_01_a_refusal_before_the_body_is_read_is_the_answer(sidecar, server, large):
    """A-EARLY-01, D12: 1 request, error http 413, within 5 s."""
    server.on("/x", rawserver.early(413, body=b"too large"))
    started = time.monotonic()
    enqueue(sidecar, server.url("/x"), id="a", method="PUT", file=large)
    outcome = sidecar.settled("a")
    assert (outcome["error"]["errorKind"], outcome["error"]["response"]["status"]) == ("http", 413)
    assert time.monotonic() - started < 5
    assert len(server.seen()) == 1


def test_a_early_02_a_401_before_the_body_is_read_parks_and_spoils_no_connection(sidecar, server, large):
    """A-EARLY-02: the next request arrives well-formed (the server checks each head)."""
    def step(exchange):
        exchange.answer(401)
        exchange.read_body()
    server.on("/x", step)
    enqueue(sidecar, server.url("/x"), id="a", method="PUT", file=large)
    sidecar.wait_state("a", "awaiting-auth")
    enqueue(sidecar, server.url("/y"), id="b", data=1)
    assert sidecar.settled("b")["kind"] == "completed"
    assert server.seen("/y")[0].body == b"1"


def test_a_early_03_a_server_that_ignores_expect_costs_no_wait(sidecar, server, tmp_path):
    """A-EARLY-03, D23: the body begins within 200 ms of the head; a wait for 100 would take a second."""
    body = tmp_path / "body"
    body.write_bytes(bytes(2_000_000))
    waits = []

    def step(exchange):
        exchange.read_body(1)
        waits.append(time.monotonic() - exchange.request.at)
        exchange.read_body()
        exchange.answer()
    server.on("/x", step)
    for number in range(5):
        enqueue(sidecar, server.url("/x"), id=str(number), method="PUT", file=str(body))
        sidecar.settled(str(number))
    # The machine may be slow once; a wait of our own would come each time.
    assert sorted(waits)[1] < 0.2
    assert all(request.values("expect") == [] for request in server.seen())


def test_a_early_04_interim_answers_are_not_the_answer(sidecar, server):
    """A-EARLY-04, D13: status and headers are those of the final answer."""
    hint = rawserver.head(103, [("X-A", "hint")])
    final = rawserver.head(201, [("X-A", "final"), ("Content-Length", "0")])
    server.on("/x", rawserver.raw_reply(hint + hint + rawserver.head(100) + final, close=False))
    enqueue(sidecar, server.url("/x"), id="a")
    outcome = sidecar.settled("a")
    assert (outcome["response"]["status"], outcome["response"]["headers"]["x-a"]) == (201, "final")
    assert [event["httpCode"] for event in sidecar.events("attempt")] == [201]


def test_a_early_05_an_interim_answer_and_the_end_is_a_network_failure(sidecar, server):
    """A-EARLY-05, D13."""
    server.on("/x", rawserver.raw_reply(rawserver.head(103, [("X-A", "hint")])), rawserver.reply())
    enqueue(sidecar, server.url("/x"), id="a")
    assert sidecar.settled("a")["attempts"] == 2
    first = sidecar.events("attempt")[0]
    assert first["errorKind"] == "network" and "httpCode" not in first


def test_a_early_06_a_2xx_before_the_body_went_out_does_not_count(sidecar, server, large):
    """A-EARLY-06, D12: transient; completed once the server reads all."""
    server.on("/x", rawserver.early(200, linger=0.2), rawserver.reply())
    enqueue(sidecar, server.url("/x"), id="a", method="PUT", file=large)
    outcome = sidecar.settled("a")
    assert (outcome["kind"], outcome["attempts"]) == ("completed", 2)
    assert server.seen()[1].body_length == 20_000_000
    assert sidecar.events("attempt")[0]["outcome"] == "error"


@pytest.mark.parametrize("data, body", [
    (rawserver.head(204), None), (rawserver.head(200, [("Content-Length", "0")]), ""),
    (rawserver.head(200) + b'{"a":1}', '{"a":1}'),
    (rawserver.head(200, [("Transfer-Encoding", "chunked")]) + b'3\r\n{"a\r\n4\r\n":1}\r\n0\r\n\r\n',
     '{"a":1}')])
def test_a_resp_01_every_framing_of_an_answer_is_read_at_once(sidecar, server, data, body):
    """A-RESP-01: no body, length 0, until close, chunked; completed without a wait for more."""
    server.on("/x", rawserver.raw_reply(data))
    started = time.monotonic()
    enqueue(sidecar, server.url("/x"), id="a")
    response = sidecar.settled("a")["response"]
    assert time.monotonic() - started < 5
    assert (response.get("body") or None, response["bodyTruncated"]) == (body or None, False)


def test_a_resp_02_a_cut_2xx_is_tried_again(sidecar, server):
    """A-RESP-02, D11: attempt network; the whole answer completes it."""
    cut = rawserver.head(200, [("Content-Length", "100")]) + b'{"a":1,"b"'
    server.on("/x", rawserver.raw_reply(cut), rawserver.reply(body=b'{"a":1}'))
    enqueue(sidecar, server.url("/x"), id="a")
    outcome = sidecar.settled("a")
    assert (outcome["attempts"], outcome["response"]["body"]) == (2, '{"a":1}')
    assert sidecar.events("attempt")[0]["errorKind"] == "network"


def test_d12_a_2xx_that_is_cut_five_times_in_a_row_counts(sidecar, server):
    """D12: completed with that status and bodyTruncated; an accepted POST is not repeated for days."""
    cut = rawserver.head(200, [("Content-Length", "100")]) + b"partly"
    server.on("/x", rawserver.raw_reply(cut))
    enqueue(sidecar, server.url("/x"), id="a", data=1)
    outcome = sidecar.settled("a")
    assert (outcome["kind"], outcome["attempts"]) == ("completed", 5)
    assert (outcome["response"]["status"], outcome["response"]["bodyTruncated"]) == (200, True)
    server.quiet(0.4)


@pytest.mark.parametrize("size, truncated", [(1 << 20, False), ((1 << 20) + 1, True), (5 << 20, True)])
def test_a_resp_03_a_body_over_the_cap_is_cut_and_not_fetched_again(sidecar, server, size, truncated):
    """A-RESP-03, D31: 1 MiB is kept; 1 request."""
    server.on("/x", rawserver.reply(body=b"x" * size))
    enqueue(sidecar, server.url("/x"), id="a", method="GET")
    response = sidecar.settled("a")["response"]
    assert (len(response["body"]), response["bodyTruncated"]) == (min(size, 1 << 20), truncated)
    assert len(server.seen()) == 1


def test_a_resp_04_a_gzip_answer_nobody_asked_for_is_decoded(sidecar, server):
    """A-RESP-04, D23: the caps see decoded bytes, so a bomb costs no memory."""
    server.on("/x", rawserver.reply(headers=[("Content-Encoding", "gzip")], body=gzip.compress(b'{"a":1}')))
    enqueue(sidecar, server.url("/x"), id="a", method="GET")
    assert sidecar.settled("a")["response"]["body"] == '{"a":1}'
    before = sidecar.resident()
    bomb = gzip.compress(bytes(100 << 20))
    server.on("/y", rawserver.reply(headers=[("Content-Encoding", "gzip")], body=bomb))
    enqueue(sidecar, server.url("/y"), id="b", method="GET")
    assert sidecar.settled("b")["response"]["bodyTruncated"] is True
    assert sidecar.resident() - before < 20 << 20


def test_a_resp_05_a_broken_gzip_under_a_200_is_not_repeated(sidecar, server):
    """A-RESP-05, D12: completed with that status and bodyTruncated."""
    server.on("/x", rawserver.reply(headers=[("Content-Encoding", "gzip")], body=b"notgzip"))
    enqueue(sidecar, server.url("/x"), id="a", data=1)
    outcome = sidecar.settled("a")
    assert (outcome["kind"], outcome["response"]["status"]) == ("completed", 200)
    assert outcome["response"]["bodyTruncated"] is True
    server.quiet(0.4)
    assert len(server.seen()) <= 2


def test_d12_a_gzip_answer_that_stops_early_is_cut(sidecar, server):
    """D12, A-RESP-05: though its Content-Length is right; the whole answer completes it."""
    packed = gzip.compress(b'{"a":1,"b":2}')
    coding = [("Content-Encoding", "gzip")]
    server.on("/x", rawserver.reply(headers=coding, body=packed[:-12]),
              rawserver.reply(headers=coding, body=packed))
    enqueue(sidecar, server.url("/x"), id="a", data=1)
    outcome = sidecar.settled("a")
    assert (outcome["attempts"], outcome["response"]["body"]) == (2, '{"a":1,"b":2}')
    assert "gzip" in sidecar.events("attempt")[0]["errorMessage"]


@pytest.mark.parametrize("headers", [
    [("X-Long", "x" * 200_000)], [(f"X-{n}", "x" * 1000) for n in range(2000)]], ids=["long", "many"])
def test_a_resp_06_a_flood_of_headers_under_a_200_is_not_repeated(sidecar, server, headers):
    """A-RESP-06, D12: one outcome with status 200, bounded memory, no word of lack of memory."""
    before = sidecar.resident()
    server.on("/x", rawserver.reply(headers=headers))
    enqueue(sidecar, server.url("/x"), id="a", data=1)
    outcome = sidecar.settled("a")
    assert (outcome["kind"], outcome["response"]["status"]) == ("completed", 200)
    assert len(server.seen()) <= 5
    assert sidecar.resident() - before < 16 << 20
    assert "memory" not in str(sidecar.events("attempt"))


def test_a_resp_07_repeated_headers_can_be_told_apart(sidecar, server):
    """A-RESP-07, D31: names lower-case, repeats joined by ", ", set-cookie by LF."""
    cookies = ["a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT", "b=2"]
    sent = [("Set-Cookie", cookies[0]), ("X-A", "1"), ("SET-COOKIE", cookies[1]), ("x-a", "2")]
    server.on("/x", rawserver.reply(headers=sent))
    enqueue(sidecar, server.url("/x"), id="a")
    headers = sidecar.settled("a")["response"]["headers"]
    assert (headers["set-cookie"], headers["x-a"]) == ("\n".join(cookies), "1, 2")
    assert sidecar.events("attempt")[0]["responseHeaders"]["x-a"] == "1, 2"


def test_a_resp_08_an_answer_that_is_no_utf_8_comes_as_base64(sidecar, server):
    """A-RESP-08, D31: bodyBase64 in place of body; header values read as Latin-1."""
    server.on("/x", rawserver.reply(headers=[("X-L", "\xe9")], body=b"a\xff\xfeb"))
    enqueue(sidecar, server.url("/x"), id="a", method="GET")
    response = sidecar.settled("a")["response"]
    assert (response["bodyBase64"], response["headers"]["x-l"]) == ("Yf/+Yg==", "\xe9")
    assert "body" not in response
    attempt = sidecar.events("attempt")[0]
    assert attempt["responseBodyBase64"] == "Yf/+Yg==" and "responseBody" not in attempt


def test_a_resp_09_a_cap_never_cuts_a_character(sidecar, server):
    """A-RESP-09, B172, B173: the attempt shows at most 4096 bytes."""
    server.on("/x", rawserver.reply(500, body=("a" * 4095 + "\U0001f600").encode()), rawserver.reply())
    enqueue(sidecar, server.url("/x"), id="a")
    sidecar.settled("a")
    attempt = sidecar.events("attempt")[0]
    assert (attempt["responseBody"], attempt["responseBodyTruncated"]) == ("a" * 4095, True)


def test_a_conn_01_an_idle_connection_that_the_server_closed_costs_nothing(sidecar, server):
    """A-CONN-01: B arrives once, one outcome."""
    def step(exchange):
        exchange.read_body()
        exchange.answer()
        exchange.close()
    server.on("/a", step)
    enqueue(sidecar, server.url("/a"), id="a")
    sidecar.settled("a")
    enqueue(sidecar, server.url("/b"), id="b")
    assert sidecar.settled("b")["kind"] == "completed"
    assert len(server.seen("/b")) == 1


def test_a_conn_02_d18_no_request_is_sent_again_behind_our_back(sidecar, server):
    """A-CONN-02, D18: as many wire requests as attempt events, each with its own X-Request-Id."""
    server.on("/b", rawserver.hang_up(), rawserver.reply())
    enqueue(sidecar, server.url("/a"), id="a", data=1)
    sidecar.settled("a")
    enqueue(sidecar, server.url("/b"), id="b", data=2)
    sidecar.settled("b")
    wire = [request.request_id for request in server.seen("/b")]
    told = [event["requestId"] for event in sidecar.events("attempt", id="b")]
    assert wire == told and len(set(wire)) == 2
    assert server.seen("/b")[0].connection is server.seen("/a")[0].connection


def test_a_conn_03_no_answer_is_no_success(sidecar, server):
    """A-CONN-03, B186: in backoff, attempts grow."""
    server.on("/x", rawserver.hang_up())
    enqueue(sidecar, server.url("/x"), id="a", data=1)
    server.wait_requests(4)
    assert sidecar.row("a")["attempts"] >= 3
    assert sidecar.events("settled") == []
    assert {event["errorKind"] for event in sidecar.events("attempt")} == {"network"}


def test_a_conn_05_a_peer_that_stops_reading_is_given_up_at_the_stall_limit(sidecar, server, large):
    """A-CONN-05, D22: the attempt is network, names the timeout, and frees its slot."""
    gate = threading.Event()

    def step(exchange):
        exchange.read_body(65536)
        exchange.hold(gate)
    server.on("/x", step, rawserver.reply())
    enqueue(sidecar, server.url("/x"), id="a", method="PUT", file=large, timeouts={"stallMs": 1000})
    first = sidecar.event("attempt", id="a")
    assert first["errorKind"] == "network" and "stall" in first["errorMessage"].lower()
    assert sidecar.settled("a")["attempts"] == 2
    waited = server.seen()[1].at - server.seen()[0].at
    assert 1.0 <= waited < 10


def test_d22_an_answer_that_does_not_come_is_given_up(sidecar, server):
    """D22: responseMs from the last byte sent to the head."""
    gate = threading.Event()
    server.on("/x", rawserver.hold(gate), rawserver.reply())
    enqueue(sidecar, server.url("/x"), id="a", data=1, timeouts={"responseMs": 500})
    assert sidecar.settled("a")["attempts"] == 2
    first = sidecar.events("attempt")[0]
    assert first["errorKind"] == "network" and "response" in first["errorMessage"].lower()


def test_a_conn_06_slow_but_alive_is_no_stall(sidecar, server, tmp_path):
    """A-CONN-06, D22: no limit on the whole; a byte now and then keeps it going."""
    body = tmp_path / "body"
    body.write_bytes(bytes(8_000_000))

    def step(exchange):
        while not exchange.request.whole:
            exchange.read_body(800_000)
            exchange.pause(0.25)
        exchange.answer()
    server.on("/x", step)
    enqueue(sidecar, server.url("/x"), id="a", method="PUT", file=str(body), timeouts={"stallMs": 2000})
    assert sidecar.settled("a", seconds=60)["attempts"] == 1
