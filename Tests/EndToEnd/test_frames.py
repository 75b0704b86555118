"""Section 1 of the protocol against the real binary: lines, ids, errors, order."""
import json

import pytest

from endtoend import deadline
from endtoend.frames import RPCError
from endtoend.requests import enqueue

PING = '{"jsonrpc":"2.0","id":%s,"method":"ping","params":{}}'


def after(sidecar, *lines, since=None):
    """Sends these lines and a ping; returns the frames from `since`, else from now, to the ping's answer."""
    since = sidecar.position() if since is None else since
    for line in lines:
        sidecar.send_raw(line if isinstance(line, bytes) else line.encode("utf-8") + b"\n")
    sidecar.send_line(PING % '"after"')
    sidecar.wait("the ping's answer", lambda frame: frame.get("id") == "after", since)
    return sidecar.frames[since:]


def error_of(frames):
    """The one error frame among them."""
    errors = [frame for frame in frames if "error" in frame]
    assert len(errors) == 1, frames
    return errors[0]


def test_a_ping_is_answered_without_initialize(sidecar):
    """`initialize` is optional."""
    assert sidecar.call("ping")["now"] > 1_600_000_000_000


def test_initialize_tells_version_role_and_limits(start, directory):
    """Section 2: initialize."""
    sidecar = start()
    told = sidecar.call("initialize", protocolVersion=1, client={"name": "tests", "version": "1"})
    assert told["protocolVersion"] == 1
    assert told["server"]["name"] == "outtray"
    assert told["pid"] == sidecar.process.pid
    assert told["dir"] == str(directory)
    assert told["role"] == "owner"
    assert told["limits"]["maxLine"] == 64 * 1024 * 1024
    assert told["limits"]["maxVars"] == 8 * 1024 * 1024
    assert told["limits"]["maxInFlight"] == 4096


def test_initialize_of_another_version_is_refused_and_the_stream_goes_on(start):
    """Section 4: E_VERSION with data.supported."""
    sidecar = start()
    with pytest.raises(RPCError) as refused:
        sidecar.call("initialize", protocolVersion=2, client={"name": "tests", "version": "1"})
    assert (refused.value.number, refused.value.code) == (1005, "E_VERSION")
    assert refused.value.data["supported"] == [1]
    sidecar.call("ping")


