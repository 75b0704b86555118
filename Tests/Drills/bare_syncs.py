"""What the syncs of a file system are worth at the moment it stops, without any outtray: records are written
and synced one by one, and looked for after the next mount. One that was reported as kept before the stop and
is not there counts as lost; what is reported after it is counted by itself. Takes root."""
import contextlib
import os
import threading
import time

from drills import command
from drills.disks import Disk

NAME, CYCLES = "bare syncs", 90
KINDS = (("ext4", "cut"), ("ext4", "turned read-only"), ("xfs", "cut"))
WRITERS = 2
# As long as a page of a database with its header in the log.
RECORD = 4120


class Writer(threading.Thread):
    """`kept` has the time of each sync that returned 0, in order."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.path, self.kept, self.is_told_to_end = path, [], False

    def run(self):
        with contextlib.suppress(OSError):  # The file system has stopped.
            file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            try:
                self.write_all(file)
            finally:
                os.close(file)

    def write_all(self, file):
        os.fsync(file)
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        while not self.is_told_to_end:
            os.pwrite(file, record(len(self.kept)), len(self.kept) * RECORD)
            os.fdatasync(file)
            self.kept.append(time.monotonic())

    def missing(self):
        """The times of the syncs whose record is not there, or behind one that is not."""
        content = self.path.read_bytes() if self.path.exists() else b""
        for number in range(len(self.kept)):
            if content[number * RECORD:(number + 1) * RECORD] != record(number):
                return self.kept[number:]
        return []


def record(number):
    return (number + 1).to_bytes(8, "big") * (RECORD // 8)


def drill(options, result):
    folder = options.folder
    for kind, how in KINDS:
        options.folder = folder / f"{kind}-{how.replace(' ', '-')}"
        options.folder.mkdir()
        disk = Disk(kind, options.folder)
        try:
            for cycle in range(-(-options.cycles // len(KINDS))):
                one_stop(disk, how, options.chance(kind, how, cycle), result)
                result.cycles += 1
        finally:
            disk.close()


def one_stop(disk, how, chance, result):
    writers = [Writer(disk.place / f"records-{number}") for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    time.sleep(chance.uniform(0.01, 0.15))
    begin = time.monotonic()
    if how == "cut":
        disk.cut_power()
    else:
        disk.turn_read_only()
    time.sleep(0.03)
    for writer in writers:
        writer.is_told_to_end = True
        writer.join()
    disk.unmount()
    if how != "cut":
        disk.repair()
    disk.mount()
    result.count(f"{disk.kind} {how}")
    for writer in writers:
        missing = writer.missing()
        early = [at for at in missing if at < begin]
        result.accepted += len(writer.kept)
        result.lost += len(early)
        if early:
            result.faults.append(f"{disk.kind} {how}: {len(early)} synced records are gone")
        result.count(f"{disk.kind} {how}: reported afterwards", sum(at >= begin for at in writer.kept))
        result.count(f"{disk.kind} {how}: reported afterwards, and gone", len(missing) - len(early))


if __name__ == "__main__":
    command.main(drill, NAME, CYCLES)
