"""Redirects, as both origins see them."""
import hashlib
import os
import threading

import pytest

from endtoend import rawserver
from endtoend.nginx import Nginx
from endtoend.requests import enqueue

SECRETS = {"Authorization": "Bearer s3cret", "Cookie": "c=s3cret", "X-Api-Key": "s3cret", "X-Other": "s3cret"}


def moved(status, location):
    return rawserver.reply(status, [("Location", location)])


@pytest.fixture
def large(tmp_path):
    path = tmp_path / "large"
    path.write_bytes(os.urandom(1 << 20))
    return path


def bodies(path):
    """The bodies of A-REDIR-01 by name."""
    return {"data": {"data": {"a": 1}}, "file": {"file": str(path), "method": "PUT"},
            "form": {"form": [{"name": "f", "contentType": "t/p", "path": str(path)}]}}


@pytest.mark.parametrize("status", [307, 308])
@pytest.mark.parametrize("body", ["data", "file", "form"])
def test_a_redir_01_method_and_body_go_along(sidecar, server, large, status, body):
    """A-REDIR-01, D18, D20: two requests with one X-Request-Id, one attempt, one outcome at the last URL."""
    server.on("/x", moved(status, "/y?z=1"))
    enqueue(sidecar, server.url("/x"), id="a", **bodies(large)[body])
    outcome = sidecar.settled("a")
    first, second = server.seen()
    assert (second.method, second.target) == (first.method, "/y?z=1")
    assert (second.sha256, second.length, second.whole) == (first.sha256, first.length, True)
    assert second.values("content-type") == first.values("content-type")
    assert first.request_id == second.request_id == outcome["requestId"]
    assert (outcome["kind"], outcome["attempts"], len(sidecar.events("attempt"))) == ("completed", 1, 1)


@pytest.mark.parametrize("status", [301, 302, 303])
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_redir_02_no_request_goes_out_without_the_body_it_means(sidecar, server, status, method):
    """A-REDIR-02, D13, D20: 303 is a GET; 301 and 302 of PUT and DELETE repeat the body; of POST and PATCH
    they are the answer."""
    server.on("/x", moved(status, "/done"))
    enqueue(sidecar, server.url("/x"), id="a", method=method, data={"a": 1})
    outcome = sidecar.settled("a")
    seen = [(request.method, request.path, request.body) for request in server.seen()]
    whole = b'{"a": 1}'
    assert seen[0] == (method, "/x", whole)
    if status == 303:
        assert seen[1:] == [("GET", "/done", b"")]
        assert server.seen()[1].values("content-length") == server.seen()[1].values("content-type") == []
    elif method in ("PUT", "DELETE"):
        assert seen[1:] == [(method, "/done", whole)]
    else:
        assert seen[1:] == []
        assert (outcome["error"]["errorKind"], outcome["error"]["response"]["status"]) == ("http", status)
    assert outcome["kind"] == ("error" if len(seen) == 1 else "completed")


def test_a_redir_03_a_body_that_is_gone_at_the_next_hop_is_no_success(sidecar, server, large, directory):
    """A-REDIR-03, D30: error kind file; the second hop gets no request, or one that is not whole."""
    def step(exchange):
        exchange.read_body()
        for path in directory.glob("bodies-*/*"):
            path.unlink()
        exchange.answer(308, [("Location", "/y")])
    server.on("/x", step)
    enqueue(sidecar, server.url("/x"), id="a", method="PUT", file=str(large))
    outcome = sidecar.settled("a")
    assert (outcome["kind"], outcome["error"]["errorKind"]) == ("error", "file")
    assert not any(request.whole for request in server.seen("/y"))


def test_a_redir_04_secrets_stay_with_their_origin(sidecar, server, another_server):
    """A-REDIR-04, D20: another port is another origin, and so is another name of the same host; on the way
    back they do not come again."""
    back = server.url("/back").replace("127.0.0.1", "localhost")
    server.on("/x", moved(307, another_server.url("/y")))
    another_server.on("/y", moved(307, back))
    enqueue(sidecar, server.url("/x"), id="a", data=1, headers={**SECRETS, "Accept": "text/x"})
    assert sidecar.settled("a")["kind"] == "completed"
    assert server.seen("/x")[0].header("authorization") == SECRETS["Authorization"]
    for request in (another_server.seen("/y")[0], server.seen("/back")[0]):
        assert b"s3cret" not in request.head
        assert (request.body, request.header("accept")) == (b"1", "text/x")
        assert request.header("x-request-id") and request.header("idempotency-key")
        assert request.header("content-type").startswith("application/json")


def test_d20_secrets_go_along_inside_an_origin(sidecar, server):
    """D20: the same scheme, host and port, spelt otherwise."""
    server.on("/x", moved(307, server.url("/y").replace("http:", "HTTP:")))
    enqueue(sidecar, server.url("/x"), id="a", data=1, headers=SECRETS)
    sidecar.settled("a")
    assert server.seen("/y")[0].header("x-api-key") == SECRETS["X-Api-Key"]


def test_a_redir_05_a_circle_ends_after_ten_hops(sidecar, server):
    """A-REDIR-05, D13, D20: eleven requests, one attempt, error http with the last answer."""
    server.on("/x", moved(307, "/x"))
    enqueue(sidecar, server.url("/x"), id="a", data=1)
    outcome = sidecar.settled("a")
    assert (outcome["error"]["errorKind"], outcome["error"]["response"]["status"]) == ("http", 307)
    assert (outcome["attempts"], len(server.seen())) == (1, 11)
    assert len({request.request_id for request in server.seen()}) == 1


@pytest.mark.parametrize("location", ["file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://127.0.0.1:1/x"])
def test_a_redir_06_other_schemes_are_refused_and_named(sidecar, server, location):
    """A-REDIR-06, D20: the outcome says that the redirect was refused; nothing is read."""
    server.on("/x", moved(302, location))
    enqueue(sidecar, server.url("/x"), id="a", method="GET")
    error = sidecar.settled("a")["error"]
    assert error["errorKind"] == "http" and "redirect" in error["message"]
    assert "root:" not in str(error)


def test_a_redir_06_nothing_goes_from_https_into_the_clear(sidecar, server, tmp_path, certificate):
    """A-REDIR-06, D20: refused and named; the server in clear sees nothing."""
    nginx = Nginx(tmp_path / "nginx", certificate, also=f"location /x {{ return 307 {server.url('/y')}; }}")
    try:
        sidecar.call("configure", tls={"caFile": certificate.path})
        enqueue(sidecar, nginx.tls_url("/x"), id="a", data=1)
        error = sidecar.settled("a")["error"]
        assert (error["errorKind"], error["response"]["status"]) == ("http", 307)
        assert "redirect" in error["message"]
        assert server.connections == []
    finally:
        nginx.close()


def test_d20_a_redirect_before_the_body_was_read_repeats_the_whole_body(sidecar, server, tmp_path):
    """D20, D12: 307 comes early; the next hop gets every byte, and that one counts."""
    body = tmp_path / "body"
    body.write_bytes(os.urandom(8_000_000))
    read_on = threading.Event()

    def step(exchange):
        exchange.answer(307, [("Location", "/y")])
        exchange.hold(read_on)
    server.on("/x", step)
    enqueue(sidecar, server.url("/x"), id="a", method="PUT", file=str(body))
    outcome = sidecar.settled("a")
    read_on.set()
    assert (outcome["kind"], outcome["attempts"], outcome["bytesSent"]) == ("completed", 1, 8_000_000)
    assert server.seen("/y")[0].sha256 == hashlib.sha256(body.read_bytes()).hexdigest()