@pytest.mark.parametrize("line, number, code, id", [
    ("not json", -32700, "E_PARSE", None),
    ('{"jsonrpc":"2.0","id":7', -32700, "E_PARSE", None),
    (b'{"jsonrpc":"2.0","method":"ping","params":{"a":"\xff"},"id":7}\n', -32700, "E_PARSE", None),
    ("[]", -32600, "E_REQUEST", None),
    ('[{"jsonrpc":"2.0","id":7,"method":"ping"},{"jsonrpc":"2.0","id":8,"method":"ping"}]', -32600,
     "E_REQUEST", None),
    ("17", -32600, "E_REQUEST", None),
    ('{"id":7,"method":"ping"}', -32600, "E_REQUEST", 7),
    ('{"jsonrpc":"1.0","id":7,"method":"ping"}', -32600, "E_REQUEST", 7),
    ('{"jsonrpc":"2.0","id":7}', -32600, "E_REQUEST", 7),
    ('{"jsonrpc":"2.0","id":7,"method":5}', -32600, "E_REQUEST", 7),
    ('{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, "E_REQUEST", None),
    ('{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600, "E_REQUEST", None),
    ('{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600, "E_REQUEST", None),
    ('{"jsonrpc":"2.0","id":9007199254740992,"method":"ping"}', -32600, "E_REQUEST", None),
    ('{"jsonrpc":"2.0","id":"%s","method":"ping"}' % ("x" * 129), -32600, "E_REQUEST", None),
    ('{"jsonrpc":"2.0","id":7,"method":"pong"}', -32601, "E_METHOD", 7),
    ('{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}', -32602, "E_INVALID", 7),
    ('{"jsonrpc":"2.0","id":7,"method":"ping","method":"ping"}', -32602, "E_INVALID", 7),
    ('{"jsonrpc":"2.0","id":7,"method":"cancel","params":{"id":"a","id":"b"}}', -32602, "E_INVALID", 7),
])
def test_a_bad_line_is_answered_once_and_the_stream_goes_on(sidecar, line, number, code, id):
    """Sections 1 and 4: each malformed line gets its error, and the next request its answer."""
    frames = after(sidecar, line)
    error = error_of(frames)
    assert (error["error"]["code"], error["error"]["data"]["code"], error["id"]) == (number, code, id)
    assert [frame["id"] for frame in frames] == [id, "after"]


def test_blank_lines_notifications_and_a_bom_at_the_start_are_taken(start):
    """Section 1: a BOM at byte 0, blank lines; notifications get no answer."""
    sidecar = start()
    notification = '{"jsonrpc":"2.0","method":"ping","params":{}}'
    frames = after(sidecar, b"\xef\xbb\xbf" + (PING % 1).encode() + b"\n", "", "\r", notification)
    assert [frame["id"] for frame in frames] == [1, "after"]
    assert "error" not in frames[0]


def test_a_bom_later_is_an_error(sidecar):
    """Section 1: one BOM at byte 0, nowhere else."""
    frames = after(sidecar, b"\xef\xbb\xbf" + (PING % 1).encode() + b"\n")
    assert error_of(frames)["error"]["data"]["code"] == "E_PARSE"


def test_a_rpc_04_lines_that_end_with_cr_lf_are_answered(sidecar):
    """A-RPC-04: CR LF line ends; what is written ends with LF only (the harness checks each line)."""
    frames = after(sidecar, PING % 1 + "\r", PING % 2 + "\r")
    assert [frame["id"] for frame in frames] == [1, 2, "after"]


def test_a_rpc_07_messages_split_at_every_byte_or_glued_together_are_answered(sidecar):
    """A-RPC-07: one read is not one message."""
    for byte in (PING % '"\U0001f600"' + "\n").encode("utf-8"):
        sidecar.send_raw(bytes([byte]))
    assert "result" in sidecar.answer("\U0001f600")
    sidecar.send_raw("".join(PING % number + "\n" for number in (11, 12, 13)).encode())
    for number in (11, 12, 13):
        assert "result" in sidecar.answer(number)


@pytest.mark.parametrize("id", [
    '"a\\u00e9"', '"é"', "2147483648", "9007199254740991", "-9007199254740991", "0", '"0"',
    '"' + "x" * 128 + '"', '"a/b"'])
def test_ids_are_echoed_as_they_were_written(sidecar, id):
    """Section 1: the id of an answer is the text of the request's id."""
    sidecar.send_line(PING % id)
    answer = sidecar.answer(json.loads(id))
    assert f'"id":{id}' in answer.text.replace(" ", "")


def test_an_id_in_flight_is_refused_without_answering_the_first_caller_wrongly(sidecar, server, tmp_path):
    """Section 1: E_DUPLICATE_ID comes with id null and data.id; the first call is answered once."""
    body = tmp_path / "body"
    body.write_bytes(bytes(64 * 1024 * 1024))
    request = {"url": server.url("/x"), "method": "PUT", "file": str(body)}
    params = {"key": "k", "request": request}
    first = json.dumps({"jsonrpc": "2.0", "id": "same", "method": "enqueue", "params": params})
    sidecar.send_raw((first + "\n" + PING % '"same"' + "\n").encode())
    error = sidecar.wait("an error without id", lambda frame: "error" in frame and frame["id"] is None)
    assert error["error"]["code"] == -32600
    assert (error["error"]["data"]["code"], error["error"]["data"]["id"]) == ("E_DUPLICATE_ID", "same")
    assert sidecar.answer("same")["result"]["disposition"] == "created"


def test_every_request_of_a_burst_gets_one_answer(sidecar):
    """Section 1: exactly one response, whatever happens."""
    ids = range(10_000, 15_000)
    after(sidecar, *(PING % number for number in ids))
    deadline.until("5001 answers", lambda: len(sidecar.frames) >= len(ids) + 2)
    answered = [frame["id"] for frame in sidecar.frames if frame.get("id") in ids]
    assert sorted(answered) == list(ids)


@pytest.mark.parametrize("method, params, path, hint", [
    ("ping", {"x": 1}, "x", None),
    ("pause", {"key": ["a"]}, "key", "keys"),
    ("enqueue", {"key": "k", "var": {}, "request": {"url": "http://127.0.0.1/"}}, "var", "vars"),
    ("enqueue", {"key": "k", "request": {"url": "http://127.0.0.1/", "header": {}}},
     "request.header", "headers"),
    ("enqueue", {"key": "k", "request": {"url": "http://127.0.0.1/", "retry": {"backof": {}}}},
     "request.retry.backof", "backoff"),
    ("enqueue", {"request": {"url": "http://127.0.0.1/"}}, "key", None),
    ("cancel", {}, "id", None),
    ("cancel", {"id": 5}, "id", None),
    ("setWifiOnly", {"wifiOnly": "yes"}, "wifiOnly", None),
    ("subscribe", {"events": ["states"]}, "events[0]", None),
    ("subscribe", {"events": ["state"], "window": 1025}, "window", None),
    ("ackEvents", {"eventIds": "a"}, "eventIds", None),
    ("configure", {"concurrency": {"total": 0, "reservedHigh": 0, "partsPerEntry": 1}},
     "concurrency.total", None),
])
def test_wrong_params_are_refused_with_their_path(sidecar, method, params, path, hint):
    """Section 1: unknown, misplaced and malformed members are refused by name, with the nearest name."""
    with pytest.raises(RPCError) as refused:
        sidecar.call(method, **params)
    assert (refused.value.number, refused.value.code, refused.value.path) == (-32602, "E_INVALID", path)
    if hint:
        assert hint in refused.value.message
    assert sidecar.rows() == []


def test_a_rpc_10_json_that_no_value_can_hold_is_refused_with_its_own_id(sidecar):
    """A-RPC-10: a lone surrogate, deep nesting, a number past every double get E_INVALID and their id."""
    for number, vars in enumerate(['{"a":"\\ud800"}', "[" * 600 + "]" * 600, "[1e400]"]):
        sidecar.send_line('{"jsonrpc":"2.0","id":%d,"method":"enqueue","params":{"key":"k","vars":%s,'
                          '"request":{"url":"http://127.0.0.1:9/"}}}' % (100 + number, vars))
        with pytest.raises(RPCError) as refused:
            sidecar.result(100 + number)
        assert (refused.value.number, refused.value.code) == (-32602, "E_INVALID")
        assert refused.value.path.startswith("vars")
    assert sidecar.rows() == []


@pytest.mark.parametrize("member", ["vars", "data"])
@pytest.mark.parametrize("text", [
    "", "{'a':1}", "[1,]", '{"a":1,}', "NaN", "-Infinity", "01", "+1", ".5", "[1]]", '"\t"', "1/**/", "nul",
    '{"a" 1}', '"\\x41"', "[1 2]", '{"a":1}{}'])
def test_b118_vars_and_data_are_strict_json(sidecar, member, text):
    """B118: no leniency, nothing behind the end, not empty; nothing is kept, and the stream goes on."""
    parts = {"vars": "null", "data": "null", member: text}
    sidecar.send_line('{"jsonrpc":"2.0","id":"x","method":"enqueue","params":{"key":"k","vars":%s,"request":'
                      '{"url":"http://127.0.0.1:9/","data":%s}}}' % (parts["vars"], parts["data"]))
    refused = sidecar.wait("an error", lambda frame: "error" in frame)
    assert refused["error"]["code"] == -32700
    assert sidecar.rows() == []


VARS = '{ "b":1.0,"a":9007199254740993,"n":null,"a":"x/y\\u00e9\\/","e":1E5,"s":"\u0085\\u2028\\u000b" }'


def test_vars_come_back_byte_for_byte(sidecar):
    """Section 1, B8: nulls, key order, number spelling, duplicates and blanks stay as written."""
    sidecar.call("pause")
    sidecar.send_line('{"jsonrpc":"2.0","id":"v","method":"enqueue","params":{"id":"e","key":"k","vars":%s,'
                      '"request":{"url":"http://127.0.0.1:9/"}}}' % VARS)
    sidecar.result("v")
    sidecar.answer(sidecar.send("getRequests"))
    assert VARS in sidecar.frames[-1].text


def test_a_rpc_05_separators_in_strings_survive_and_are_escaped_on_the_wire(sidecar):
    """A-RPC-05: U+2028 and U+2029 come back equal, and never raw (the harness checks each line)."""
    sidecar.call("pause")
    text = "a\u2028b\u2029c\u0085d\u000be\u000cf\u007fg"
    enqueue(sidecar, "http://127.0.0.1:9/", id="e", vars={"t": text})
    assert sidecar.row("e")["vars"] == {"t": text}
    line = sidecar.frames[-1].text
    assert "\\u2028" in line and "\\u2029" in line and "\\u007f" in line.lower()


def test_a_rpc_09_an_endless_line_costs_no_memory_and_is_answered_once(start):
    """A-RPC-09: a line over --max-line is discarded up to its LF, and the stream goes on."""
    sidecar = start("--max-line", str(1 << 20))
    sidecar.call("ping")
    before = sidecar.resident()
    piece = b"x" * (1 << 20)
    for _ in range(300):
        sidecar.send_raw(piece)
    grown = sidecar.resident() - before
    frames = after(sidecar, b"\n", since=1)
    assert grown < 16 << 20, f"{grown} bytes"
    error = error_of(frames)
    assert error["error"]["code"] == -32700
    assert (error["error"]["data"]["code"], error["id"]) == ("E_LINE_TOO_LONG", None)


@pytest.mark.parametrize("over, code", [(0, None), (1, "E_LINE_TOO_LONG")])
def test_the_longest_line_is_the_limit_itself(start, over, code):
    """Section 1: maxLine bytes pass, one more does not; the LF is not counted."""
    sidecar = start("--max-line", "5000")
    line = PING.replace('"ping"', '"%s"') % ("1", "")
    sidecar.send_line(line.replace('""', '"' + "m" * (5000 + over - len(line)) + '"'))
    answer = sidecar.wait("an error", lambda frame: "error" in frame)
    assert answer["error"]["data"]["code"] == (code or "E_METHOD")


def test_nothing_is_sent_unasked_before_subscribe(start, server):
    """Section 3: events go only to a connection that subscribed."""
    sidecar = start()
    enqueue(sidecar, server.url("/a"), id="a")
    sidecar.wait_state("a", "completed")
    assert [frame for frame in sidecar.frames if "method" in frame] == []


def test_a_deliv_05_the_reply_to_enqueue_precedes_every_event_of_its_entry(start, server):
    """A-DELIV-05, section 1: 200 entries with a server that answers at once."""
    sidecar = start()
    sidecar.subscribe(window=1024)
    ids = [sidecar.send("enqueue", {"id": f"e{number}", "key": "k", "request": {"url": server.url("/now")}})
           for number in range(200)]
    for id in ids:
        sidecar.result(id)
    outcomes = [sidecar.settled(f"e{number}") for number in range(200)]
    assert all(outcome["deliveries"] == 1 for outcome in outcomes)
    replied = set()
    for frame in sidecar.frames:
        if "method" in frame:
            assert frame["params"]["id"] in replied
        elif frame["id"] in ids:
            replied.add(frame["result"]["id"])


def test_rpc_discover_returns_the_document_with_every_method(sidecar):
    """Section 2: rpc.discover."""
    document = sidecar.call("rpc.discover")
    names = {method["name"] for method in document["methods"]}
    assert {"initialize", "configure", "enqueue", "cancel", "pause", "resume", "setWifiOnly", "setNetwork",
            "updateHeaders", "getRequests", "subscribe", "unsubscribe", "ackEvents", "releaseEvents",
            "takeDiagnostics", "chunkPlan", "stats", "ping", "shutdown", "rpc.discover"} <= names


def test_a_rpc_11_calls_of_every_kind_leave_only_frames_on_stdout(sidecar, server, tmp_path):
    """A-RPC-11: every line of stdout is a frame, whatever is called (the harness checks each line)."""
    missing = str(tmp_path / "no")
    for number in range(300):
        sidecar.send_line(PING % f'"ping {number}"')
        sidecar.send("enqueue", {"id": f"e{number}", "key": "k", "request": {"url": server.url("/a")}})
        sidecar.send("enqueue", {"key": "k", "request": {"url": server.url("/a"), "file": missing}})
        sidecar.send("enqueue", {"key": "k", "request": {"url": "https://127.0.0.1:9/"}})
        sidecar.send("cancel", {"id": f"e{number}"})
        sidecar.send_line("no json")
    sidecar.answer(sidecar.send("stats"))
    sidecar.check()
