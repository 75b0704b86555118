"""HTTP/2 by ALPN, against nginx, Caddy, nghttpd and a server that speaks frames itself."""
import hashlib
import os
import threading
import time

import pytest

from endtoend import deadline, processes
from endtoend.frameserver import ENHANCE_YOUR_CALM, NO_ERROR, FrameServer
from endtoend.nginx import Nginx
from endtoend.programs import Caddy, Nghttpd
from endtoend.requests import enqueue


@pytest.fixture
def tls_nginx(tmp_path, certificate):
    nginx = Nginx(tmp_path / "nginx", certificate)
    yield nginx
    nginx.close()


@pytest.fixture
def caddy(tmp_path, certificate, server):
    caddy = Caddy(tmp_path / "caddy", certificate, behind=server.port)
    yield caddy
    caddy.close()


@pytest.fixture
def nghttpd(tmp_path, certificate):
    nghttpd = Nghttpd(tmp_path / "nghttpd", certificate)
    yield nghttpd
    nghttpd.close()


@pytest.fixture
def frames(certificate):
    """Makes frame servers."""
    made = []

    def make(*arguments, **options):
        made.append(FrameServer(certificate, *arguments, **options))
        return made[-1]
    yield make
    for server in made:
        server.close()


@pytest.fixture
def http2(sidecar, certificate):
    """The sidecar with HTTP/2 switched on; as many requests at once as there are."""
    sidecar.call("configure", tls={"caFile": certificate.path}, http2=True,
                 concurrency={"total": 20, "reservedHigh": 0, "partsPerEntry": 3, "perOrigin": 20})
    return sidecar


@pytest.fixture
def body(tmp_path):
    """A file of 5 MB."""
    path = tmp_path / "body"
    path.write_bytes(os.urandom(5_000_000))
    return path


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("switch, protocol", [(None, "HTTP/1.1"), (False, "HTTP/1.1"), (True, "HTTP/2.0")])
def test_d23_http_2_is_spoken_only_when_it_is_switched_on(sidecar, tls_nginx, certificate, switch, protocol):
    """D23, A-CONN-11: HTTP/1.1 is the default, also with a server that offers both."""
    sidecar.call("configure", tls={"caFile": certificate.path}, http2=switch)
    enqueue(sidecar, tls_nginx.tls_url("/a"), id="a", method="PUT", data=1)
    outcome = sidecar.settled("a")
    assert outcome["response"]["status"] == 201
    assert [(line[3], line[5]) for line in tls_nginx.log()] == [(outcome["requestId"], protocol)]


def test_d23_a_server_without_http_2_is_spoken_to_in_http_1(http2, server):
    """D23: by ALPN, so a server in clear is never asked for an upgrade."""
    enqueue(http2, server.url("/x"), id="a", data=1)
    assert http2.settled("a")["kind"] == "completed"
    request = server.seen()[0]
    assert request.values("upgrade") == request.values("http2-settings") == []


def test_a_conn_11_a_file_goes_to_nginx(http2, tls_nginx, body):
    """A-CONN-11: stored as it was, in one attempt."""
    enqueue(http2, tls_nginx.tls_url("/x.bin"), id="a", method="PUT", file=str(body))
    outcome = http2.settled("a")
    assert (outcome["attempts"], outcome["bytesSent"]) == (1, 5_000_000)
    assert digest(tls_nginx.stored("/x.bin")) == digest(body)
    assert tls_nginx.log()[0][5] == "HTTP/2.0"


def test_a_conn_11_small_windows_of_nghttpd_take_5_mb(http2, nghttpd, body):
    """A-CONN-11: windows of 16 KiB, in one attempt, with no long moment without a byte."""
    enqueue(http2, nghttpd.url("/x"), id="a", file=str(body), headers={"Content-Type": "text/plain"},
            timeouts={"stallMs": 20_000})
    outcome = http2.settled("a", seconds=60)
    assert (outcome["kind"], outcome["attempts"], outcome["bytesSent"]) == ("completed", 1, 5_000_000)
    assert outcome["response"]["bodyTruncated"]


def test_a_conn_11_a_window_that_stays_shut_costs_no_cpu(http2, frames, body):
    """A-CONN-11: one second without a window in the middle of 5 MB: nothing spins, and all of it arrives."""
    opens = threading.Event()

    def before_window(stream):
        if len(stream.body) > 1_000_000:
            opens.wait(deadline.SECONDS)
    server = frames(window=16_384, before_window=before_window)
    enqueue(http2, server.url("/x"), id="a", method="PUT", file=str(body))
    deadline.until("the window is shut", lambda: server.seen() and len(server.seen()[0].body) > 1_000_000)
    used = processes.cpu_seconds(http2.process)
    time.sleep(1)
    used = processes.cpu_seconds(http2.process) - used
    opens.set()
    assert http2.settled("a", seconds=60)["attempts"] == 1
    assert used < 0.2, f"{used} s of CPU in 1 s"
    assert server.bodies() == [body.read_bytes()]


