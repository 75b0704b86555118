"""Bodies on the wire: none, data, file."""
import hashlib
import json
import os
import socket
import threading
import time

import pytest

from endtoend import deadline, rawserver
from endtoend.frames import RPCError
from endtoend.requests import FAST, enqueue


def files_of(directory, size):
    """The files under the queue's directory that have this size."""
    return [place for place in directory.rglob("*") if place.is_file() and place.stat().st_size == size]


def test_a_body_01_a_post_without_a_body_does_not_read_stdin(sidecar, server):
    """A-BODY-01: Content-Length 0, no default Content-Type; the line behind it is answered, not sent."""
    params = {"id": "a", "key": "k", "request": {"url": server.url("/none")}}
    line = json.dumps({"jsonrpc": "2.0", "id": "e", "method": "enqueue", "params": params})
    sidecar.send_raw((line + '\n{"jsonrpc":"2.0","id":"p","method":"ping","params":{}}\n').encode())
    assert "result" in sidecar.answer("p")
    assert sidecar.settled("a")["response"]["status"] == 200
    request = server.seen("/none")[0]
    assert (request.method, request.length, request.chunked, request.body) == ("POST", 0, False, b"")
    assert request.values("content-type") == []


@pytest.mark.parametrize("method, lengths", [
    ("POST", ["0"]), ("PUT", ["0"]), ("PATCH", ["0"]), ("DELETE", ["0", None]), ("GET", [None])])
def test_a_body_02_which_bodyless_methods_carry_a_length(sidecar, server, method, lengths):
    """A-BODY-02: never chunked."""
    enqueue(sidecar, server.url("/none"), id="a", method=method)
    sidecar.settled("a")
    request = server.seen("/none")[0]
    assert request.method == method
    assert request.header("content-length") in lengths
    assert not request.chunked


def test_a_body_03_an_empty_file_is_a_body_of_length_0(sidecar, server, tmp_path):
    """A-BODY-03, D9."""
    empty = tmp_path / "empty"
    empty.touch()
    enqueue(sidecar, server.url("/put"), id="a", method="PUT", file=str(empty))
    outcome = sidecar.settled("a")
    assert (outcome["kind"], outcome["bytesSent"], outcome["totalBytes"]) == ("completed", 0, 0)
    assert [request.length for request in server.seen()] == [0]
    assert all((event["bytesSent"], event["totalBytes"]) == (0, 0) for event in sidecar.events("progress"))


@pytest.mark.parametrize("text", ["null", "false", "0", '""', "[]", "{}"])
def test_a_body_05_falsy_data_is_a_body(sidecar, server, text):
    """A-BODY-05, B9: null, false, 0, "" and [] are sent as JSON."""
    enqueue(sidecar, server.url("/json"), id="a", data=json.loads(text))
    sidecar.settled("a")
    request = server.seen("/json")[0]
    assert request.body == text.encode()
    assert request.header("content-type").startswith("application/json")


DATA = ('{ "b":1.0,"a":9007199254740993,"u":"a/b \\/ \\u00e9 \u00e9 \\ud83d\\ude00",'
        '"e":-0,"x":[1e30 ],"b":2 }')


def test_a_body_06_data_goes_out_exactly_as_it_stood_in_the_line(sidecar, server):
    """A-BODY-06: number spelling, escapes, order, duplicates and blanks; also across a retry."""
    server.on("/json", rawserver.reply(503), rawserver.reply())
    sidecar.send_line('{"jsonrpc":"2.0","id":"e","method":"enqueue","params":{"id":"a","key":"k","request":'
                      '{"data":%s,"url":"%s","retry":{"backoff":%s}}}}'
                      % (DATA, server.url("/json"), json.dumps(FAST)))
    sidecar.result("e")
    sidecar.settled("a")
    assert [request.body for request in server.seen()] == [DATA.encode()] * 2


def test_a_body_06_data_survives_a_restart_exactly(start, server):
    """A-BODY-06: what is stored is the text."""
    first = start()
    first.call("pause")
    first.send_line('{"jsonrpc":"2.0","id":"e","method":"enqueue","params":{"id":"a","key":"k","request":'
                    '{"url":"%s","data":%s}}}' % (server.url("/json"), DATA))
    first.result("e")
    first.kill()
    second = start()
    second.subscribe()
    second.call("resume")
    second.settled("a")
    assert [request.body for request in server.seen()] == [DATA.encode()]


