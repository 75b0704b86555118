"""What a sidecar holds: descriptors, threads, memory, and the files of its directory."""
import collections
import contextlib
import dataclasses
import itertools
import os
import pathlib
import re
import sqlite3
import statistics
import struct

from endtoend import deadline

from . import injection, invariants

# What the preloaded library notes of a leak check.
UNCHECKED, NO_LEAKS = 0, 1


@dataclasses.dataclass
class Sample:
    """`work` counts what was done so far; `blocks` and `heap` (bytes) are of the heap, None where it is not
    counted; `resident` is what is its own of the memory, in bytes; `used` are pages of the database."""

    work: int
    descriptors: dict
    threads: int
    resident: int
    blocks: int
    heap: int
    database: int
    log: int
    used: int

    @property
    def connections(self):
        return self.descriptors.get("connection", 0)

    @property
    def held(self):
        """What has to be the same whenever nothing goes on; connections are kept for the next request."""
        return {**self.descriptors, "connection": 0, "threads": self.threads}


class Heap:
    """How the heap of a binary is watched: a sanitizer brings its own, any other is counted from outside."""

    def __init__(self, binary, folder):
        program = pathlib.Path(binary).read_bytes()
        self.has_leak_check = b"__lsan_do_recoverable_leak_check" in program
        self.is_counted = not self.has_leak_check and b"__tsan_init" not in program
        self.place = folder / "allocations"
        libraries = [str(injection.compiled("allocations", folder)), os.environ.get("LD_PRELOAD")]
        self.env = {"LD_PRELOAD": ":".join(filter(None, libraries)), "ALLOCATIONS": str(self.place)}

    def read(self):
        """Blocks and bytes in use."""
        return self._numbers()[:2] if self.is_counted else (None, None)

    def at_end(self):
        """What is wrong with the heap of a process that has ended."""
        told = self._numbers()[2]
        if told == (NO_LEAKS if self.has_leak_check else UNCHECKED):
            return []
        return ["the leaks were not looked for" if told == UNCHECKED else "LeakSanitizer found leaks"]

    def _numbers(self):
        return struct.unpack("qqq", self.place.read_bytes())


def sample(sidecar, heap, directory, work):
    """Reads all of it; the process has to be there."""
    pid = sidecar.process.pid
    blocks, allocated = heap.read()
    database = next(directory.glob("*.db"))
    log = database.with_name(f"{database.name}-wal")
    threads = len(os.listdir(f"/proc/{pid}/task"))
    return Sample(work, descriptors(pid), threads, resident(pid), blocks, allocated, database.stat().st_size,
                  log.stat().st_size, pages_in_use(database))


def quiet_sample(sidecar, heap, directory, work, held):
    """A sample once it holds what it did before, `held`; None takes it as it is. What hosts that have left
    held goes a moment later."""
    taken = []

    def is_as_before():
        taken[:] = [sample(sidecar, heap, directory, work)]
        return held in (None, taken[0].held) and not invariants.bodies(directory)
    try:
        deadline.until("", is_as_before)
    except AssertionError:
        left = invariants.bodies(directory)
        raise AssertionError(f"held {held}, now {taken[0].held}; bodies: {left}") from None
    return taken[0]


def descriptors(pid):
    """How many there are of each kind; those that are gone meanwhile are left out."""
    unix = {line.split()[6] for line in open("/proc/net/unix", encoding="utf-8").readlines()[1:]}
    netlink = {line.split()[-1] for line in open("/proc/net/netlink", encoding="ascii").readlines()[1:]}
    found = collections.Counter()
    for number in os.listdir(f"/proc/{pid}/fd"):
        try:
            target = os.readlink(f"/proc/{pid}/fd/{number}")
        except FileNotFoundError:
            continue
        if inode := re.fullmatch(r"socket:\[(\d+)\]", target):
            kind = "unix" if inode[1] in unix else "netlink" if inode[1] in netlink else "connection"
        else:
            kind = re.sub(r":\[\d+\]$", "", target)
        found[kind] += 1
    return dict(found)


def resident(pid):
    """Private memory that is in use, in bytes: what other processes share is not its own."""
    rollup = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    return sum(int(size) for size in re.findall(r"^Private_\w+: +(\d+) kB$", rollup, re.M)) * 1024


def pages_in_use(database):
    with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        pages, = connection.execute("PRAGMA page_count").fetchone()
        free, = connection.execute("PRAGMA freelist_count").fetchone()
    return pages - free


def growth(samples, name):
    """What a value grows by with each 1,000 of work, from third to third of the samples, by the least that
    each third has seen; of both steps the smaller. What is held for a moment stands out of one sample, and
    what is kept from some day on makes one step; what is lost with all work makes both. Less than three tell
    nothing."""
    if len(samples) < 3:
        return 0.0
    third = len(samples) // 3
    parts = [samples[:third], samples[third:-third], samples[-third:]]
    points = [(statistics.fmean(one.work for one in part), min(getattr(one, name) for one in part))
              for part in parts]
    return 1000 * min((value - before) / (work - earlier)
                      for (earlier, before), (work, value) in itertools.pairwise(points))
