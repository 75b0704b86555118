"""Bytes in, messages out: the vectors of protocol/frames, and what the pending table does."""

import json
import re
import time

import pytest
from play import WILDCARD, read_conversation
from rig import ROOT

from outtray import OuttrayError
from outtray._connection import Answer, Connection, Event, Noise
from outtray._json import Text, object_text

VECTORS = [
    vector
    for path in sorted((ROOT / "protocol" / "frames").glob("*.json"))
    for vector in json.loads(path.read_text(encoding="utf-8"))
]
CONVERSATIONS = sorted((ROOT / "protocol" / "conversations").rglob("*.jsonl"))


def expanded(value):
    if isinstance(value, dict):
        if set(value) == {"$repeat"}:
            return value["$repeat"][0] * value["$repeat"][1]
        return {name: expanded(member) for name, member in value.items()}
    return [expanded(item) for item in value] if isinstance(value, list) else value


def chunks_of(vector):
    for chunk in vector["chunks"]:
        chunk = expanded(chunk)
        yield bytes.fromhex(chunk["hex"]) if isinstance(chunk, dict) else chunk.encode()


def report(heard):
    if isinstance(heard, Event):
        return {"event": heard.method, "params": heard.params}
    if isinstance(heard, Noise):
        return {"noise": ""}
    outcome = {name: heard.message[name] for name in ("result", "error") if name in heard.message}
    return {"answer": heard.id, **outcome}


def replay(vector, chunks):
    connection = Connection()
    for number in range(vector.get("calls", 0)):
        connection.call("ping", Text("{}"), number)
    heard = [report(one) for chunk in chunks for one in connection.receive(chunk)]
    expected = [{"noise": ""} if "noise" in one else one for one in expanded(vector["heard"])]
    assert heard == expected


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_frame_vectors(vector):
    chunks = list(chunks_of(vector))
    replay(vector, chunks)
    replay(vector, [b"".join(chunks)])
    if sum(map(len, chunks)) < 1 << 20:
        replay(vector, [bytes([byte]) for byte in b"".join(chunks)])


def filled(value):
    if isinstance(value, dict):
        return {name: filled(member) for name, member in value.items()}
    if isinstance(value, list):
        return [filled(item) for item in value]
    wildcard = WILDCARD.fullmatch(value) if isinstance(value, str) else None
    return {"int": 7, "any": None}.get(wildcard[1], "made") if wildcard else value


@pytest.mark.parametrize("path", CONVERSATIONS, ids=lambda path: path.stem)
def test_every_message_of_the_conversations_is_understood(path):
    connection = Connection()
    lines = read_conversation(path)
    calls = {}
    for _, mark, text in lines:
        if mark == ">":
            called = re.search(r'"id":(\d+),"method":"([\w.]+)"', text)
            if called and called[1] not in calls:
                connection.call(called[2], Text("{}"), called[1])
                calls[called[1]] = connection._next_id - 1
            continue
        message = filled(json.loads(text))
        if json.dumps(message.get("id")) in calls:
            message["id"] = calls.pop(json.dumps(message["id"]))
        line = json.dumps(message, ensure_ascii=False).encode() + b"\n"
        kind = Event if "method" in message else Answer if isinstance(message["id"], int) else Noise
        if isinstance(message.get("id"), int) and message["id"] < 0:
            kind = Noise
        assert [type(heard) for heard in connection.receive(line)] == [kind]


def test_thousands_of_calls_in_flight_get_their_own_answers():
    connection = Connection()
    ids = {}
    for number in range(5000):
        frame = json.loads(connection.call("cancel", object_text([("id", f"n{number}")]), number))
        ids[frame["id"]] = number
    assert len(ids) == 5000
    lines = b"".join(b'{"jsonrpc":"2.0","id":%d,"result":{}}\n' % call for call in reversed(list(ids)))
    assert [(one.id, one.waiter) for one in connection.receive(lines)] == list(reversed(list(ids.items())))
    assert connection.end() == []


def test_a_line_over_the_limit_is_refused_before_it_is_sent():
    connection = Connection()
    connection.max_line = 200
    with pytest.raises(OuttrayError, match="at most 200") as caught:
        connection.call("enqueue", object_text([("id", "x" * 200)]), 1)
    assert caught.value.code == "E_LINE_TOO_LONG"
    assert connection.end() == []


def test_the_end_gives_back_what_waits():
    connection = Connection()
    connection.call("ping", Text("{}"), "a")
    connection.call("stats", Text("{}"), "b")
    assert connection.end() == [("ping", "a"), ("stats", "b")]
    assert connection.end() == []


def test_a_long_line_in_small_pieces_takes_linear_time():
    connection = Connection()
    line = b'{"jsonrpc":"2.0","method":"x","params":{"a":"' + b"y" * 10_000_000 + b'"}}\n'
    began = time.process_time()
    heard = [one for at in range(0, len(line), 8192) for one in connection.receive(line[at : at + 8192])]
    assert len(heard) == 1
    assert time.process_time() - began < 2


def test_frames_are_raw_utf8_on_one_line():
    frame = Connection().call("cancel", object_text([("id", "é\u2028\n😀")]), 1)
    assert frame.count(b"\n") == 1 and frame.endswith(b"\n")
    assert json.loads(frame)["params"] == {"id": "é\u2028\n😀"}