def test_d18_many_requests_share_connections_and_each_is_one_attempt(http2, caddy, server):
    """D18, D19: 100 POSTs through Caddy: as many requests as attempt events, each with its own id."""
    http2.subscribe(window=1024)
    for n in range(100):
        http2.send("enqueue", {"id": str(n), "key": "k", "request": {"url": caddy.url("/x"), "data": n}})
    for n in range(100):
        outcome = http2.settled(str(n), seconds=60)
        assert outcome["response"]["headers"]["x-proto"] == "HTTP/2.0"
    wire = [request.request_id for request in server.seen()]
    assert len(wire) == len(set(wire)) == 100
    assert sorted(wire) == sorted(event["requestId"] for event in http2.events("attempt"))
    assert sorted(int(request.body) for request in server.seen()) == list(range(100))


def test_d32_headers_arrive_through_http_2(http2, caddy, server):
    """D32: an empty value, tabs and UTF-8; what belongs to HTTP/1 alone is not there."""
    headers = {"X-Empty": "", "X-Tab": "a\tb", "X-Accent": "é"}
    enqueue(http2, caddy.url("/x"), id="a", data=1, headers=headers)
    http2.settled("a")
    request = server.seen()[0]
    assert request.header("x-empty") == ""
    assert b"X-Tab: a\tb" in request.lines
    assert "X-Accent: é".encode() in request.lines
    assert request.values("expect") == request.values("transfer-encoding") == []


def test_a_early_01_nginx_refuses_a_body_it_does_not_read(http2, tls_nginx, body):
    """A-EARLY-01: 413 over HTTP/2 is the answer, as it is over HTTP/1."""
    enqueue(http2, tls_nginx.tls_url("/small/x"), id="a", method="PUT", file=str(body))
    outcome = http2.settled("a")
    assert (outcome["error"]["errorKind"], outcome["error"]["response"]["status"]) == ("http", 413)
    assert outcome["attempts"] == 1


def test_a_early_01_a_stream_that_caddy_resets_is_a_network_failure(http2, caddy, body):
    """A-EARLY-01: Caddy resets without an answer, which is no status: tried again after its backoff; other
    streams of the connection are not disturbed."""
    enqueue(http2, caddy.url("/small/x"), id="a", method="PUT", file=str(body),
            retry={"backoff": {"baseMs": 60_000, "maxMs": 60_000, "jitter": 0}})
    enqueue(http2, caddy.url("/x"), id="b", method="PUT", file=str(body))
    first = http2.event("attempt", id="a")
    assert first["errorKind"] == "network" and "httpCode" not in first
    assert http2.settled("b")["attempts"] == 1
    assert http2.wait_state("a", "queued")["attempts"] == 1


@pytest.mark.parametrize("status", [413, 401, 503])
def test_a_early_01_an_early_answer_and_a_reset_without_error_is_the_answer(http2, frames, body, status):
    """A-EARLY-01, A-EARLY-02, D12: the whole answer came before the body was read (RFC 9113, section 8.1);
    other streams of the connection go on."""
    def before_window(stream):
        if stream.body.startswith(body.read_bytes()[:100]) and len(stream.body) > 100_000:
            stream.answer(status)
            stream.refuse(NO_ERROR)
    server = frames(before_window=before_window)
    warmed(http2, server)
    enqueue(http2, server.url("/x"), id="a", method="PUT", file=str(body),
            retry={"backoff": {"baseMs": 60_000, "maxMs": 60_000, "jitter": 0}})
    event = http2.event("attempt", id="a")
    assert (event["outcome"], event["errorKind"], event["httpCode"]) == ("error", "http", status)
    state = {413: "error", 401: "awaiting-auth", 503: "queued"}[status]
    assert http2.wait_state("a", state)["attempts"] == 1
    enqueue(http2, server.url("/y"), id="b", data="after")
    assert http2.settled("b")["attempts"] == 1


def test_a_early_06_an_early_200_and_a_reset_does_not_count(http2, frames, body):
    """A-EARLY-06, D12: half a request was sent, so the success is none; the next attempt sends all."""
    server = frames(before_window=lambda stream: early(stream))

    def early(stream):
        if stream is server.seen()[0] and len(stream.body) > 100_000:
            stream.answer(200)
            stream.refuse(NO_ERROR)
    enqueue(http2, server.url("/x"), id="a", method="PUT", file=str(body))
    outcome = http2.settled("a")
    assert (outcome["kind"], outcome["attempts"]) == ("completed", 2)
    assert server.bodies() == [body.read_bytes()]


