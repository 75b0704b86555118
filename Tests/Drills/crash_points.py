"""Crash points: a run through every door of the store is written down call by call; what each write, sync,
name and commit leaves behind when the power goes before or after it is put on a disk, and the queue
started on it. Some runs are killed for real.

Fewer --cycles than there are states are a sample, of every kind of call about as many. A fault names its
--point and its --variant. --keep leaves the folder of the run, and `--recording FOLDER/run` with the same
--seed and these two makes that one start again.
"""
import collections
import json
import multiprocessing
import pathlib
import shutil
import signal

from drills import aftermath, command, doors, injection, powerloss

NAME = "crash points"
# So many cycles are every state there is.
ALL = CYCLES = 1_000_000
# Of each point so many states in which what was not synced is there in part.
TORN = 3
VARIANTS = (*powerloss.PLAIN, *(f"torn {number}" for number in range(TORN)))
# Starts at a time.
SIDE_BY_SIDE = 4
# Of so many states one is left by a process that is killed, and no more of those than that.
PER_KILL, MOST_KILLS = 40, 60
KEYS = "keys.json"
NOTHING = frozenset()


class Points:
    """A recorded run: its records, and a cut before each that changes something, and one at the end.
    `missing`: kinds of syncs (see `kind_of_sync`) that are taken as if they had done nothing."""

    def __init__(self, folder, missing=NOTHING):
        self.folder, self.missing = folder, missing
        self.records = powerloss.read(folder / "trace", folder)
        self.story = aftermath.Story(self.records)
        self.keys = dict(json.loads((folder / KEYS).read_text()))
        self.cuts = [*(position for position, record in enumerate(self.records)
                       if record.operation in powerloss.KINDS and not self.story.is_outside(position)),
                     len(self.records)]

    def counts(self):
        """How many points there are of each kind."""
        return collections.Counter(describe(self.records[cut]).split()[0] for cut in self.cuts[:-1])

    def disk(self):
        names = {name: powerloss.File(is_folder=True) for name in ("place", "caller")}
        numbers = {(self.folder / name).stat().st_ino: file for name, file in names.items()}
        for path in sorted((self.folder / "originals").iterdir()):
            names[f"caller/{path.name}"] = numbers[path.stat().st_ino] = powerloss.File(str(path))
        return powerloss.Disk(names, numbers, lambda path: kind_of_sync(path) in self.missing)

    def states(self, chance, chosen=None):
        """Walks over the cuts: (number, variant, State), of all or of the `chosen` pairs of number and
        variant."""
        # What was left of it at some time.
        shared = [path.read_bytes() for path in (self.folder / doors.PLACE).glob("queue.db*-shm")]
        disk, position = self.disk(), 0
        for number, cut in enumerate(self.cuts):
            for record in self.records[position:cut]:
                disk.follow(record)
            position = cut
            for variant in VARIANTS:
                if chosen is None or (number, variant) in chosen:
                    yield number, variant, disk.cut(variant, chance("torn", number, variant), shared)

    def different(self, chance):
        """All pairs of number and variant that differ on the disk; of those that do not, the last, when most
        was promised."""
        found = {state.key(): (number, variant) for number, variant, state in self.states(chance)}
        return set(found.values())

    def some(self, count, chance):
        """So many pairs, of every kind of record about as many."""
        by_kind = collections.defaultdict(list)
        for number in range(len(self.cuts)):
            by_kind[self.next(number).split()[0]].append(number)
        chosen, kinds = set(), sorted(by_kind)
        while len(chosen) < min(count, len(self.cuts) * len(VARIANTS)):
            chosen.add((chance.choice(by_kind[chance.choice(kinds)]), chance.choice(VARIANTS)))
        return chosen

    def next(self, number):
        """What would have come after the cut."""
        cut = self.cuts[number]
        return describe(self.records[cut]) if cut < len(self.records) else "end"


def describe(record):
    """The kind of the call, and of what."""
    # The head of a frame of the log that ends a transaction.
    commits = (record.operation == powerloss.WRITE and len(record.bytes) == 24 and record.at >= 32
               and any(record.bytes[4:8]))
    return f"{'commit' if commits else powerloss.KINDS[record.operation]} {record.path or record.file}"


def kind_of_sync(path):
    """Of what a sync is, by its path."""
    name = path.rpartition("/")[2]
    if name.startswith("queue.db"):
        return "log" if name.endswith("-wal") else "database"
    if "/bodies-" in path:
        return "body" if name.startswith(("body-", "moved-")) else "bodies folder"
    return "caller's folder" if path.startswith("caller") else (
        "queue folder" if path == doors.PLACE else "folder above")


