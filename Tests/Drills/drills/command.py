"""A drill as a command: its arguments, its row of the table, its JSON."""
import argparse
import contextlib
import dataclasses
import functools
import json
import os
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback

from endtoend import binary

from . import sweeper

COLUMNS = ("drill", "cycles", "accepted", "outcomes", "lost", "doubled after ack", "leftover processes",
           "seconds", "verdict")
SHOWN_FAULTS = 20


class Skipped(Exception):
    """It cannot run here; the text says why."""


@dataclasses.dataclass
class Result:
    """What came of a drill. `faults` holds a sentence for everything that is not as promised."""

    drill: str
    seed: int
    cycles: int = 0
    accepted: int = 0
    outcomes: int = 0
    lost: int = 0
    doubled_after_ack: int = 0
    leftover_processes: int = 0
    seconds: float = 0.0
    skipped: str = ""
    # The folder, if it was to be kept.
    kept: str = ""
    faults: list = dataclasses.field(default_factory=list)
    # What a reader may want to know beyond the table, by name.
    counts: dict = dataclasses.field(default_factory=dict)

    @property
    def verdict(self):
        if self.skipped:
            return "skipped"
        wrong = self.faults or self.lost or self.doubled_after_ack or self.leftover_processes
        return "FAILED" if wrong or not self.cycles else "holds"

    def count(self, name, by=1):
        self.counts[name] = self.counts.get(name, 0) + by

    def add(self, findings):
        """Takes in what the ledgers of one directory showed."""
        self.accepted += findings.accepted
        self.outcomes += findings.outcomes
        self.lost += len(findings.lost)
        self.doubled_after_ack += len(findings.doubled)
        self.faults += findings.lost + findings.doubled + findings.others
        for name, value in findings.counts.items():
            self.count(name, value)

    def row(self):
        return [str(value) for value in (
            self.drill, self.cycles, self.accepted, self.outcomes, self.lost, self.doubled_after_ack,
            self.leftover_processes, f"{self.seconds:.1f}", self.verdict)]

    def as_json(self):
        return {**dataclasses.asdict(self), "seconds": round(self.seconds, 1), "verdict": self.verdict}


def table(results):
    """One line a drill, the names of the columns above."""
    rows = [list(COLUMNS), *(result.row() for result in results)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    return "\n".join("  ".join(
        cell.ljust(width) if column in (0, len(COLUMNS) - 1) else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in rows)


@dataclasses.dataclass
class Options:
    """How a drill is run. `folder` is its own and empty; `size` is for the drills that have one."""

    cycles: int
    seed: int
    folder: pathlib.Path
    size: int = 0

    @functools.cached_property
    def binary(self):
        return binary.find()

    def chance(self, *words):
        """A generator for one purpose, so that what one draws does not shift what another does."""
        return random.Random(":".join(map(str, (self.seed, *words))))


def perform(drill, name, cycles, seed, size=0, keep=False):
    """Runs a drill in a folder of its own, which stays if `keep` asks for it."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"outtray-{name.replace(' ', '-')}-"))
    result = Result(name, seed)
    options = Options(cycles, seed, folder, size)
    began = time.monotonic()
    try:
        with sweeper.sweeping(folder):
            drill(options, result)
    except Skipped as reason:
        result.skipped = str(reason)
    except AssertionError as fault:
        result.faults.append(f"cycle {result.cycles}: {fault}")
    except Exception:
        # Of the drill itself, most likely; the others shall run all the same.
        result.faults.append(f"cycle {result.cycles}: {traceback.format_exc()}")
    result.seconds = time.monotonic() - began
    if keep:
        result.kept = str(folder)
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return result


def report(result):
    """The row, and below it what was wrong or why it did not run."""
    if result.skipped:
        print(f"!!! {result.drill} DID NOT RUN: {result.skipped}")
    for fault in result.faults[:SHOWN_FAULTS]:
        print(f"  {fault}")
    if len(result.faults) > SHOWN_FAULTS:
        print(f"  and {len(result.faults) - SHOWN_FAULTS} more")
    if result.kept:
        print(f"  kept: {result.kept}")


def main(drill, name, cycles, size=0, about_size="", least_size=1, more=()):
    """The command line of one drill. `more` has further arguments, each with what `add_argument` takes; their
    values go to the drill by name."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cycles", type=int, default=cycles, help=f"how often (default {cycles})")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    parser.add_argument("--json", metavar="FILE", help="write the result there as well")
    parser.add_argument("--keep", action="store_true", help="leave the folder of the run")
    if size:
        parser.add_argument("--size", type=int, default=size,
                            help=f"{about_size}, at least {least_size} (default {size})")
    for argument, how in more:
        parser.add_argument(argument, **how)
    given = parser.parse_args()
    if size and given.size < least_size:
        parser.error(f"--size must be at least {least_size}: {given.size}")
    # So that what was started is ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    further = {argument.lstrip("-"): getattr(given, argument.lstrip("-")) for argument, _ in more}
    shown = {"cycles": given.cycles, "seed": given.seed, **({"size": given.size} if size else {}), **further}
    print(f"{name}:", *(f"--{word} {value}" for word, value in shown.items() if value is not None),
          flush=True)
    result = perform(functools.partial(drill, **further), name, given.cycles, given.seed,
                     getattr(given, "size", 0), given.keep)
    print(table([result]))
    report(result)
    for what, count in sorted(result.counts.items()):
        print(f"  {what}: {count}")
    if given.json:
        pathlib.Path(given.json).write_text(json.dumps(result.as_json(), indent=2) + "\n", encoding="utf-8")
    sys.exit(result.verdict == "FAILED")


@contextlib.contextmanager
def naming(cycle, doing):
    """Faults inside tell in which cycle, and at what."""
    try:
        yield
    except AssertionError as fault:
        raise AssertionError(f"{cycle}, {doing}: {fault}") from fault
