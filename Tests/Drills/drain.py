"""A drain: the host is killed in the first half of a large upload, which ends without it. In every other
cycle a host comes back meanwhile, and has to see at once how far it is."""
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import threading
import time

from drills import command, invariants, watching
from endtoend import deadline
from endtoend.acceptance import processes_on
from endtoend.hosts import role
from endtoend.rawserver import Gone, RawServer
from endtoend.sidecar import Sidecar

NAME, CYCLES, SIZE = "drain", 10, 1 << 30
# Much less would be in the sockets, all of it, before anybody could look.
LEAST_SIZE = 8_000_000
UPLOADER = pathlib.Path(__file__).resolve().parent / "drills" / "uploader.py"
# Past the middle the sink takes the file in this many steps, of at least STEP seconds, whatever its size.
STEPS, STEP = 80, 0.05
# Progress comes every 250 ms: five steps of the sink, and this is more than enough slack for a busy machine.
SOON = 30


class Sink:
    """Reads one request, no further than it is let; `taken` tells how far it is."""

    def __init__(self, size, share):
        self.size, self.limit, self.taken = size, int(share * size), 0
        self.changed = threading.Condition()
        self.hash = hashlib.sha256()
        self.is_whole = threading.Event()
        self.server = RawServer()
        self.url = self.server.on("/sink", self._take)

    def _take(self, exchange):
        while self.taken < exchange.request.length:
            with self.changed:
                self.changed.wait_for(lambda: self.taken < self.limit)
            piece = exchange.connection.read(min(1 << 20, self.limit - self.taken))
            if not piece:
                raise Gone
            self.hash.update(piece)
            self.taken += len(piece)
        exchange.request.whole = True
        self.is_whole.set()
        exchange.answer()

    def let(self, limit):
        """It may take so many bytes from now on."""
        with self.changed:
            self.limit = min(limit, self.size)
            self.changed.notify()

    def until_limit(self):
        deadline.until("the sink has what it is let", lambda: self.taken >= self.limit, 60)

    def step(self):
        self.let(self.limit + self.size // STEPS)
        self.until_limit()
        time.sleep(STEP)


def drill(options, result):
    watching.adopt_orphans()
    source = options.folder / "source"
    digest = write(source, options.size)
    for cycle in range(options.cycles):
        chance = options.chance("drain", cycle)
        folder = options.folder / str(cycle)
        folder.mkdir()
        sink = Sink(options.size, chance.uniform(0.1, 0.5))
        try:
            with command.naming(f"cycle {cycle}", "comes back" if cycle % 2 else "alone"):
                pid = killed_midway(options, folder, source, sink)
                result.accepted += 1
                (comes_back if cycle % 2 else goes_on_alone)(options, folder, sink, pid, result)
                assert sink.hash.hexdigest() == digest, "other bytes arrived"
                assert len(sink.server.seen()) == 1, f"{len(sink.server.seen())} requests"
                for fault in invariants.ends_well(folder / "queue") + [
                        f"a body is left over: {path}" for path in invariants.bodies(folder / "queue")]:
                    result.leftover_processes += fault.startswith("processes")
                    result.faults.append(fault)
        finally:
            sink.let(sink.size)
            sink.server.close()
            for left in processes_on(folder):
                os.kill(left, 9)
        result.cycles += 1


def write(source, size):
    """A file of so many bytes that holds no stretch twice; returns its hash."""
    whole, block = hashlib.sha256(), os.urandom((1 << 20) - 8)
    with open(source, "wb") as file:
        for start in range(0, size, 1 << 20):
            piece = (start.to_bytes(8, "big") + block)[:size - start]
            whole.update(piece)
            file.write(piece)
    return whole.hexdigest()


def killed_midway(options, folder, source, sink):
    """The process id of a sidecar whose host was killed with a part of the file sent."""
    settings = {"binary": options.binary, "directory": str(folder / "queue"), "wish": "drain",
                "url": sink.url, "file": str(source)}
    host = subprocess.Popen([sys.executable, UPLOADER, json.dumps(settings)], stdout=subprocess.PIPE)
    with host.stdout:
        told = json.loads(host.stdout.readline())
    sink.until_limit()
    host.kill()
    host.wait()
    assert sink.taken < sink.size, "the upload was over before the host was killed"
    return told["pid"]


def goes_on_alone(options, folder, sink, pid, result):
    """The file arrives whole, the process ends by itself, and the outcome waits for the next host."""
    sink.let(sink.size)
    wait_end(pid)
    assert sink.is_whole.is_set(), "it ended before the file was sent"
    first = Sidecar(options.binary, folder / "queue")
    try:
        assert role(first) == "owner"
        first.subscribe("settled")
        take(first, result)
        assert first.close() == 0
    finally:
        first.dispose()
    again = Sidecar(options.binary, folder / "queue")
    try:
        again.subscribe("settled")
        assert again.rows() == []
        assert again.close() == 0
        if again.events("settled"):
            result.doubled_after_ack += 1
            result.faults.append(f"told after it was acknowledged: {again.events('settled')}")
    finally:
        again.dispose()


def comes_back(options, folder, sink, pid, result):
    """It attaches, and what it sees first is a transfer that is under way."""
    host = Sidecar(options.binary, folder / "queue")
    try:
        assert role(host) == "attached"
        # Bytes are told of every 250 ms, and the host was killed and another one started in less.
        row = deadline.until("the row tells of bytes", lambda: (row := host.row("a"))["bytesSent"] and row)
        assert (row["state"], row["attempts"]) == ("running", 1), row
        host.subscribe("progress", "settled")
        steps = 0
        while steps < SOON and not host.events("progress", id="a"):
            sink.step()
            steps += 1
        # The sink stands still now: what comes tells of those steps.
        progress = host.event("progress", id="a")
        assert row["bytesSent"] <= progress["bytesSent"] < progress["totalBytes"] == sink.size, progress
        result.count("steps until progress", steps)
        sink.let(sink.size)
        take(host, result)
        assert host.close() == 0
        wait_end(pid)
    finally:
        host.dispose()


def take(host, result):
    """The one outcome, told for the first time; acknowledges it."""
    outcome = host.settled("a", seconds=60)
    assert (outcome["kind"], outcome["attempts"], outcome["deliveries"]) == ("completed", 1, 1), outcome
    host.ack(outcome)
    result.outcomes += len(host.events("settled"))


def wait_end(pid):
    """Waits until an adopted process ends by itself, in order."""
    found = []
    deadline.until("the process ends by itself",
                   lambda: (status := watching.ended(pid)) is not None and [found.append(status)], 60)
    assert found == [0], f"it ended with {found}"


if __name__ == "__main__":
    command.main(drill, NAME, CYCLES, SIZE, "bytes of the file", LEAST_SIZE)
