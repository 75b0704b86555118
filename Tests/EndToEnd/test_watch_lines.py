"""`outtray watch` without a terminal: plain lines, and objects."""
import json
import subprocess
import threading

import pytest

from endtoend import deadline
from endtoend.hosts import role
from endtoend.requests import enqueue


class Lines:
    """`outtray watch` without a terminal: its lines, as they come."""

    def __init__(self, binary, directory, *arguments):
        self.process = subprocess.Popen([binary, "watch", "--dir", str(directory), *arguments],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.lines = []
        self._reader = threading.Thread(target=lambda: self.lines.extend(iter(self._next, None)), daemon=True)
        self._reader.start()

    def _next(self):
        return self.process.stdout.readline().rstrip("\n") or None

    def wait_for(self, text, after=0):
        """The position behind the first line with `text`."""
        def look():
            places = enumerate(self.lines, 1)
            return next((place for place, line in places if place > after and text in line), 0)
        try:
            return deadline.until(text, look)
        except AssertionError as fault:
            raise AssertionError(f"{fault}: {self.lines}") from None

    def close(self):
        self.process.terminate()
        self.process.wait()
        self._reader.join()
        self.process.stdout.close()


@pytest.fixture
def lines(binary, directory):
    started = []

    def begin(*arguments):
        started.append(Lines(binary, directory, *arguments))
        return started[-1]

    yield begin
    for one in started:
        one.close()


def test_plain_lines_without_a_terminal(start, server, gate, lines):
    """A line for each change of state, sums in between, and the coming and going of who serves."""
    first = start()
    assert role(first) == "owner"
    told = lines()
    told.wait_for(f"served by process {first.process.pid}")
    told.wait_for("no entries")
    enqueue(first, server.url("/held"), id="a\x1b[2J")
    told.wait_for("a\\u{1b}[2J is running, attempts: 1")
    gate.set()
    told.wait_for("a\\u{1b}[2J is completed")
    first.kill()
    after = told.wait_for("nobody serves this queue")
    second = start()
    told.wait_for(f"served by process {second.process.pid}", after)
    assert not any("\x1b" in line for line in told.lines)


def test_json_lines(sidecar, server, lines):
    """--json: one object a line; states as on the wire, and sums."""
    told = lines("--json")
    told.wait_for('"served"')
    told.wait_for('"summary"')
    enqueue(sidecar, server.url("/ok"), id="a", vars={"n": 1})
    told.wait_for('"state":"completed"')
    objects = [json.loads(line) for line in told.lines]
    assert {"method": "served", "params": {"pid": sidecar.process.pid}} in objects
    states = [one["params"] for one in objects if one["method"] == "state"]
    assert [row["state"] for row in states if row["id"] == "a"][-1] == "completed"
    assert states[-1] == sidecar.events("state", id="a")[-1]
    summary = next(one["params"] for one in objects if one["method"] == "summary")
    assert summary["entries"]["queued"] == 0 and summary["served"] is True and summary["paused"] is False


def test_a_directory_without_a_queue_is_refused(binary, tmp_path):
    """As every command for people: status 73, and the reason as the last line of stderr."""
    done = subprocess.run([binary, "watch", "--dir", str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 73 and "holds no queue" in done.stderr and not done.stdout
