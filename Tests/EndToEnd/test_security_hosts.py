"""A host that means harm, or is mad: floods, lines without end, connections that say nothing."""
import email
import email.policy
import json
import os
import socket
import threading

import pytest

from endtoend import deadline
from endtoend.frames import RPCError
from endtoend.requests import NEVER, enqueue

PING = b'{"jsonrpc":"2.0","id":"%d","method":"ping"}\n'


def test_a_host_that_floods_and_never_reads_holds_up_no_other(start, server, directory):
    """Section 3: 300,000 requests without reading an answer; memory is bounded, since no more is read once
    --max-line bytes of answers wait, and another host is answered and its requests go out."""
    flooder = start("--max-line", str(1 << 20))
    flooder.call("ping")
    other = start(log=f"{directory}.second")
    other.subscribe("settled", window=1024)
    at_rest = flooder.resident()
    flooder.stop_reading()
    lines = b"".join(PING % n for n in range(300_000))

    def flood():
        try:
            flooder.send_raw(lines)
        except OSError:
            pass  # It is killed at the end, in the middle of this.
    writer = threading.Thread(target=flood, daemon=True)
    writer.start()
    for n in range(200):
        enqueue(other, server.url("/x"), id=str(n))
    outcomes = other.wait_events("settled", 200, 60)
    assert {outcome["kind"] for outcome in outcomes} == {"completed"}
    assert writer.is_alive(), "everything was read, and the answers are somewhere"
    assert flooder.resident(most=True) - at_rest < 32 << 20
    flooder.kill()
    writer.join(10)


def test_subscriptions_without_number_cost_no_memory(start, server):
    """Section 2: one subscription a connection; 20,000 of them leave the last."""
    sidecar = start()
    sidecar.call("ping")
    keys = [f"key-{n}" for n in range(200)]

    def subscribe(ids):
        lines = [json.dumps({"jsonrpc": "2.0", "id": f"s{n}", "method": "subscribe", "params": {
            "events": ["settled"], "keys": keys}}) for n in ids]
        sidecar.send_raw("\n".join([*lines, ""]).encode())
        assert sidecar.result(f"s{ids[-1]}", 60) == {}
    subscribe(range(2000))
    at_rest = sidecar.resident()
    subscribe(range(2000, 20_000))
    assert sidecar.resident() - at_rest < 8 << 20
    enqueue(sidecar, server.url("/x"), id="a", key="key-7")
    assert sidecar.settled("a")["deliveries"] == 1


@pytest.mark.parametrize("line", [
    b'{"jsonrpc":"2.0","id":1,"method":"enqueue","params":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001,
    b"[" * 1_000_000, b'{"jsonrpc":"2.0","id":1' + b"0" * 1_000_000 + b',"method":"ping"}',
    b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1e999999999}}',
    b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', b'{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}',
    b"\x00" * 100_000, b'{"jsonrpc":"2.0","id":"' + b"x" * 1_000_000 + b'","method":"ping"}',
    b'{"jsonrpc":"2.0","id":1,"method":"' + b"m" * 1_000_000 + b'"}'],
    ids=["deep objects", "deep arrays", "long number", "huge number", "two ids", "no UTF-8", "zeros",
         "long id", "long method"])
def test_a_rpc_10_a_mad_line_is_answered_once_and_soon(sidecar, line):
    """A-RPC-10, section 1: with a small error, and the next line is served."""
    sidecar.send_raw(line + b"\n")
    error = sidecar.wait("an error", lambda frame: "error" in frame)
    assert len(error.text) < 2000
    assert sidecar.call("ping")["now"] > 0
    assert len([frame for frame in sidecar.frames if "error" in frame]) == 1


def test_section_5_strangers_who_say_nothing_hold_up_nobody(start, server, directory):
    """Section 5: 100 connections of the same user, some with half a greeting, none with a whole one; hosts
    are served, attach and leave, and the process ends in time."""
    sidecar = start()
    sidecar.call("ping")
    strangers = []
    for n in range(100):
        stranger = socket.socket(socket.AF_UNIX)
        stranger.connect(str(directory / "socket"))
        if n % 2:
            stranger.sendall(b"outtray-attach 1 stay:100000")
        strangers.append(stranger)
    other = start(log=f"{directory}.second")
    other.subscribe()
    enqueue(other, server.url("/x"), id="a")
    assert other.settled("a")["kind"] == "completed"
    assert other.close() == 0
    assert sidecar.close(10) == 0
    for stranger in strangers:
        stranger.close()


@pytest.mark.parametrize("value", ["a\r\nX-Injected: 1", "a\nX-Injected: 1", "a\rb", "a\x01b"])
def test_a_url_06_commands_inject_no_header(command, start, server, tmp_path, value):
    """A-URL-06, D32: neither by the environment nor by a file nor by an argument; no value is repeated."""
    sidecar = start()
    sidecar.call("ping")
    source = tmp_path / "value"
    source.write_bytes(b"X-A: a\0X-Injected: 1\n")
    add = ("add", server.url("/x"), "--header-file", source)
    for name, *arguments in (("headers set", "X-A=env:VALUE"), add):
        refused = command(name, *map(str, arguments), env={"VALUE": value}, status=64)
        assert "Injected" not in refused.error
    assert "X-A" in command("headers set", "X-A=env:VALUE", env={"VALUE": value}, status=64).reason
    assert sidecar.rows() == []