@pytest.mark.parametrize("size", [1, 16383, 16384, 16385, 65535, 65536, 65537, 475020, 3_000_001])
def test_a_body_09_sizes_at_the_edge_of_buffers_arrive_whole(sidecar, server, tmp_path, size):
    """A-BODY-09, D27: also around the size from which a body is a file of its own."""
    content = os.urandom(size)
    body = tmp_path / "body"
    body.write_bytes(content)
    enqueue(sidecar, server.url("/put"), id="a", method="PUT", file=str(body))
    body.unlink()
    outcome = sidecar.settled("a")
    request = server.seen("/put")[0]
    assert (request.length, request.sha256) == (size, hashlib.sha256(content).hexdigest())
    assert (outcome["bytesSent"], outcome["totalBytes"]) == (size, size)


def test_b137_a_copied_file_may_be_changed_once_the_call_is_answered(sidecar, server, tmp_path):
    """B137: the copy is the queue's own; the source is left where it is."""
    body = tmp_path / "body"
    body.write_bytes(b"first" * 50_000)
    sidecar.call("pause")
    enqueue(sidecar, server.url("/put"), id="a", method="PUT", file=str(body))
    with open(body, "r+b") as source:
        source.write(b"other")
    sidecar.call("resume")
    sidecar.settled("a")
    assert server.seen()[0].body == b"first" * 50_000
    assert body.exists()


def test_b132_json_content_type_unless_the_caller_sets_one(sidecar, server):
    """B132: the caller's Content-Type, in any case, stays alone."""
    enqueue(sidecar, server.url("/a"), id="a", data=1, headers={"content-TYPE": "application/vnd.x+json"})
    sidecar.settled("a")
    assert server.seen()[0].values("content-type") == ["application/vnd.x+json"]


def test_a_file_03_a_body_that_vanished_settles_as_file(sidecar, server, tmp_path, directory):
    """A-FILE-03: no further request; one outcome, error kind file."""
    body = tmp_path / "body"
    body.write_bytes(bytes(300_000))
    server.on("/put", rawserver.reply(503))
    enqueue(sidecar, server.url("/put"), id="a", method="PUT", file=str(body),
            retry={"backoff": {"baseMs": 2000, "maxMs": 2000, "jitter": 0}})
    sidecar.event("attempt", id="a")
    staged = files_of(directory, 300_000)
    assert len(staged) == 1
    staged[0].unlink()
    outcome = sidecar.settled("a")
    assert (outcome["kind"], outcome["error"]["errorKind"]) == ("error", "file")
    assert len(server.seen()) == 1


def test_a_file_02_a_body_cut_short_on_disk_settles_as_file(sidecar, server, tmp_path, directory):
    """A-FILE-02, D30: the attempt ends at once, and the connection is not used again."""
    body = tmp_path / "body"
    body.write_bytes(bytes(300_000))
    sidecar.call("pause")
    enqueue(sidecar, server.url("/put"), id="a", method="PUT", file=str(body))
    staged = files_of(directory, 300_000)[0]
    os.truncate(staged, 100)
    started = time.monotonic()
    sidecar.call("resume")
    outcome = sidecar.settled("a")
    assert (outcome["kind"], outcome["error"]["errorKind"]) == ("error", "file")
    assert time.monotonic() - started < 10
    assert not any(request.whole for request in server.seen())


def test_a_file_04_sources_that_are_no_regular_files_are_refused_at_once(sidecar, tmp_path):
    """A-FILE-04, D29: directory, FIFO, device, socket; pings go on meanwhile."""
    fifo, place = tmp_path / "fifo", tmp_path / "socket"
    os.mkfifo(fifo)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place))
        for source in (tmp_path, fifo, "/dev/zero", place):
            call = sidecar.send("enqueue", {"key": "k", "request": {
                "url": "http://127.0.0.1:9/", "method": "PUT", "file": str(source)}})
            sidecar.result(sidecar.send("ping"), 5)
            with pytest.raises(RPCError) as refused:
                sidecar.result(call, 5)
            assert refused.value.code == "E_INVALID"
            assert refused.value.path == "request.file"
    assert sidecar.rows() == []


