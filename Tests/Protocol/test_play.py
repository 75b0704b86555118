"""The recorded conversations are sound, and the player tells a good sidecar from a bad one."""
import json
import pathlib
import subprocess
import sys

import pytest

import play

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAKE = str(ROOT / "Tests" / "Protocol" / "fake_sidecar.py")
FILES = sorted((ROOT / "protocol" / "conversations").glob("*.jsonl"))
PING = ROOT / "protocol" / "conversations" / "ping.jsonl"


def command(path, fault="none"):
    return [sys.executable, FAKE, str(path), fault]


def test_the_first_five_are_there():
    names = {path.stem for path in FILES}
    assert names >= {"ping", "bad-frames", "enqueue-paused", "chunk-plan", "initialize-version"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_sidecar_that_keeps_to_the_conversation_passes(path, validator):
    assert play.play(command(path), path, validator) is None


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_call_that_gets_a_result_is_right(path, validator):
    lines = play.read_conversation(path)
    messages = [json.loads(text) for _, mark, text in lines if mark != ">"]
    answered = [json.dumps(message["id"]) for message in messages if "result" in message]
    calls = {}
    for _, mark, text in lines:
        try:
            call = json.loads(text) if mark == ">" else {}
        except ValueError:
            continue  # Not JSON on purpose.
        if isinstance(call, dict) and "id" in call:
            calls[json.dumps(call["id"])] = call
    assert answered
    for identifier in answered:
        assert validator.check_request(calls[identifier]) == []


@pytest.mark.parametrize("fault, difference", [
    ("wrong", ":3: against the document: $.result.now: is no integer"),
    ("undocumented", ":3: against the document: $.result.more: is not in the document"),
    ("silent", ":3: nothing came within 0.2 s"),
    ("death", ":3: the output ended, exit status 3"),
    ("extra", ':end: one message more than expected: {"jsonrpc": "2.0", "method": "resync", "params": {}}'),
    ("status", ":end: exit status 4"),
])
def test_a_faulty_sidecar_fails(fault, difference, validator, monkeypatch):
    if fault == "silent":
        monkeypatch.setattr(play, "SECONDS", 0.2)
    found = play.play(command(PING, fault), PING, validator)
    assert found == f"{PING}{difference}"


@pytest.mark.parametrize("expected, actual, difference", [
    (1, 1.0, "$: expected 1, got 1.0"),
    (1, True, "$: expected 1, got true"),
    ({"a": 1}, {}, "$: a is missing"),
    ({}, {"a": 1}, "$: a is not expected"),
    ([1], [1, 2], "$: expected 1 items, got 2"),
    ({"a": ["x"]}, {"a": ["y"]}, '$.a[0]: expected "x", got "y"'),
    ("?int", 1.0, "$: expected ?int, got 1.0"),
    ("?int", True, "$: expected ?int, got true"),
    ("?string", 1, "$: expected ?string, got 1"),
    ("?has b", "ac", '$: expected ?has b, got "ac"'),
    ("?has 1", 1, "$: expected ?has 1, got 1"),
    ("?other", "x", '$: expected "?other", got "x"'),
])
def test_differences_are_found(expected, actual, difference):
    with pytest.raises(play.Difference) as raised:
        play.match(expected, actual, {})
    assert str(raised.value) == difference


def test_wildcards_fit_and_keep():
    kept = {}
    play.match({"a": "?int", "b": "?string:name", "c": "?any", "d": "?has mid:other"},
               {"a": 3, "b": "x", "c": None, "d": "amidst"}, kept)
    assert kept == {"name": "x", "other": "amidst"}
    assert play.insert('["$name","$unknown"]', kept) == '["x","$unknown"]'


def test_messages_of_a_run_come_in_any_order_and_others_do_not(tmp_path, validator):
    path = tmp_path / "order.jsonl"
    ping = '{"jsonrpc":"2.0","id":%d,"method":"ping"}'
    pong = '{"jsonrpc":"2.0","id":%d,"result":{"now":"?int"}}'
    run = [f"> {ping % 1}", f"> {ping % 2}", f"<* {pong % 1}", f"<* {pong % 2}"]
    path.write_text("\n".join(run) + "\n", encoding="utf-8")
    assert play.play(command(path), path, validator) is None

    strict = tmp_path / "strict.jsonl"
    strict.write_text("\n".join(run).replace("<*", "<") + "\n", encoding="utf-8")
    assert play.play(command(path), strict, validator) == f"{strict}:3: $.id: expected 1, got 2"


@pytest.mark.parametrize("line", ["< {", "x y", "<", "<*"])
def test_a_broken_conversation_is_refused(line, tmp_path):
    path = tmp_path / "broken.jsonl"
    path.write_text(line + "\n", encoding="utf-8")
    with pytest.raises(ValueError):
        play.read_conversation(path)


def run_player(*arguments):
    line = [sys.executable, ROOT / "protocol" / "play.py", *arguments]
    return subprocess.run(line, capture_output=True, text=True)


def test_the_command_line():
    good = run_player(*command(PING), "--", str(PING))
    assert (good.returncode, good.stdout) == (0, f"ok {PING}\n1 passed, 0 failed\n")
    bad = run_player(*command(PING, "status"), "--", str(PING), str(PING))
    assert (bad.returncode, bad.stdout.splitlines()[-1]) == (1, "0 passed, 2 failed")
    for wrong in ([], ["--", "x"], ["x"], ["x", "--"]):
        assert run_player(*wrong).returncode == 64
