"""A server that means harm: answers without end, bombs, words for others, doors to elsewhere."""
import gzip
import json
import socket
import ssl
import subprocess
import threading
import zlib

import pytest

from endtoend import deadline, rawserver
from endtoend.frames import RPCError
from endtoend.rawserver import Gone
from endtoend.requests import NEVER, enqueue

OK = b"HTTP/1.1 200 OK\r\n"
FLOOD = b"x" * 65536


def endless(before, piece):
    """Reads the request, then sends `before`, and `piece` until nobody takes it any more."""
    def step(exchange):
        exchange.read_body()
        exchange.send(before)
        while not exchange.connection.server.closing.is_set():
            exchange.send(piece)
        raise Gone
    return step


def bomb():
    """A gzip stream of 256 MiB of one letter, four times what a transfer may unpack."""
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    letters = b"z" * (1 << 24)
    return b"".join(packer.compress(letters) for _ in range(16)) + packer.flush()


FIELD = b"X-Flood: " + b"y" * 1000 + b"\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
# What is sent first, and what then comes without end.
WITHOUT_END = {
    "header lines": (OK, FIELD), "a header line": (OK + b"X: ", FLOOD),
    "a status line": (b"HTTP/1.1 200 ", FLOOD),
    "interim answers": (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"), "a body": (OK + b"\r\n", FLOOD),
    "chunks": (CHUNKED, b"10000\r\n" + FLOOD + b"\r\n"), "trailers": (CHUNKED + b"0\r\n", FIELD),
    "a chunk extension": (CHUNKED + b"1;", FLOOD),
    "packed letters": (OK + b"Content-Encoding: gzip\r\n\r\n", None), "no protocol": (b"", FLOOD)}


@pytest.mark.parametrize("name", WITHOUT_END)
def test_d12_an_answer_without_end_ends(sidecar, server, name):
    """D12, D22: it costs bounded memory, and the slot is free in the end, by a limit on size or on time; a
    small request to the same server goes out meanwhile."""
    before, piece = WITHOUT_END[name]
    sidecar.call("ping")
    at_rest = sidecar.resident()
    server.on("/flood", endless(before, bomb() if piece is None else piece))
    enqueue(sidecar, server.url("/flood"), id="a", method="GET", timeouts={
        "connectMs": 5000, "stallMs": 5000, "responseMs": 3000}, retry={"backoff": NEVER})
    server.wait_requests(1, "/flood")
    enqueue(sidecar, server.url("/small"), id="b")
    assert sidecar.settled("b")["kind"] == "completed"
    attempt = sidecar.event("attempt", id="a", seconds=60)
    flood = server.seen("/flood")[0].connection
    deadline.until("its connection is closed", flood.closed.is_set, 30)
    assert sidecar.resident(most=True) - at_rest < 48 << 20
    assert len(str(attempt)) < 300_000


@pytest.mark.parametrize("coding", ["gzip", "gzip, gzip", "gzip, gzip, gzip"])
def test_d12_a_bomb_inside_a_bomb_costs_no_memory(sidecar, server, coding):
    """D12, A-RESP-04: though the caller asked for packed answers; it completes, truncated, and is not
    fetched again."""
    packed = gzip.compress(b"z" * (200 << 20), 1)
    for _ in range(coding.count(",")):
        packed = gzip.compress(packed)
    server.on("/x", rawserver.reply(headers=[("Content-Encoding", coding)], body=packed))
    sidecar.call("ping")
    at_rest = sidecar.resident()
    enqueue(sidecar, server.url("/x"), id="a", method="GET", headers={"Accept-Encoding": "gzip"})
    response = sidecar.settled("a", seconds=60)["response"]
    assert response["bodyTruncated"] is True and len(response["body"]) <= 1 << 20
    assert len(server.seen()) == 1
    assert sidecar.resident(most=True) - at_rest < 48 << 20


def test_d22_an_answer_that_drips_for_ever_is_given_up(sidecar, server):
    """D22: a byte now and then is no stall, but the answer has to end within responseMs of its head."""
    def drip(exchange):
        exchange.read_body()
        exchange.send(OK + b"\r\n")
        while True:
            exchange.send(b".")
            exchange.pause(0.05)
    server.on("/x", drip)
    enqueue(sidecar, server.url("/x"), id="a", method="GET", timeouts={
        "connectMs": 5000, "stallMs": 5000, "responseMs": 1000})
    assert "responseMs" in sidecar.event("attempt", id="a")["errorMessage"]


PLANTED = OK + b"X-Planted: 1\r\nContent-Length: 0\r\n\r\n"


@pytest.mark.parametrize("answer", [
    OK + b"Content-Length: 2\r\n\r\nok" + PLANTED, OK + b"Content-Length: 0\r\n\r\n" + PLANTED * 100,
    CHUNKED + b"0\r\n\r\n" + PLANTED, b"HTTP/1.1 204 No\r\n\r\n" + PLANTED,
    OK + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + PLANTED,
    OK + b"Content-Length: 2\r\nContent-Length: 9\r\n\r\nok" + PLANTED,
    OK + b"Content-Length: 99999999999999999999999\r\n\r\nok" + PLANTED,
    OK + b"Content-Length: -1\r\n\r\nok" + PLANTED, OK + b"Transfer-Encoding: xchunked\r\n\r\n" + PLANTED],
    ids=["length", "many", "chunks", "no body", "both", "two lengths", "huge", "negative", "unknown"])
def test_d18_an_answer_that_was_not_asked_for_is_no_answer(sidecar, server, answer):
    """D18: what comes behind an answer, or beside a framing that says two things, is never the answer to the
    next request on that connection."""
    server.on("/first", rawserver.raw_reply(answer, close=False))
    server.on("/second", rawserver.reply(200, [("X-Real", "1")]))
    for id, path in (("a", "/first"), ("b", "/second"), ("c", "/second")):
        enqueue(sidecar, server.url(path), id=id, retry={"backoff": NEVER}, timeouts={
            "connectMs": 5000, "stallMs": 1000, "responseMs": 2000})
        sidecar.event("attempt", id=id)
    for id in ("b", "c"):
        headers = sidecar.event("attempt", id=id)["responseHeaders"]
        assert headers.get("x-real") == "1" and "x-planted" not in headers


@pytest.mark.parametrize("location", [
    "data:text/plain,x", "javascript:1", "http+unix://%2Ftmp%2Fs/", "unix:/tmp/s",
    "file://localhost/etc/passwd", "//user:pass@127.0.0.1:1/", "http://user@127.0.0.1/", "http://",
    "http://[::1", "http://127.0.0.1:99999/", "dict://127.0.0.1:1/x", "smb://127.0.0.1/x",
    "ldap://127.0.0.1/", "http://a\x01b/", "http://a b/"])
def test_a_redir_06_a_redirect_leads_to_http_or_nowhere(sidecar, server, location):
    """A-REDIR-06, D20, D33: what a caller may not give as URL a server may not either; the answer is the
    redirect, with its reason, after one request."""
    server.on("/x", rawserver.reply(302, [("Location", location)], b"root: not followed"))
    enqueue(sidecar, server.url("/x"), id="a", method="GET", headers={"Authorization": "s3cret"})
    error = sidecar.settled("a")["error"]
    assert (error["errorKind"], error["response"]["status"]) == ("http", 302)
    assert len(server.seen()) == 1


@pytest.mark.parametrize("where", ["[::1]", "localhost", "localhost.", "127.1", "2130706433"])
def test_a_redir_04_another_spelling_of_a_host_is_another_origin(sidecar, server, where):
    """A-REDIR-04, D20: an origin is what the URL says, not what it resolves to; secrets stay where they were
    to go, whether or not the other spelling is reached."""
    other = rawserver.RawServer("::1", server.port) if where == "[::1]" else server
    try:
        server.on("/x", rawserver.reply(307, [("Location", f"http://{where}:{server.port}/y")]))
        enqueue(sidecar, server.url("/x"), id="a", data=1, headers={
            "Authorization": "s3cret", "Cookie": "s3cret", "X-Own": "s3cret"})
        sidecar.event("attempt", id="a")
        assert b"s3cret" in server.seen("/x")[0].head
        assert all(b"s3cret" not in request.head for request in other.seen("/y"))
    finally:
        if other is not server:
            other.close()
            other.check()


@pytest.mark.parametrize("value", [
    "a\r\nX-Injected: 1", "a\nX-Injected: 1", "a\0", "a\r", "a\x7f", "a\x1b[2J"])
def test_d46_a_value_of_an_answer_brings_no_header_of_its_own(sidecar, server, value):
    """D46, D32: what an answer says goes into a header as one value, or its entry settles `dependency`, and
    nothing is sent; the message does not repeat it."""
    server.on("/first", rawserver.reply(200, body=json.dumps({"id": value}).encode()))
    sidecar.call("enqueueAll", entries=[
        {"id": "a", "key": "k", "request": {"url": server.url("/first")}},
        {"id": "b", "key": "k", "bind": {"v": {"entry": "a", "pointer": "/id"}},
         "request": {"url": server.url("/second"), "headers": {"X-Value": "{v}"}}}])
    error = sidecar.settled("b")["error"]
    assert error["errorKind"] == "dependency" and "Injected" not in error["message"]
    assert server.seen("/second") == []


@pytest.mark.parametrize("value, target", [
    ("../../admin", "/users/..%2F..%2Fadmin/x"), ("a/b?c=d#e", "/users/a%2Fb%3Fc%3Dd%23e/x"),
    ("@evil.test", "/users/%40evil.test/x"), ("http://evil.test/", "/users/http%3A%2F%2Fevil.test%2F/x"),
    ("a b\r\nX-Injected: 1", "/users/a%20b%0D%0AX-Injected%3A%201/x"), ("%2e%2e", "/users/%252e%252e/x"),
    ("..", None), (".", None), ("", None)])
def test_d46_a_value_of_an_answer_leads_to_no_other_place(sidecar, server, value, target):
    """D46: a value in a URL is one segment, or part of one; it changes neither host nor path around it."""
    server.on("/first", rawserver.reply(200, body=json.dumps({"id": value}).encode()))
    sidecar.call("enqueueAll", entries=[
        {"id": "a", "key": "k", "request": {"url": server.url("/first")}},
        {"id": "b", "key": "k", "bind": {"v": {"entry": "a", "pointer": "/id"}},
         "request": {"url": server.url("/users/{v}/x")}}])
    outcome = sidecar.settled("b")
    later = [request.target for request in server.seen() if request.path != "/first"]
    if target is None:
        assert (outcome["error"]["errorKind"], later) == ("dependency", [])
    else:
        assert later == [target] and b"X-Injected: 1" not in server.seen()[-1].head


@pytest.mark.parametrize("body", [
    b"[" * 500_000, b'{"id":' * 100_000, b'{"id":"\xff\xfe"}', b'{"id":"a',
    b'{"id":1' + b"0" * 500_000 + b"]", b"\x00" * 1000, b""],
    ids=["arrays", "objects", "no UTF-8", "half", "number", "zeros", "nothing"])
def test_d46_a_mad_answer_has_no_values(sidecar, server, body):
    """D46: it is kept as it came, and whoever waits for a value of it settles `dependency`."""
    server.on("/first", rawserver.reply(200, body=body))
    sidecar.call("enqueueAll", entries=[
        {"id": "a", "key": "k", "request": {"url": server.url("/first")}},
        {"id": "b", "key": "k", "bind": {"v": {"entry": "a", "pointer": "/id"}},
         "request": {"url": server.url("/users/{v}")}}])
    assert sidecar.settled("a")["kind"] == "completed"
    assert sidecar.settled("b")["error"]["errorKind"] == "dependency"
    assert len(server.seen()) == 1


def test_d46_a_value_chooses_a_host_only_where_that_was_said(sidecar, server):
    """D46: with `boundOrigin` alone, and then http or https alone."""
    with pytest.raises(RPCError) as refused:
        sidecar.call("enqueueAll", entries=[
            {"id": "a", "key": "k", "request": {"url": server.url("/first")}},
            {"id": "b", "key": "k", "bind": {"v": {"entry": "a", "pointer": "/id"}},
             "request": {"url": "{v}"}}])
    assert (refused.value.code, refused.value.path) == ("E_INVALID", "entries[1].request.url")
    server.on("/first", rawserver.reply(200, body=b'{"id":"file:///etc/passwd"}'))
    sidecar.call("enqueueAll", entries=[
        {"id": "a", "key": "k", "request": {"url": server.url("/first")}},
        {"id": "b", "key": "k", "bind": {"v": {"entry": "a", "pointer": "/id"}},
         "request": {"url": "{v}", "boundOrigin": True}}])
    assert sidecar.settled("b")["error"]["errorKind"] == "dependency"


def test_d23_a_proxy_is_told_no_header_of_a_tunnelled_request(sidecar, server):
    """D23, D38: CONNECT names the host and nothing of the caller's."""
    heads = []
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        def serve():
            connection, _ = proxy.accept()
            with connection:
                heads.append(connection.recv(65536))
                connection.sendall(b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        sidecar.call("configure", proxy=f"http://127.0.0.1:{proxy.getsockname()[1]}")
        enqueue(sidecar, "https://somewhere.test/x?q=s3cret", id="a", data="s3cret", headers={
            "Authorization": "s3cret", "Cookie": "s3cret", "X-Own": "s3cret"})
        sidecar.event("attempt", id="a", errorKind="network")
        thread.join(10)
    assert heads[0].startswith(b"CONNECT somewhere.test:443 HTTP/1.1\r\n")
    assert b"s3cret" not in heads[0] and b"X-Own" not in heads[0]


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
def test_d24_no_tls_before_1_2_is_spoken(start, tmp_path, certificate):
    """D24: not even where the system's configuration of OpenSSL lets it; 1.2 is."""
    settings = tmp_path / "openssl.cnf"
    settings.write_text("openssl_conf = a\n[a]\nssl_conf = b\n[b]\nsystem_default = c\n[c]\n"
                        "MinProtocol = TLSv1\nCipherString = DEFAULT:@SECLEVEL=0\n", encoding="ascii")

    def serve(version):
        """A listener that speaks this version alone; what became of each handshake."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_ciphers("DEFAULT:@SECLEVEL=0")
        context.load_cert_chain(certificate.path, certificate.key)
        context.minimum_version = context.maximum_version = version
        listener = socket.create_server(("127.0.0.1", 0))
        said = []

        def accept():
            connection, _ = listener.accept()
            try:
                with context.wrap_socket(connection, server_side=True) as tls:
                    said.append(tls.version())
                    tls.recv(65536)
                    tls.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            except OSError:
                said.append("refused")
        threading.Thread(target=accept, daemon=True).start()
        return listener, said

    # The control: by these settings a client that does not say more speaks 1.1.
    listener, said = serve(ssl.TLSVersion.TLSv1_1)
    subprocess.run(["curl", "-s", "--tlsv1.0", "--cacert", certificate.path,
                    f"https://127.0.0.1:{listener.getsockname()[1]}/"],
                   env={"OPENSSL_CONF": str(settings), "PATH": "/usr/bin"}, check=False, timeout=20)
    deadline.until("a handshake", lambda: said)
    assert said == ["TLSv1.1"]
    listener.close()
    sidecar = start(env={"OPENSSL_CONF": str(settings)})
    sidecar.subscribe()
    sidecar.call("configure", tls={"caFile": certificate.path})
    for id, version, expected in (("old", ssl.TLSVersion.TLSv1_1, "refused"),
                                  ("new", ssl.TLSVersion.TLSv1_2, "TLSv1.2")):
        listener, said = serve(version)
        enqueue(sidecar, f"https://127.0.0.1:{listener.getsockname()[1]}/", id=id, method="GET",
                retry={"backoff": NEVER})
        attempt = sidecar.event("attempt", id=id)
        assert attempt["outcome"] == ("error" if id == "old" else "completed")
        assert said == [expected]
        listener.close()
