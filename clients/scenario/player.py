"""One client's driver on one side, the real sidecar and a receiver behind it."""
import hashlib
import json
import os
import pathlib
import signal
import subprocess
import time

from certification.stage import SECONDS, Difference, Lines, fits
from receiver import Receiver, digest

def content_of(size):
    """The bytes of a file of the scenario, the same each time."""
    blocks = (hashlib.sha256(str(number).encode()).digest() for number in range(size // 32 + 1))
    return b"".join(blocks)[:size]


def until(condition, what):
    end = time.monotonic() + SECONDS
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Difference(f"waited in vain for {what}")
        time.sleep(0.01)


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def open_files(pid):
    """Descriptors and what they stand for; nothing of a process that has ended."""
    folder, found = f"/proc/{pid}/fd", set()
    for name in os.listdir(folder) if alive(pid) else ():
        try:
            found.add((name, os.readlink(f"{folder}/{name}")))
        except OSError:
            pass  # Closed meanwhile.
    return found


class Player:
    """Plays steps; each gives lines that say what came of it, free of ports, paths and times."""

    def __init__(self, command, folder, binary):
        self.command, self.folder, self.binary = command, folder, binary
        self.files, self.count = folder / "files", 0
        self.problems = []  # Answers that were not as expected; the scenario goes on after them.
        self.receiver, self.driver, self.sidecars = Receiver(), None, set()
        self.start()

    def start(self):
        environment = {**os.environ, "OUTTRAY_BINARY": self.binary}
        with open(self.folder / "stderr", "ab") as errors:
            self.driver = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                           stderr=errors, env=environment)
        self.reports = Lines("the driver's reports", self.driver.stdout)

    def write_files(self, sizes):
        self.files.mkdir()
        for name, size in sizes.items():
            (self.files / name).write_bytes(content_of(size))

    def filled(self, value):
        """The value with this run's addresses in it."""
        if isinstance(value, dict):
            return {name: self.filled(member) for name, member in value.items()}
        if isinstance(value, list):
            return [self.filled(item) for item in value]
        if not isinstance(value, str):
            return value
        return value.replace("{server}", self.receiver.url).replace("{files}", str(self.files))

    def step(self, step):
        """What came of a step, a line for each action that has something to tell."""
        self.receiver.answers.update(step.get("answers", {}))
        lines = []
        try:
            for action in step["play"]:
                lines += self.act(self.filled(action))
            for path, wanted in step.get("sent", {}).items():
                lines.append(self.sent(path, wanted))
        except Difference as difference:
            raise Difference(f"{step['name']}: {difference}") from None
        return [line for line in lines if line]

    def act(self, action):
        for name, act in self.ACTIONS.items():
            if name in action:
                return act(self, action) or []
        raise Difference(f"no action {action}")

    def tell(self, action):
        self.count += 1
        if action["do"] == "close":
            self.sidecar()  # Noted, for its end is waited for.
        told = {name: value for name, value in action.items() if name not in ("gives", "fails")}
        if told["do"] == "open":
            told["dir"] = str(self.folder / "queue")
        self.say({**told, "n": self.count})
        return self.answer(action, self.count)

    def say(self, instruction):
        # Compact: Go hands on the text of data as it stands here.
        line = json.dumps(instruction, ensure_ascii=False, separators=(",", ":"))
        self.driver.stdin.write(line.encode() + b"\n")
        self.driver.stdin.flush()

    def answer(self, action, number):
        report = self.reports.take({"n": number})
        wanted = {"failed": action["fails"]} if "fails" in action else {"done": action.get("gives", None)}
        if not (fits(wanted, report) or ("gives" not in action and "done" in report)):
            self.problems.append(f"{json.dumps(action)[:300]} came to {json.dumps(report)[:300]}")
        if "failed" in report:
            return [f"{report['failed']['code']} at {report['failed'].get('path')}"]
        return [json.dumps(self.plain(report["done"]))] if "gives" in action else []

    def plain(self, value):
        """Without what each run has anew, or each language says in its own words."""
        if isinstance(value, dict):
            left_out = ("headers", "message", "requestId", "updatedAt", "nextAttemptAt", "vars", "cause")
            return {name: self.plain(value[name]) for name in sorted(value) if name not in left_out}
        return [self.plain(item) for item in value] if isinstance(value, list) else value

    def hear(self, action):
        report = self.reports.take(action["hear"])
        if "event" in report:
            return [f"{report['event']} " + json.dumps({name: report["params"].get(name)
                                                         for name in action["hear"]["params"]})]
        value = json.dumps(self.plain(report["value"]))
        shown = value if len(value) < 200 else digest(value.encode())
        return [f"{report['handler']} of {report['id']} under {report['key']}, "
                f"delivery {report['deliveries']}: {shown}"]

    def warned(self, action):
        """Warnings are said in each language's own words; that there is one is the same."""
        for _ in range(action["warned"]):
            self.reports.take_like("warning")
        return ["a warning"] * action["warned"]

    def ended(self, action):
        until(lambda: not any(map(alive, self.sidecars)), "the end of the sidecar")

    def rows(self, action):
        """Waits until the rows are these, no more and no fewer."""
        def found():
            self.count += 1
            self.say({"do": "call", "name": "getRequests", "args": [], "n": self.count})
            rows = self.reports.take({"n": self.count}).get("done", [])
            self.seen = rows
            return len(rows) == len(wanted) and all(fits(*pair) for pair in zip(wanted, rows)) and [rows]

        wanted = action["rows"]
        self.seen = None
        try:
            [rows] = until(found, f"the rows {json.dumps(wanted)[:200]}")
        except Difference as difference:
            raise Difference(f"{difference}; there are {json.dumps(self.seen)[:400]}") from None
        return ["rows " + json.dumps(self.plain(rows))]

    def arrived(self, action):
        if not self.receiver.arrived(action["arrived"], action.get("count", 1)):
            raise Difference(f"nothing arrived at {action['arrived']}")

    def let_go(self, action):
        self.receiver.let_go(action["letGo"])

    def sidecar(self):
        """The process that the driver has started."""
        for place in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                parent = int((place / "stat").read_text().rsplit(")", 1)[1].split()[1])
                if parent == self.driver.pid and os.path.samefile(place / "exe", self.binary):
                    self.sidecars.add(int(place.name))
                    return int(place.name)
            except OSError:
                continue  # It has ended meanwhile.
        raise Difference("the driver has no sidecar")

    def kill(self, action):
        pid = self.sidecar()
        if action["kill"] == "sidecar":
            os.kill(pid, signal.SIGKILL)
            return ["SIGKILL to the sidecar"]
        before = open_files(pid)
        self.driver.kill()
        self.driver.wait()
        self.driver.stdin.close()
        # Until the sidecar has seen it and closed its ends, an outcome would count as told to the dead.
        until(lambda: before - open_files(pid), "the sidecar to see that its host is gone")
        self.no_more()
        return ["SIGKILL to the host"]

    def host(self, action):
        """Another host in place of the one that was killed, once all sidecars have ended by themselves."""
        self.ended(action)
        self.start()

    def file(self, action):
        path = self.files / action["file"]
        if action.get("delete"):
            path.unlink()
        elif path.exists() != action["there"]:
            raise Difference(f"{path.name} is {'not ' * action['there']}there")
        else:
            return [f"{path.name} is {'' if action['there'] else 'not '}there"]

    def sent(self, path, wanted):
        """What arrived at a path, one request after another."""
        until(lambda: len(self.receiver.requests.get(path, [])) >= len(wanted), f"what is sent to {path}")
        seen = self.receiver.requests[path]
        expected = [{name: self.body(value) if name == "body" else value for name, value in one.items()}
                    for one in wanted]
        if len(seen) != len(wanted) or not all(fits(*pair) for pair in zip(expected, seen)):
            raise Difference(f"{path} got {json.dumps(seen)[:600]} instead of {json.dumps(expected)[:600]}")
        return f"{path} got {json.dumps(seen)}"

    def body(self, said):
        """The description of a body: of a text, a file, a range of one, or the fields of a form."""
        if isinstance(said, str):
            return digest(said.encode())
        if isinstance(said, list):
            return [[*field[:3], self.body(field[3])] for field in said]
        start, end = said.get("range", [0, said["size"]])
        return digest(content_of(said["size"])[start:end])

    def no_more(self):
        """A handler or warning that no step expects is a difference. The driver has ended."""
        try:
            self.reports.take({"more": "than there is"})
        except Difference:
            pass  # Now all that it said is read.
        for unwanted in ("handler", "warning"):
            for report in self.reports.waiting:
                if unwanted in report:
                    raise Difference(f"nobody expects {json.dumps(report)[:300]}")

    def finish(self):
        self.driver.stdin.close()
        if self.driver.wait(SECONDS) != 0:
            raise Difference(f"the driver ended with status {self.driver.returncode}")
        self.no_more()

    def last_words(self):
        text = (self.folder / "stderr").read_text(encoding="utf-8", errors="replace").strip()
        return f"\n  {text[-2000:]}" if text else ""

    def clear(self):
        self.driver.kill()
        self.driver.wait()
        for pid in filter(alive, self.sidecars):
            os.kill(pid, signal.SIGKILL)
        self.receiver.close()

    ACTIONS = {"do": tell, "hear": hear, "warned": warned, "rows": rows, "arrived": arrived, "letGo": let_go,
               "kill": kill, "host": host, "ended": ended, "file": file}
