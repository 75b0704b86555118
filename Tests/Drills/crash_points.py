"""Crash points: a run through every door of the store is written down call by call; what each write, sync, name and
commit leaves behind when the power goes before or after it is put on a disk, and the queue started on it."""
import argparse
import collections
import functools
import json
import multiprocessing
import os
import pathlib
import shutil
import signal
import sys

from drills import aftermath, command, doors, powerloss

NAME = "crash points"
# So many cycles are every state there is; fewer are a sample.
ALL = CYCLES = 1_000_000
# Of each point so many states in which what was not synced is there in part.
TORN = 3
VARIANTS = (*powerloss.PLAIN, *(f"torn {number}" for number in range(TORN)))
# Starts at a time.
SIDE_BY_SIDE = 4


class Points:
    """A recorded run: its records, and a cut before each that changes something, and one at the end."""

    def __init__(self, run, seed):
        self.run, self.seed = run, seed
        self.records = powerloss.read(run.trace, run.folder)
        self.story = aftermath.Story(self.records)
        keys = collections.defaultdict(set)
        for request in run.server.received:
            keys[request.entry, request.part].add(request.idempotency_key)
        # Who is enqueued with another body, or opened again, may have two.
        self.keys = {of: next(iter(found)) for of, found in keys.items()
                     if len(found) == 1 and of[0] not in ("replaced", "refused")}
        self.cuts = [*(position for position, record in enumerate(self.records)
                       if record.operation in powerloss.KINDS), len(self.records)]

    def kinds(self):
        """How many points there are of each kind."""
        found = collections.Counter(powerloss.KINDS[self.records[cut].operation] for cut in self.cuts[:-1])
        found["commit"] = sum(is_commit(record) for record in self.records)
        return found

    def disk(self, ignoring=lambda record, path: False):
        folder = self.run.folder
        before = {name: powerloss.File(is_folder=True) for name in ("place", "caller")}
        numbers = {os.stat(folder / name).st_ino: file for name, file in before.items()}
        for path in sorted((folder / "originals").iterdir()):
            before[f"caller/{path.name}"] = numbers[path.stat().st_ino] = powerloss.File(str(path))
        return powerloss.Disk(before, numbers, ignoring)

    def shared(self):
        """What was left of `-shm` at some time."""
        return [path.read_bytes() for path in (self.run.folder / doors.PLACE).glob("queue.db*-shm")]

    def states(self, chance, ignoring=lambda record, path: False, chosen=None):
        """Walks over the cuts: (number, variant, State), of all or of the `chosen` pairs of number and variant."""
        disk, shared, position = self.disk(ignoring), self.shared(), 0
        for number, cut in enumerate(self.cuts):
            for record in self.records[position:cut]:
                disk.follow(record)
            position = cut
            for variant in VARIANTS:
                if chosen is None or (number, variant) in chosen:
                    yield number, variant, disk.cut(variant, chance("torn", number, variant), shared)

    def different(self, chance):
        """All pairs of number and variant that differ on the disk; of those that do not, the last, when most was
        promised."""
        return list({state.key(): (number, variant) for number, variant, state in self.states(chance)}.values())

    def some(self, count, chance):
        """So many pairs, of every kind of record about as many."""
        by_kind = collections.defaultdict(list)
        for number, cut in enumerate(self.cuts):
            by_kind[describe(self, number).split()[0]].append(number)
        chosen, kinds = set(), sorted(by_kind)
        while len(chosen) < min(count, len(self.cuts) * len(VARIANTS)):
            chosen.add((chance.choice(by_kind[chance.choice(kinds)]), chance.choice(VARIANTS)))
        return chosen


def is_commit(record):
    """The head of a frame of the log that ends a transaction."""
    return (record.operation == powerloss.WRITE and len(record.bytes) == 24 and record.at >= 32
            and any(record.bytes[4:8]))


class Trial:
    """Starts on states, in processes of their own."""

    def __init__(self, points, options, result, ignoring=lambda record, path: False):
        self.points, self.options, self.result, self.ignoring = points, options, result, ignoring

    def perform(self, chosen):
        """`chosen`: pairs of a number and a variant."""
        Trial.current = self
        with multiprocessing.get_context("fork").Pool(SIDE_BY_SIDE) as pool:
            # Not far ahead: each state has all of its bytes with it.
            works, waiting = self._each(chosen), collections.deque()
            for work in works:
                waiting.append(pool.apply_async(Trial.one, (work,)))
                if len(waiting) > 2 * SIDE_BY_SIDE:
                    self._take(waiting.popleft().get())
            while waiting:
                self._take(waiting.popleft().get())

    def _take(self, found):
        name, faults, left = found
        self.result.cycles += 1
        self.result.count("bodies of interrupted calls", left)
        self.result.faults += [f"{name}: {fault}" for fault in faults]

    def _each(self, chosen):
        seen = set()
        for number, variant, state in self.points.states(self.options.chance, self.ignoring, chosen):
            if state.key() not in seen:
                seen.add(state.key())
                yield number, variant, state.fill()

    @staticmethod
    def one(work):
        number, variant, state = work
        self = Trial.current
        name = f"--point {number} --variant '{variant}' ({describe(self.points, number)})"
        folder = self.options.folder / f"state-{number}-{variant.replace(' ', '-')}"
        promise = self.points.story.promise(self.points.cuts[number])
        folder.mkdir()
        for path in promise.given_up():
            state.originals.pop(path, None)
        state.make(folder)
        after = aftermath.Aftermath(
            self.options.binary, self.points.run.preloaded, folder, promise, self.points.keys)
        faults = after.judge()
        if not faults:
            shutil.rmtree(folder)
        return name, faults, after.left_over


def describe(points, number):
    """What comes next, had it not been cut."""
    cut = points.cuts[number]
    if cut == len(points.records):
        return "the end"
    record = points.records[cut]
    what = "commit" if is_commit(record) else powerloss.KINDS[record.operation]
    return f"before {what} {record.path or record.file}"


def drill(options, result, point=None, variant=None):
    run = doors.Run(options.folder, options.binary, options.seed)
    doors.perform(run)
    points = Points(run, options.seed)
    for kind, count in points.kinds().items():
        result.count(f"points: {kind}", count)
    if point is not None:
        chosen = {(point, one) for one in VARIANTS if variant in (None, one)}
    elif options.cycles < ALL:
        chosen = points.some(options.cycles, options.chance("states"))
    else:
        chosen = set(points.different(options.chance))
        result.count("states", len(chosen))
    Trial(points, options, result).perform(chosen)


def main():
    command.main(drill, NAME, CYCLES)


if __name__ == "__main__":
    main()