def test_a_file_05_a_missing_source_is_refused(sidecar, tmp_path):
    """A-FILE-05: E_FILE_MISSING, no row."""
    with pytest.raises(RPCError) as refused:
        enqueue(sidecar, "http://127.0.0.1:9/", method="PUT", file=str(tmp_path / "none"))
    assert (refused.value.number, refused.value.code) == (1002, "E_FILE_MISSING")
    assert sidecar.rows() == []


@pytest.mark.parametrize("path", ["relative", "", "file://relative/x"])
def test_d29_paths_that_are_not_absolute_are_refused(sidecar, path):
    """D29."""
    with pytest.raises(RPCError) as refused:
        enqueue(sidecar, "http://127.0.0.1:9/", method="PUT", file=path)
    assert (refused.value.code, refused.value.path) == ("E_INVALID", "request.file")


def test_d29_a_path_inside_the_queue_is_refused(sidecar, directory):
    """D29."""
    (directory / "mine").write_bytes(b"x")
    with pytest.raises(RPCError) as refused:
        enqueue(sidecar, "http://127.0.0.1:9/", method="PUT", file=str(directory / "mine"))
    assert refused.value.code == "E_INVALID"


def test_d29_a_file_url_names_any_byte(sidecar, server, tmp_path):
    """D29, B126: percent-decoded, also to bytes that are no UTF-8."""
    name = os.fsencode(tmp_path) + b"/a b\xff%"
    with open(name, "wb") as body:
        body.write(b"odd name")
    url = "file://" + os.fsdecode(os.fsencode(tmp_path)) + "/a%20b%FF%25"
    enqueue(sidecar, server.url("/put"), id="a", method="PUT", file=url)
    sidecar.settled("a")
    assert server.seen()[0].body == b"odd name"


def test_d27_no_body_is_left_once_the_outcome_is_acknowledged(sidecar, server, tmp_path, directory):
    """D27: an acknowledged, a cancelled and a refused body are unlinked; the source stays."""
    body = tmp_path / "body"
    body.write_bytes(bytes(1_000_000))

    enqueue(sidecar, server.url("/put"), id="a", method="PUT", file=str(body))
    outcome = sidecar.settled("a")
    assert len(files_of(directory, 1_000_000)) == 1
    sidecar.ack(outcome)
    deadline.until("the body of a is gone", lambda: not files_of(directory, 1_000_000))
    sidecar.call("pause")
    enqueue(sidecar, server.url("/put"), id="b", method="PUT", file=str(body))
    sidecar.call("cancel", id="b")
    sidecar.ack(sidecar.settled("b"))
    deadline.until("the body of b is gone", lambda: not files_of(directory, 1_000_000))
    assert body.stat().st_size == 1_000_000
    assert sidecar.rows() == []


def test_a_file_08_a_retry_starts_from_byte_0(sidecar, server, tmp_path):
    """A-FILE-08: the second attempt sends the whole body; 2 attempts, 1 outcome."""
    content = os.urandom(1 << 20)
    body = tmp_path / "body"
    body.write_bytes(content)
    server.on("/put", rawserver.hang_up(1 << 19), rawserver.reply())
    enqueue(sidecar, server.url("/put"), id="a", method="PUT", file=str(body))
    outcome = sidecar.settled("a")
    assert outcome["attempts"] == 2
    assert server.seen()[1].sha256 == hashlib.sha256(content).hexdigest()
    assert len(sidecar.events("settled")) == 1


def test_a_large_copy_does_not_hold_up_the_wire(sidecar, server, tmp_path):
    """architecture: while 200 MB are staged, pings are answered and other entries go out."""
    body = tmp_path / "body"
    with open(body, "wb") as out:
        for _ in range(50):
            out.write(os.urandom(1 << 22))
    sidecar.call("pause", keys=["big"])
    call = sidecar.send("enqueue", {"id": "big", "key": "big", "request": {
        "url": server.url("/put"), "method": "PUT", "file": str(body)}})
    answered = 0
    staged = threading.Event()
    threading.Thread(target=lambda: (sidecar.result(call, 60), staged.set()), daemon=True).start()
    while not staged.is_set():
        sidecar.call("ping")
        answered += 1
    assert answered > 3
