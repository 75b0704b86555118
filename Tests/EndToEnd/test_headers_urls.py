"""Request lines and request headers on the wire, and what is refused before it gets there."""
import re

import pytest

from endtoend import rawserver
from endtoend.frames import RPCError
from endtoend.requests import enqueue

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def refused(sidecar, url="http://127.0.0.1:9/", **fields):
    """The error of an enqueue that must be refused, with nothing kept."""
    with pytest.raises(RPCError) as caught:
        enqueue(sidecar, url, **fields)
    assert caught.value.code == "E_INVALID"
    assert sidecar.rows() == []
    return caught.value


@pytest.mark.parametrize("url", [
    "http://127.0.0.1/a b", "http://127.0.0.1/a\tb", "http://127.0.0.1/a\nb", "http://127.0.0.1/\u007f",
    "ftp://127.0.0.1/", "file:///etc/passwd", "127.0.0.1:1/x", "http:///x", "", "http://127.0.0.1:99999/",
    "http://user:pass@127.0.0.1/", "http://", "//127.0.0.1/x", "http://[::1/", "http://a b/"])
def test_a_url_01_a_url_05_urls_that_cannot_be_sent_are_refused(sidecar, url):
    """A-URL-01, A-URL-05, D33: at the call, by name; the message holds no query."""
    assert refused(sidecar, url).path == "request.url"


def test_a_url_05_a_scheme_in_capitals_is_http(sidecar, server):
    """A-URL-05, B120."""
    enqueue(sidecar, server.url("/x").replace("http", "HTTP"), id="a")
    assert sidecar.settled("a")["kind"] == "completed"


@pytest.mark.parametrize("path, target", [
    ("/a%20b%2Fc+d?x=%7B1%7D", "/a%20b%2Fc+d?x=%7B1%7D"),
    ("/é?q=日本", "/%C3%A9?q=%E6%97%A5%E6%9C%AC"),
    ("", "/"), ("?a=1", "/?a=1"), ("/x#fragment", "/x"), ("/a/../b/./c", None)])
def test_a_url_02_escapes_stay_and_the_rest_is_encoded_once(sidecar, server, path, target):
    """A-URL-02, D33."""
    enqueue(sidecar, server.url(path), id="a")
    sidecar.settled("a")
    sent = server.seen()[0].target
    assert sent.upper() == (target or path).upper()


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_a_url_03_idn_hosts_work_in_any_locale(start, server, locale):
    """A-URL-03, D33."""
    sidecar = start(env={"LC_ALL": locale})
    sidecar.subscribe()
    enqueue(sidecar, f"http://bücher.localhost:{server.port}/", id="a")
    assert sidecar.settled("a")["kind"] == "completed"
    assert server.seen()[0].header("host") == f"xn--bcher-kva.localhost:{server.port}"


def test_a_url_04_ipv6_literals(sidecar):
    """A-URL-04."""
    server = rawserver.RawServer("::1")
    try:
        enqueue(sidecar, server.url("/x"), id="a")
        assert sidecar.settled("a")["kind"] == "completed"
        assert server.seen()[0].header("host") == f"[::1]:{server.port}"
        enqueue(sidecar, f"http://[fe80::1%25lo]:{server.port}/", id="b")
    finally:
        server.close()
        server.check()


@pytest.mark.parametrize("headers, path", [
    ({"X-A": "a\r\nX-Injected: 1"}, 'request.headers.X-A'),
    ({"X-A": "a\nb"}, "request.headers.X-A"), ({"X-A": "a\u0000"}, "request.headers.X-A"),
    ({"X A": "a"}, "request.headers.X"), ({"": "a"}, "request.headers"), ({"X:A": "a"}, "request.headers.X"),
    ({"X-A": 5}, "request.headers.X-A")])
def test_a_url_06_headers_that_cannot_be_sent_are_refused(sidecar, headers, path):
    """A-URL-06, B123, B125: the message names the header, of a bad name what is sound of it, never the
    value; a patch is held to the same."""
    error = refused(sidecar, headers=headers)
    assert error.path == path
    assert "Injected" not in error.message
    with pytest.raises(RPCError) as caught:
        sidecar.call("updateHeaders", headers=headers)
    assert (caught.value.code, caught.value.path) == ("E_INVALID", path.removeprefix("request."))


@pytest.mark.parametrize("name", [
    "Content-Length", "transfer-encoding", "Host", "Connection", "expect", "TE", "Trailer", "Upgrade",
    "Keep-Alive", "Proxy-Authorization", "proxy-x"])