@pytest.mark.parametrize("url", [
    "gopher://127.0.0.1:1/x", "data:text/plain,x", "http+unix://%2Ftmp%2Fs/", "unix:/tmp/s",
    "file:/etc/passwd", "http://127.0.0.1/\r\nX-Injected:%201", "http://a@b@127.0.0.1/",
    "http://127.0.0.1\\@evil.test/", "http://127.0.0.1:80:80/", "http://127.0.0.1:+80/",
    "http://127.0.0.1:0x50/",
    "http://%31%32%37.0.0.1/",
    "http://[::1]evil.test/", "http://evil.test%00.127.0.0.1/", " http://127.0.0.1/", "HTTP:127.0.0.1/"])
def test_d33_urls_that_say_two_things_are_refused(sidecar, url):
    """D33: at the call, by name."""
    with pytest.raises(RPCError) as refused:
        enqueue(sidecar, url)
    assert (refused.value.code, refused.value.path) == ("E_INVALID", "request.url")
    assert sidecar.rows() == []


def test_b36_form_names_and_types_bring_no_field_of_their_own(sidecar, server, tmp_path):
    """A-FORM-01 to A-FORM-03: quotes, line ends, a boundary and a NUL in names, and in a content type, which
    is refused; a parser of another kind reads the fields that were given."""
    names = ['a"; filename="evil.sh', 'b\r\nContent-Type: text/evil\r\n\r\nevil', "c\r\n--outtray", "d\\\"x"]
    source = tmp_path / "source"
    source.write_text("content", encoding="ascii")
    form = [{"name": name, "contentType": "text/plain", "string": "s"} for name in names]
    form += [{"name": "f", "contentType": "text/plain", "path": str(source), "fileName": name}
             for name in names]
    enqueue(sidecar, server.url("/x"), id="a", form=form)
    sidecar.settled("a")
    request = server.seen()[0]
    message = email.message_from_bytes(
        b"Content-Type: " + request.header("content-type").encode() + b"\r\n\r\n" + request.body,
        policy=email.policy.HTTP)
    parts = list(message.iter_parts())
    assert len(parts) == len(form)
    assert [part.get_content_type() for part in parts] == ["text/plain"] * len(form)
    assert [part.get_payload() for part in parts] == ["s"] * 4 + ["content"] * 4
    assert [part.get_filename() for part in parts][:4] == [None] * 4
    for content_type in ("text/plain\r\nX-Injected: 1", "a\nb", "a\0b"):
        with pytest.raises(RPCError) as refused:
            enqueue(sidecar, server.url("/x"), form=[
                {"name": "n", "contentType": content_type, "string": "s"}])
        assert refused.value.path == "request.form[0].contentType"


def test_a_file_07_a_host_that_wants_every_descriptor_gets_answers(start, tmp_path):
    """A-FILE-07: 2000 enqueues of files at once under a limit of 128 descriptors are each answered."""
    source = tmp_path / "source"
    source.write_bytes(os.urandom(1000))
    sidecar = start(under=["prlimit", "--nofile=128"])
    sidecar.call("pause")
    asked = [sidecar.send("enqueue", {"key": "k", "request": {
        "url": "http://127.0.0.1:9/", "method": "PUT", "file": str(source)}}) for _ in range(2000)]
    answers = [sidecar.answer(id, 60) for id in asked]
    assert all("result" in answer or answer["error"]["data"]["code"] == "E_STORAGE" for answer in answers)
    deadline.until("rows", lambda: len(sidecar.rows()) == sum("result" in answer for answer in answers))


@pytest.mark.parametrize("name", ["caFile", "certFile", "keyFile"])
def test_d24_a_fifo_for_tls_holds_up_nobody(sidecar, server, certificate, tmp_path, name):
    """D24: libcurl would wait for a writer on the thread of every transfer; the entry that needs the file
    fails as `network` and says which it is."""
    fifo = str(tmp_path / "fifo")
    os.mkfifo(fifo)
    own = {"certFile": certificate.path, "keyFile": certificate.key, name: fifo}
    authority = own.pop("caFile", certificate.path)
    tls = {"caFile": authority, "hosts": {"127.0.0.1": own}}
    sidecar.call("configure", tls=tls)
    enqueue(sidecar, server.url("/x").replace("http:", "https:"), id="a", retry={"backoff": NEVER})
    attempt = sidecar.event("attempt", id="a")
    assert attempt["errorKind"] == "network" and "not a regular file" in attempt["errorMessage"]
    enqueue(sidecar, server.url("/small"), id="b")
    assert sidecar.settled("b")["kind"] == "completed"
