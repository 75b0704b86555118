"""The frame vectors are sound: a plain reader of the rules reports what they say."""
import json
import pathlib

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "protocol" / "frames"
VECTORS = [(path.stem, vector) for path in sorted(FOLDER.glob("*.json"))
           for vector in json.loads(path.read_text(encoding="utf-8"))]


def expanded(value):
    """`value` with each $repeat written out."""
    if isinstance(value, dict):
        if set(value) == {"$repeat"}:
            text, times = value["$repeat"]
            return text * times
        return {name: expanded(member) for name, member in value.items()}
    return [expanded(item) for item in value] if isinstance(value, list) else value


def stream(vector):
    chunks = [expanded(chunk) for chunk in vector["chunks"]]
    return b"".join(bytes.fromhex(chunk["hex"]) if isinstance(chunk, dict) else chunk.encode()
                    for chunk in chunks)


def heard(line, waiting):
    try:
        message = json.loads(line.decode("utf-8", "strict"))
    except ValueError as error:
        return {"noise": "no UTF-8" if isinstance(error, UnicodeDecodeError) else "no JSON"}
    if not isinstance(message, dict):
        return {"noise": "no object"}
    if isinstance(message.get("method"), str):
        return {"event": message["method"], "params": message.get("params", {})}
    outcome = {name: message[name] for name in ("result", "error") if name in message}
    if not outcome:
        return {"noise": "no message"}
    if type(message.get("id")) is not int or message["id"] not in waiting:
        return {"noise": "no such call"}
    waiting.remove(message["id"])
    return {"answer": message["id"], **outcome}


@pytest.mark.parametrize("vector", [vector for _, vector in VECTORS], ids=lambda vector: vector["name"])
def test_a_plain_reader_reports_what_the_vector_says(vector):
    waiting = set(range(1, vector.get("calls", 0) + 1))
    whole = stream(vector).split(b"\n")[:-1]
    assert [heard(line, waiting) for line in whole if line.strip()] == expanded(vector["heard"])


def test_names_are_unique_and_members_are_known():
    assert len({vector["name"] for _, vector in VECTORS}) == len(VECTORS) >= 20
    for _, vector in VECTORS:
        assert set(vector) <= {"name", "calls", "chunks", "heard"}
        assert all(set(report) in ({"answer", "result"}, {"answer", "error"}, {"event", "params"}, {"noise"})
                   for report in vector["heard"])
