"""What is on a disk after a power cut: read from what `recording.c` wrote down.

A file keeps what was synced of it, a folder the names that were there when it was synced. Everything
later may be there or not, in any mixture: a later write without an earlier one, some sectors of a write
and not others, a name without the bytes behind it. That is less than any file system of Linux keeps.
Names in order are more like ext4's: they come one after the other, and a sync of anything that is new or
changed its length brings all names before it.

Left out: modes and times, which nothing here relies on after a cut; the socket; and `-shm`, which is
mapped, so that nobody can tell what is left of it: it is missing, empty, zeros, or what some other moment
left.
"""
import dataclasses
import itertools
import os
import struct

HEAD = struct.Struct("<IIIIQQ")
(WRITE, TRUNCATE, FSYNC, FDATASYNC, CREATE, MKDIR, LINK, RENAME, UNLINK, TOLD) = range(1, 11)
# Written by the drill itself, between the records of the process.
MARK = 100
KINDS = {WRITE: "write", TRUNCATE: "truncate", FSYNC: "fsync", FDATASYNC: "fdatasync", CREATE: "create",
         MKDIR: "mkdir", LINK: "link", RENAME: "rename", UNLINK: "unlink"}
SHARED = "-shm"
# Where a process sees the folder that it works in, whatever its name is.
HERE = "/proc/self/cwd/"
# Plain cuts: which names, and which bytes, are there of those that were not synced.
PLAIN = {"nothing more": ("strict", "none"), "names in order": ("ordered", "none"),
         "everything": ("all", "all"), "names alone": ("all", "none"), "bytes alone": ("strict", "all"),
         "lengths alone": ("all", "lengths")}
EVERYTHING = "everything"


@dataclasses.dataclass
class Record:
    operation: int
    path: str
    to: str
    bytes: bytes
    file: int
    at: int


def mark(trace, content):
    """A record of the drill's."""
    with open(trace, "ab", 0) as file:
        file.write(HEAD.pack(MARK, 0, 0, len(content), 0, 0) + content)


def note(trace, operation, path="", file=0, at=0, content=b""):
    """Something that the drill did to a file itself."""
    path = os.fsencode(path)
    with open(trace, "ab", 0) as out:
        out.write(HEAD.pack(operation, len(path), 0, len(content), file, at) + path + content)


def read(trace, folder):
    """The records; paths below `folder` begin there."""
    data = memoryview(trace.read_bytes())
    place, records = 0, []

    def take(size):
        nonlocal place
        place += size
        return bytes(data[place - size:place])

    def path(size):
        text = os.fsdecode(take(size)).rstrip("/")
        return text[len(HERE):] if text.startswith(HERE) else text.removeprefix(f"{folder}/")

    while place < len(data):
        operation, first, second, size, file, at = HEAD.unpack(take(HEAD.size))
        records.append(Record(operation, path(first), path(second), take(size), file, at))
    return records


class File:
    """The bytes that are kept of a file, and what happened to it since; or a folder. `original` is the path
    of a file that was there before, of which only the names change."""
    numbers = itertools.count()

    def __init__(self, original=None, is_folder=False):
        # Not `id`, which goes to another object when this one is gone.
        self.number = next(File.numbers)
        self.original, self.is_folder = original, is_folder
        self.kept, self.later = bytearray(), []
        self.is_new = True
        # Rises with each sync that changed something.
        self.version = 0

    def sync(self):
        """Whether that was more than bytes in their place."""
        self.version += bool(self.later)
        before = len(self.kept)
        for change in self.later:
            put(self.kept, *change)
        changed = self.is_new or len(self.kept) != before
        self.later, self.is_new = [], False
        return changed

    def after(self, which, chance):
        content = bytearray(self.kept)
        if which == "none":
            return content
        if which == "lengths":
            longest = max((at + len(data or b"") for at, data in self.later), default=0)
            return content + bytes(max(0, longest - len(content)))
        for at, data in self.later:
            if which == "all":
                put(content, at, data)
            else:
                scatter(content, at, data, which, chance)
        return content


def put(content, at, data):
    """One change: bytes at their place, or, where there are none, an end."""
    if data is None:
        del content[at:]
        content.extend(bytes(at - len(content)))
        return
    if at > len(content):
        content.extend(bytes(at - len(content)))
    content[at:at + len(data)] = data


