"""A drain: the host is killed half-way through a large upload, which ends without it. In every other cycle a
host comes back meanwhile, and has to see at once how far it is."""
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import threading

from drills import command, invariants, watching
from endtoend import deadline
from endtoend.acceptance import processes_on
from endtoend.hosts import role
from endtoend.rawserver import Gone, RawServer
from endtoend.sidecar import Sidecar

NAME, CYCLES, SIZE = "drain", 10, 1 << 30
UPLOADER = pathlib.Path(__file__).resolve().parent / "drills" / "uploader.py"
# The sink takes the file in about this many steps of STEP seconds, whatever its size.
STEPS, STEP = 80, 0.05
# Progress comes every 250 ms: five steps of the sink, and this is more than enough slack for a busy machine.
SOON = 30


class Sink:
    """Reads one request at a pace of its own; `steps` and `taken` tell how far it is."""

    def __init__(self, size):
        self.size, self.steps, self.taken = size, 0, 0
        self.hash = hashlib.sha256()
        self.is_whole = threading.Event()
        self.server = RawServer()
        self.url = self.server.on("/sink", self._take)

    def _take(self, exchange):
        while self.taken < exchange.request.length:
            piece = exchange.connection.read(1 << 20)
            if not piece:
                raise Gone
            self.hash.update(piece)
            self.taken += len(piece)
            while self.steps < self.taken * STEPS // self.size:
                self.steps += 1
                exchange.pause(STEP)
        exchange.request.whole = True
        self.is_whole.set()
        exchange.answer()

    def midway(self, share):
        deadline.until("the upload is under way", lambda: self.taken > share * self.size, 60)


def drill(options, result):
    watching.adopt_orphans()
    source = options.folder / "source"
    digest = write(source, options.size)
    for cycle in range(options.cycles):
        chance = options.chance("drain", cycle)
        folder = options.folder / str(cycle)
        folder.mkdir()
        sink = Sink(options.size)
        try:
            with command.naming(f"cycle {cycle}", "comes back" if cycle % 2 else "alone"):
                pid = killed_midway(options, folder, source, sink, chance.uniform(0.1, 0.5))
                result.accepted += 1
                (comes_back if cycle % 2 else goes_on_alone)(options, folder, sink, pid, result)
                assert sink.hash.hexdigest() == digest, "other bytes arrived"
                assert len(sink.server.seen()) == 1, f"{len(sink.server.seen())} requests"
                for fault in invariants.ends_well(folder / "queue") + [
                        f"a body is left over: {path}" for path in invariants.bodies(folder / "queue")]:
                    result.leftover_processes += fault.startswith("processes")
                    result.faults.append(fault)
        finally:
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


def killed_midway(options, folder, source, sink, share):
    """The process id of a sidecar whose host was killed with a part of the file sent."""
    settings = {"binary": options.binary, "directory": str(folder / "queue"), "wish": "drain",
                "url": sink.url, "file": str(source)}
    host = subprocess.Popen([sys.executable, UPLOADER, json.dumps(settings)], stdout=subprocess.PIPE)
    with host.stdout:
        told = json.loads(host.stdout.readline())
    sink.midway(share)
    host.kill()
    host.wait()
    assert sink.taken < sink.size, "the upload was over before the host was killed"
    return told["pid"]


def goes_on_alone(options, folder, sink, pid, result):
    """The file arrives whole, the process ends by itself, and the outcome waits for the next host."""
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
        row = host.row("a")
        assert (row["state"], row["attempts"]) == ("running", 1) and row["bytesSent"] > 0, row
        host.subscribe("progress", "settled")
        before = sink.steps
        progress = host.event("progress", id="a")
        assert not sink.is_whole.is_set() and sink.steps - before <= SOON, (
            f"the first progress came {sink.steps - before} steps of the sink after the subscription")
        assert row["bytesSent"] <= progress["bytesSent"] < progress["totalBytes"] == sink.size, progress
        result.count("steps until progress", sink.steps - before)
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
    command.main(drill, NAME, CYCLES, SIZE, "bytes of the file")