def test_a_body_07_d32_headers_that_frame_or_route_are_refused(sidecar, name):
    """A-BODY-07, D32."""
    assert refused(sidecar, headers={name: "1"}).path == f"request.headers.{name}"


def test_a_url_07_an_empty_value_is_sent_empty(sidecar, server):
    """A-URL-07; B124: tab and UTF-8 are sent as they are."""
    enqueue(sidecar, server.url("/"), id="a", headers={"X-Empty": "", "X-Tab": "a\tb", "X-Accent": "é"})
    sidecar.settled("a")
    lines = server.seen()[0].lines
    assert any(line.rstrip() == b"X-Empty:" for line in lines)
    assert b"X-Tab: a\tb" in lines
    assert "X-Accent: é".encode() in lines


def test_a_url_08_names_that_differ_in_case_are_one_header(sidecar, server):
    """A-URL-08, D32: refused within one map; a patch replaces the old spelling."""
    assert refused(sidecar, headers={"X-A": "1", "x-a": "2"}).path.startswith("request.headers")
    sidecar.call("pause")
    enqueue(sidecar, server.url("/"), id="a", headers={"authorization": "old"})
    sidecar.call("updateHeaders", headers={"Authorization": "new"})
    sidecar.call("resume")
    sidecar.settled("a")
    assert server.seen()[0].values("authorization") == ["new"]


def test_d19_each_attempt_has_a_new_request_id_and_the_same_idempotency_key(sidecar, server):
    """D19, A-CONN-02: the X-Request-Id of the wire is the attempt event's, and overwrites the caller's."""
    server.on("/x", rawserver.reply(503), rawserver.reply(503), rawserver.reply())
    enqueue(sidecar, server.url("/x"), id="a", headers={"x-request-id": "mine"}, data=1)
    outcome = sidecar.settled("a")
    requests = server.seen()
    ids = [request.request_id for request in requests]
    assert len(set(ids)) == 3 and all(UUID.fullmatch(id) for id in ids)
    assert [event["requestId"] for event in sidecar.events("attempt")] == ids
    assert [event["attempt"] for event in sidecar.events("attempt")] == [1, 2, 3]
    assert outcome["requestId"] == ids[2]
    keys = {request.header("idempotency-key") for request in requests}
    assert len(keys) == 1 and None not in keys


@pytest.mark.parametrize("method, fields, expected", [
    ("PATCH", {}, "made"), ("PUT", {}, None), ("DELETE", {}, None), ("GET", {}, None),
    ("POST", {"idempotencyKey": False}, None), ("POST", {"idempotencyKey": "mine"}, "mine"),
    ("POST", {"headers": {"idempotency-key": "caller's"}}, "caller's")])
def test_d19_who_gets_an_idempotency_key(sidecar, server, method, fields, expected):
    """D19: POST and PATCH, unless the caller decided."""
    enqueue(sidecar, server.url("/x"), id="a", method=method, **fields)
    sidecar.settled("a")
    values = server.seen()[0].values("idempotency-key")
    if expected == "made":
        assert len(values) == 1 and values[0]
    else:
        assert values == ([] if expected is None else [expected])


def test_d23_no_expect_and_no_accept_encoding_of_our_own(sidecar, server, tmp_path):
    """D23, A-EARLY-03: a large body starts at once."""
    body = tmp_path / "body"
    body.write_bytes(bytes(2_000_000))
    enqueue(sidecar, server.url("/x"), id="a", method="PUT", file=str(body))
    sidecar.settled("a")
    request = server.seen()[0]
    assert request.values("expect") == [] and request.values("accept-encoding") == []


def test_secrets_do_not_appear_in_the_log(sidecar, server):
    """D38: no header value, query string or body in stderr or diagnostics."""
    server.on("/x", rawserver.reply(400, body=b"answer-secret"))
    enqueue(sidecar, server.url("/x?q=query-secret"), id="a", headers={"Authorization": "header-secret"},
            data="body-secret")
    sidecar.settled("a")
    refused_message = None
    try:
        enqueue(sidecar, server.url("/x?q=query-secret\t"), headers={"Authorization": "header-secret\n"})
    except RPCError as error:
        refused_message = error.message
    told = sidecar.stderr() + str(sidecar.call("takeDiagnostics")) + refused_message
    for secret in ("query-secret", "header-secret", "body-secret", "answer-secret"):
        assert secret not in told
