"""Plays recorded conversations against a sidecar and reports the first difference of each.

    python3 protocol/play.py .build/outtray serve -- protocol/conversations/*.jsonl

Each conversation gets its own process, with `--dir` and a fresh directory behind the command. The format is
in conversations/README.md. The last line is `N passed, 0 failed`; exit status 0 when none failed, 64 on wrong
usage.
"""
import json
import pathlib
import queue
import re
import subprocess
import sys
import tempfile
import threading

from validate import Validator, same

HERE = pathlib.Path(__file__).resolve().parent
SECONDS = 10  # Longest wait for one message, and for the exit.
WILDCARD = re.compile(r"\?(int|string|any|has (?P<text>.+?))(:(?P<name>[a-z]\w*))?", re.S)


class Difference(Exception):
    """The sidecar did not say what the conversation holds."""


def read_conversation(path):
    """The lines of a conversation as (number, mark, text); the mark is `>`, `<` or `<*`."""
    lines = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if not line or line.startswith("#"):
            continue
        mark, _, text = line.partition(" ")
        if mark not in (">", "<", "<*") or mark != ">" and not text:
            raise ValueError(f"{path}:{number}: a line begins with `> `, `< `, `<* ` or `#`")
        if mark != ">":
            json.loads(text)
        lines.append((number, mark, text))
    return lines


def insert(text, kept):
    """`text` with every kept value in the place of its `"$name"`."""
    for name, value in kept.items():
        text = text.replace(json.dumps("$" + name), json.dumps(value, ensure_ascii=False))
    return text


def match(expected, actual, kept, path="$"):
    """Compares, and notes in `kept` what named wildcards stand for; Difference when they do not fit."""
    wildcard = WILDCARD.fullmatch(expected) if isinstance(expected, str) else None
    if wildcard:
        kind, text = wildcard[1], wildcard["text"]
        fits = (kind == "any" or kind == "int" and type(actual) is int
                or isinstance(actual, str) and (kind == "string" or text is not None and text in actual))
        if not fits:
            raise Difference(f"{path}: expected {expected}, got {json.dumps(actual)}")
        if wildcard["name"]:
            kept[wildcard["name"]] = actual
    elif isinstance(expected, dict) and isinstance(actual, dict):
        for name in sorted(expected.keys() | actual.keys()):
            if name not in actual or name not in expected:
                raise Difference(f"{path}: {name} is {'missing' if name not in actual else 'not expected'}")
            match(expected[name], actual[name], kept, f"{path}.{name}")
    elif isinstance(expected, list) and isinstance(actual, list):
        if len(expected) != len(actual):
            raise Difference(f"{path}: expected {len(expected)} items, got {len(actual)}")
        for index, (left, right) in enumerate(zip(expected, actual)):
            match(left, right, kept, f"{path}[{index}]")
    elif not same(expected, actual):
        raise Difference(f"{path}: expected {json.dumps(expected)}, got {json.dumps(actual)}")


class Player:
    """One sidecar process and what it said."""

    def __init__(self, command, directory, validator):
        self.validator = validator
        self.kept = {}
        self.pending = {}
        self.lines = queue.Queue()
        self.process = subprocess.Popen([*command, "--dir", directory], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def send(self, text):
        text = insert(text, self.kept)
        try:
            request = json.loads(text)
            self.pending[json.dumps(request["id"])] = request["method"]
        except (ValueError, TypeError, KeyError):
            pass  # A line that is no request is what some conversations are about.
        try:
            self.process.stdin.write(text.encode("utf-8") + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Difference("the sidecar has closed its input") from None

    def receive(self):
        try:
            line = self.lines.get(timeout=SECONDS)
        except queue.Empty:
            raise Difference(f"nothing came within {SECONDS} s") from None
        if line is None:
            raise Difference(f"the output ended, exit status {self.process.wait(SECONDS)}")
        try:
            message = json.loads(line.decode("utf-8"))
        except ValueError:
            raise Difference(f"no JSON: {line!r}") from None
        if not isinstance(message, dict) or "method" in message:
            problems = self.validator.check_event(message)
        else:
            method = self.pending.pop(json.dumps(message.get("id")), None)
            problems = self.validator.check_response(method, message)
        if problems:
            raise Difference(f"against the document: {problems[0]}")
        return message

    def expect(self, texts):
        """The next messages fit `texts`, in any order."""
        waiting = list(texts)
        while waiting:
            message, found = self.receive(), None
            for text in waiting:
                try:
                    kept = dict(self.kept)
                    match(json.loads(insert(text, self.kept)), message, kept)
                    self.kept, found = kept, text
                    break
                except Difference as difference:
                    reason = difference
            if found is None:
                raise reason
            waiting.remove(found)

    def finish(self):
        """Nothing more comes, and the process ends well."""
        self.process.stdin.close()
        try:
            line = self.lines.get(timeout=SECONDS)
            status = self.process.wait(SECONDS) if line is None else None
        except (queue.Empty, subprocess.TimeoutExpired):
            raise Difference(f"the sidecar still runs {SECONDS} s after its input ended") from None
        if line is not None:
            raise Difference(f"one message more than expected: {line.decode('utf-8', 'replace').strip()}")
        if status != 0:
            raise Difference(f"exit status {status}")

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass  # What was still to be written has no reader any more.


def play(command, path, validator):
    """None when the sidecar held the conversation, else what differed."""
    lines = read_conversation(path)
    with tempfile.TemporaryDirectory() as directory:
        player = Player(command, directory + "/queue", validator)
        at = 0
        try:
            while at < len(lines):
                number, mark, text = lines[at]
                group = [text]
                if mark == ">":
                    player.send(text)
                else:
                    while mark == "<*" and at + len(group) < len(lines) and lines[at + len(group)][1] == "<*":
                        group.append(lines[at + len(group)][2])
                    player.expect(group)
                at += len(group)
            number = "end"
            player.finish()
        except Difference as difference:
            return f"{path}:{number}: {difference}"
        finally:
            player.close()
    return None


def main(arguments):
    if "--" not in arguments or arguments[0] == "--" or arguments[-1] == "--":
        sys.stderr.write(__doc__)
        return 64
    split = arguments.index("--")
    command, files = arguments[:split], [pathlib.Path(name) for name in arguments[split + 1:]]
    validator = Validator(json.loads((HERE / "openrpc.json").read_text(encoding="utf-8")))
    failed = 0
    for path in files:
        difference = play(command, path, validator)
        print(f"FAILED {difference}" if difference else f"ok {path}")
        failed += difference is not None
    print(f"{len(files) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
