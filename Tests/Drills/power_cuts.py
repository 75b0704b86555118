"""Power cuts: a file system on a loop device stops at a random instant under load, is mounted again, and the
queue on it is started again; what was answered has to be there. Also file systems that turn read-only and are
repaired. Takes root."""
import signal
import time

from drills import command
from drills.disks import Disk
from drills.roughserver import RoughServer
from drills.storm import Storm, until_accepted

NAME, CYCLES = "power cuts", 500
KINDS = ("ext4", "xfs")
# After so many cuts everything is settled and compared, and a new file system begins.
ROUND = 50
# The share of cycles in which an ext4 turns read-only after an error and is repaired, in place of a cut.
READ_ONLY = 0.25
# How many answers a cut waits for at most; hosts ask for some tens of entries a second.
MOST_ACCEPTED = 24
# 73: the directory cannot be used. SIGBUS: a page of the mapped -shm file that the dead disk does not give.
ENDS = {0, -9, 73, -signal.SIGBUS}


def drill(options, result):
    """Half of the cycles on each kind of file system."""
    folder, share = options.folder, -(-options.cycles // len(KINDS))
    for kind in KINDS:
        begun = result.cycles
        while result.cycles - begun < share:
            options.folder = folder / f"{kind}-{result.cycles}"
            options.folder.mkdir()
            with command.naming(f"round from cycle {result.cycles} on {kind}", "power cuts"):
                one_round(options, result, kind, min(ROUND, share - (result.cycles - begun)))


def one_round(options, result, kind, cycles):
    chance = options.chance("cuts", result.cycles)
    disk = Disk(kind, options.folder)
    server = RoughServer(f"{options.seed}:{result.cycles}", failing=20, terminal=2)
    storm = Storm(options, server, wishes=("exit",), directory=disk.place / "queue", largest=60_000)
    try:
        for _ in range(cycles):
            storm.spawn(forks=False)
            if chance.random() < 0.3:
                storm.spawn(forks=False)
            # A queue is stopped in its first moments too; most have answered something, on any machine.
            if chance.random() < 0.8:
                until_accepted(storm, chance.randint(1, MOST_ACCEPTED))
            time.sleep(chance.uniform(0.0, 0.1))
            # A real cut ends the processes too. A sync that is under way when a file system stops may return
            # 0 and its data be lost (README.md). So what was answered before counts, and nothing after.
            if disk.can_turn_read_only and chance.random() < READ_ONLY:
                with storm.doubting():
                    disk.turn_read_only()
                    # Who is refused asks again meanwhile.
                    time.sleep(chance.uniform(0.0, 0.5))
                    storm.befall("everybody killed", "all hosts killed")
                    disk.unmount()
                disk.repair()
                result.count(f"{kind} turned read-only")
            else:
                with storm.doubting():
                    disk.cut_power()
                    time.sleep(chance.choice([0, 0, 0.05]))
                    storm.befall("everybody killed")
                    disk.unmount()
                result.count(f"cuts on {kind}")
            disk.mount()
            result.cycles += 1
        server.be_kind()
        storm.settle()
        storm.judge(result, counts_attempts=False, ends=ENDS)
    finally:
        storm.abandon()
        server.close()
        disk.close()


if __name__ == "__main__":
    command.main(drill, NAME, CYCLES)