def scatter(content, at, data, how, chance):
    """A change of which some sectors are written: `how` is their size and the share."""
    sector, share = how
    if data is None:
        if chance.random() < share:
            put(content, at, None)
        return
    start = at
    while start < at + len(data):
        end = min(at + len(data), (start // sector + 1) * sector)
        if chance.random() < share:
            put(content, start, data[start - at:end - at])
        start = end


class Names:
    """Which names are kept, and what happened to names since."""

    def __init__(self, names):
        self.kept, self.later = dict(names), []

    def sync(self, folder=None):
        """Of one folder, or of all."""
        mine = [change for change in self.later if folder in (None, os.path.dirname(change[1]))]
        self.later = [change for change in self.later if change not in mine]
        apply(self.kept, mine)

    def after(self, changes):
        names = dict(self.kept)
        apply(names, changes)
        return names


def apply(names, changes):
    for what, path, other in changes:
        if what == "name":
            names[path] = other
        elif what == "unlink":
            names.pop(path, None)
        elif path in names:
            names[other] = names.pop(path)


class Disk:
    """Follows the records, and tells what a cut leaves. `before`: names and Files that are there at the
    start, and kept. `ignores(path)`: syncs of it do nothing, to see that they are missed."""

    def __init__(self, before, numbers, ignores=lambda path: False):
        self.files = dict(numbers)
        self.paths = {id(file): path for path, file in before.items()}
        self.strict, self.ordered = Names(before), Names(before)
        self.ignores = ignores

    def follow(self, record):
        operation = record.operation
        if operation in (CREATE, MKDIR):
            file = self.files[record.file] = File(is_folder=operation == MKDIR)
            self.paths[id(file)] = record.path
            self._name("name", record.path, file)
        elif operation == LINK:
            self._name("name", record.path, self.files[record.file])
        elif operation == RENAME:
            self._name("rename", record.path, record.to)
        elif operation == UNLINK:
            self._name("unlink", record.path, None)
        elif operation in (FSYNC, FDATASYNC):
            self._sync(record)
        elif operation in (WRITE, TRUNCATE):
            # Nothing was recorded of a file that was there before, so all of its bytes are old.
            data = record.bytes if operation == WRITE else None
            self.files[record.file].later.append((record.at, data))

    def _name(self, *change):
        for names in (self.strict, self.ordered):
            names.later.append(change)

    def _sync(self, record):
        file = self.files.get(record.file)
        if file is None or self.ignores(self.paths.get(id(file), "")):
            return
        if file.is_folder:
            self.strict.sync(self.paths[id(file)])
        if file.sync() or file.is_folder or record.operation == FSYNC:
            self.ordered.sync()

    def cut(self, variant, chance=None, shared=()):
        """The State that a cut leaves now. Names of PLAIN, or `torn N`."""
        if variant in PLAIN:
            which, data = PLAIN[variant]
            changes = self.strict.later if which == "all" else []
            names = (self.ordered if which == "ordered" else self.strict).after(changes)
            return State(names, data, None, None)
        if chance.random() < 0.3:
            some = self.ordered.later[:chance.randrange(len(self.ordered.later) + 1)]
            names = self.ordered.after(some)
        else:
            share = chance.choice((0.2, 0.5, 0.8, 1))
            names = self.strict.after([change for change in self.strict.later if chance.random() < share])
        data = (chance.choice((512, 4096)), chance.choice((0.1, 0.5, 0.9)))
        return State(names, data, chance, chance.choice((None, b"", bytes(32768), *shared)))


class State:
    """What a cut leaves. `key` is the same for the same, without a look at the bytes; `fill` takes those, and
    has to come before the Disk goes on."""
    numbers = itertools.count()

    def __init__(self, names, data, chance, shared):
        self.number = next(State.numbers)
        self.names = {path: file for path, file in sorted(names.items())
                      if _is_reached(os.path.dirname(path), names)}
        self.data, self.chance, self.shared = data, chance, shared
        self.folders, self.files, self.originals = [], {}, {}

    def key(self):
        is_torn = self.chance is not None and any(file.later for file in self.names.values())
        later = self.data != "none" and self.chance is None
        return (self.number if is_torn else None, *(
            (path, file.number, file.version, later and len(file.later)) for path, file in self.names.items()
            if not path.endswith(SHARED)))

    def fill(self):
        for path, file in self.names.items():
            if file.is_folder:
                self.folders.append(path)
            elif file.original:
                self.originals[path] = file.original
            elif not path.endswith(SHARED):
                self.files[path] = bytes(file.after(self.data, self.chance))
            elif self.shared is not None:
                self.files[path] = self.shared
        self.names = self.chance = None
        return self

    def make(self, folder):
        """Puts it down in an empty folder. Files that were there before are hard links, so they keep their
        numbers."""
        for path in self.folders:
            os.makedirs(folder / path, 0o700, exist_ok=True)
        for path, content in self.files.items():
            (folder / path).write_bytes(content)
        for path, original in self.originals.items():
            os.link(original, folder / path)


def _is_reached(folder, names):
    return not folder or folder in names and _is_reached(os.path.dirname(folder), names)