def test_a_resp_02_a_2xx_whose_stream_is_reset_is_cut(http2, frames):
    """A-RESP-02, D12: the head came, the end did not."""
    def script(stream):
        if len(server.seen()) == 1:
            stream.answer(200, ends=False)
            stream.refuse()
        else:
            stream.answer(200)
    server = frames(script)
    enqueue(http2, server.url("/x"), id="a", data=1)
    assert http2.settled("a")["attempts"] == 2
    first = http2.events("attempt", id="a")[0]
    assert (first["outcome"], first["errorKind"]) == ("error", "network")


def test_a_conn_01_an_idle_connection_that_was_sent_away_costs_nothing(http2, frames):
    """A-CONN-01: GOAWAY and the end while nothing is under way; the next POST arrives once."""
    server = frames()
    warmed(http2, server)
    connection = server.connections[0]
    connection.send_away()
    connection.socket.close()
    enqueue(http2, server.url("/x"), id="a", data="next")
    outcome = http2.settled("a")
    assert outcome["kind"] == "completed"
    assert server.bodies() == [b'"warm"', b'"next"']


def warmed(sidecar, server):
    """Gets the first request done, so that its connection is there for the next ones."""
    enqueue(sidecar, server.url("/warm"), id="warm", data="warm")
    sidecar.settled("warm")


def test_a_conn_10_what_a_goaway_left_out_goes_out_again(http2, frames):
    """A-CONN-10: GOAWAY after three of ten POSTs: each is processed once, and settles once."""
    def script(stream):
        first = stream.connection is server.connections[0]
        stream.answer()
        if first and sum(other.is_whole for other in stream.connection.streams.values()) == 4:
            stream.connection.send_away()
    server = frames(script)
    warmed(http2, server)
    calls = [http2.send("enqueue", {"id": str(n), "key": "k", "request": {
        "url": server.url("/x"), "data": n, "retry": {"backoff": {"baseMs": 50, "maxMs": 200, "jitter": 0}}}})
        for n in range(10)]
    for call in calls:
        http2.result(call)
    for n in range(10):
        assert http2.settled(str(n))["kind"] == "completed"
    assert sorted(server.bodies()) == sorted([b'"warm"'] + [b"%d" % n for n in range(10)])
    assert len(http2.events("settled")) == 11


REFUSALS = {
    "refused": lambda stream: stream.refuse(),
    "calm": lambda stream: stream.refuse(ENHANCE_YOUR_CALM),
    "goaway": lambda stream: stream.connection.send_away(ENHANCE_YOUR_CALM, but=stream)}


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_conn_10_streams_refused_each_time_follow_the_backoff(http2, frames, refusal):
    """A-CONN-10, D18: as many streams as attempts, no burst; one follow-up at once is all that may come
    before its time."""
    times = []

    def script(stream):
        times.append(time.monotonic())
        if len(times) < 6:
            REFUSALS[refusal](stream)
        else:
            stream.answer()
    server = frames(script)
    enqueue(http2, server.url("/x"), id="a", data=1,
            retry={"backoff": {"baseMs": 300, "maxMs": 300, "jitter": 0}})
    outcome = http2.settled("a")
    assert (outcome["kind"], outcome["attempts"]) == ("completed", len(times))
    attempts = http2.events("attempt", id="a")
    assert len(attempts) == len(times)
    assert all(event["errorKind"] == "network" for event in attempts[:-1])
    early = [later - earlier for earlier, later in zip(times, times[1:]) if later - earlier < 0.29]
    assert len(early) <= 1, early


def test_a_queue_05_a_cancel_resets_its_own_stream_alone(http2, frames, body):
    """A-QUEUE-05 over HTTP/2: one of three uploads on one connection is cancelled; two go on in it."""
    opens = threading.Event()

    def before_window(stream):
        if len(stream.body) > 100_000:
            opens.wait(deadline.SECONDS)
    server = frames(before_window=before_window)
    warmed(http2, server)
    for n in range(3):
        enqueue(http2, server.url("/x"), id=str(n), method="PUT", file=str(body), headers={"X-N": str(n)})
        deadline.until("its stream is there", lambda: len(http2.rows(state="running")) == n + 1)
    http2.call("cancel", id="1")
    opens.set()
    for n in (0, 2):
        assert http2.settled(str(n), seconds=60)["attempts"] == 1
    assert [stream.reset_with is not None for stream in server.seen() if not stream.is_whole] == [True]
    assert len(server.connections) == 1
    assert server.bodies()[1:] == [body.read_bytes()] * 2
    assert http2.events("attempt", id="1") == []
