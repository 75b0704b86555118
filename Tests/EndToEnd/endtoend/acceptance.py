"""`outtray check` as a child: its evidence, its end, and what it leaves behind."""
import json
import os
import pathlib
import signal
import subprocess

from . import deadline


class Check:
    """A run of `outtray check --json`, with a temporary folder of its own to work in."""

    def __init__(self, binary, folder, *arguments, env=None):
        self.folder = pathlib.Path(folder)
        self.process = subprocess.Popen(
            [binary, "check", "--json", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": str(folder), **(env or {})})
        self.status = None
        self.evidence = {}
        self.whole = None
        self.error = ""

    def finish(self, seconds=90):
        """Waits for the end; takes in the evidence, by stage, and the closing line."""
        output, error = self.process.communicate(timeout=seconds)
        self.status = self.process.returncode
        self.error = error.decode()
        for line in map(json.loads, output.splitlines()):
            if "stage" in line:
                self.evidence[line["stage"]] = line
            else:
                assert self.whole is None
                self.whole = line
        return self

    def sidecar(self):
        """Waits for a child, and returns its process id."""
        return deadline.until("a sidecar of the check", lambda: next(iter(children(self.process.pid)), None))

    def left(self):
        """What it has left in its folder, and processes that still work there."""
        return [*self.folder.iterdir(), *processes_on(self.folder)]

    def dispose(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.communicate(timeout=deadline.SECONDS)


def processes():
    """The id and the folder in /proc of every process."""
    for place in pathlib.Path("/proc").iterdir():
        if place.name.isdigit():
            yield int(place.name), place


def read(place):
    try:
        return place.read_bytes()
    except OSError:
        return b""  # It has ended meanwhile.


def children(parent):
    """Process ids of the children that are no zombies."""
    for pid, place in processes():
        state, ppid, *_ = read(place / "stat").rpartition(b")")[2].split() or (b"Z", b"0")
        if int(ppid) == parent and state != b"Z":
            yield pid


def processes_on(folder):
    """Process ids whose arguments name something in `folder`."""
    return [pid for pid, place in processes() if os.fsencode(str(folder)) in read(place / "cmdline")]