def record(options, name, kill=None):
    """Plays the run in a folder of its own. The folder, and whether all of it was played."""
    folder = options.folder / name
    folder.mkdir()
    run = doors.Run(folder, options.binary, kill)
    is_whole = doors.perform(run)
    (folder / KEYS).write_text(json.dumps(list(run.keys().items())))
    return folder, is_whole


class Trial:
    """Starts on states, in processes of their own."""

    def __init__(self, points, options, result):
        self.points, self.options, self.result = points, options, result
        self.preloaded = injection.compiled("recording", options.folder)

    def perform(self, chosen):
        """`chosen`: pairs of a number and a variant."""
        Trial.current = self
        with multiprocessing.get_context("fork").Pool(SIDE_BY_SIDE, end_at_once) as pool:
            # Not far ahead: each state has all of its bytes with it.
            waiting = collections.deque()
            for work in self._each(chosen):
                waiting.append(pool.apply_async(Trial.one, (work,)))
                if len(waiting) > 2 * SIDE_BY_SIDE:
                    self.take(waiting.popleft().get())
            while waiting:
                self.take(waiting.popleft().get())

    def take(self, found):
        name, after = found
        self.result.cycles += 1
        self.result.accepted += after["accepted"]
        self.result.outcomes += after["outcomes"]
        self.result.count("bodies of interrupted calls", after["left over"])
        self.result.faults += [f"{name}: {fault}" for fault in after["faults"]]

    def _each(self, chosen):
        seen = set()
        for number, variant, state in self.points.states(self.options.chance, chosen):
            if state.key() not in seen:
                seen.add(state.key())
                yield number, variant, state.fill()

    @staticmethod
    def one(work):
        number, variant, state = work
        self = Trial.current
        name = f"--point {number} --variant '{variant}' (before {self.points.next(number)})"
        folder = self.options.folder / f"state-{number}-{variant.replace(' ', '-')}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        state.make(folder)
        return name, self.judge(folder, self.points, self.points.cuts[number])

    def judge(self, folder, points, cut):
        promise = points.story.promise(cut)
        for path in promise.given_up():
            (folder / path).unlink(missing_ok=True)
        found = aftermath.Aftermath(self.options.binary, self.preloaded, folder, promise, points.keys).judge()
        if not found["faults"]:
            shutil.rmtree(folder)
        return found

    def kill(self, number):
        """A run that is killed at some call, for real: its disk is as the records have it, and its next start
        keeps what was promised."""
        chance = self.options.chance("kill", number)
        at = f"{chance.choice(('before', 'after'))}:{1 + chance.randrange(len(self.points.cuts) // 2)}"
        folder, is_whole = record(self.options, f"kill-{number}", at)
        points, name = Points(folder), f"killed {at}"
        disk = points.disk()
        for one in points.records:
            disk.follow(one)
        self.result.faults += [f"{name}: {fault}" for fault in differences(
            disk.cut(powerloss.EVERYTHING).fill(), folder)]
        self.result.count("runs that came to their end" if is_whole else "runs killed")
        self.take((name, self.judge(folder, points, len(points.records))))


def end_at_once():
    """In a process of the pool, which is ended by SIGTERM: the drill's own handler, which it has inherited,
    leaves by an exception, and that may wait for ever for a lock of a process that has ended before it."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def differences(state, folder):
    """What a folder has, and what it should have by the records: no call may have been missed."""
    files = (path for top in ("place", "caller") for path in (folder / top).rglob("*") if path.is_file())
    real = {str(path.relative_to(folder)): path for path in files
            if not path.name.endswith(powerloss.SHARED)}
    known = state.files | state.originals
    found = [f"{path} is there or not" for path in sorted(real.keys() ^ known.keys())]
    return found + [f"{path} has other bytes" for path, content in state.files.items()
                    if path in real and real[path].read_bytes() != content]


def drill(options, result, point=None, variant=None, recording=None, missing=NOTHING):
    points = Points(recording or record(options, "run")[0], missing)
    if recording:
        options.folder = recording
    for kind, count in points.counts().items():
        result.count(f"points: {kind}", count)
    trial = Trial(points, options, result)
    if point is not None:
        trial.perform({(point, one) for one in VARIANTS if variant in (None, one)})
        return
    if options.cycles < ALL:
        chosen = points.some(options.cycles, options.chance("states"))
    else:
        chosen = points.different(options.chance)
        result.count("states", len(chosen))
    trial.perform(chosen)
    for number in range(min(MOST_KILLS, len(chosen) // PER_KILL) if not missing else 0):
        trial.kill(number)


if __name__ == "__main__":
    command.main(drill, NAME, CYCLES, more=(
        ("--recording", {"type": pathlib.Path, "metavar": "FOLDER/run", "help": "of a run that was kept"}),
        ("--point", {"type": int, "help": "this point alone"}),
        ("--variant", {"choices": VARIANTS, "help": "this state of the point alone"})))
