"""Holds one conversation from the sidecar's side, well or with one fault.

    fake_sidecar.py FILE FAULT --dir DIR

FAULT is none, wrong, undocumented, silent, extra, death or status.
"""
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "protocol"))
from play import WILDCARD, read_conversation  # noqa: E402


def filled(expected):
    """The message that `expected` stands for, with a value for each wildcard."""
    if isinstance(expected, dict):
        return {name: filled(value) for name, value in expected.items()}
    if isinstance(expected, list):
        return [filled(value) for value in expected]
    if isinstance(expected, str) and re.fullmatch(r"\$\w+", expected):
        return "made"
    wildcard = WILDCARD.fullmatch(expected) if isinstance(expected, str) else None
    if not wildcard:
        return expected
    return {"int": 7, "any": None, "string": "made"}.get(wildcard[1], wildcard["text"])


def say(message):
    sys.stdout.write(json.dumps(message, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def main(path, fault):
    lines = read_conversation(pathlib.Path(path))
    at = 0
    while at < len(lines):
        _, mark, text = lines[at]
        at += 1
        if mark == ">":
            heard = sys.stdin.readline()
            if heard != re.sub(r'"\$\w+"(?!:)', '"made"', text) + "\n":
                return 9
            continue
        run = [filled(json.loads(text))]
        while mark == "<*" and at < len(lines) and lines[at][1] == "<*":
            run.append(filled(json.loads(lines[at][2])))
            at += 1
        for message in reversed(run):
            if fault == "wrong" and "result" in message:
                message["result"] = {"now": "soon"}
            elif fault == "undocumented" and "result" in message:
                message["result"]["more"] = 1
            elif fault == "silent":
                continue
            elif fault == "death":
                return 3
            say(message)
    if fault == "extra":
        say({"jsonrpc": "2.0", "method": "resync", "params": {}})
    while sys.stdin.readline():
        pass
    return 4 if fault == "status" else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
