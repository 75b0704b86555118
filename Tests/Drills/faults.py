"""Faults of the disk, call by call: the nth write, sync, open, link or delete fails, once, for a time or for
good; then the queue starts again without faults, and what was answered has to hold. Also short writes."""
import time

from drills import command, injection, ledger
from drills.invariants import REFUSALS
from drills.roughserver import RoughServer
from drills.storm import Storm

NAME, CYCLES = "faults", 400
ASKS = 14
# Seconds that a run without faults may take, on a machine that does much else.
PATIENCE = 60
# Seconds in which nothing is said: what is sent is settled by then, for the most part.
SILENCE = 0.4
# One of so many cycles has short writes in place of failing calls.
SHORT = 8
# What a sidecar may say at its end: 73, the directory cannot be used; 127 is the loader's, which opens too.
ENDS = {0, -9, 73, 127}


def drill(options, result):
    injection.need_strace()
    library = injection.preload(options.folder)
    folder = options.folder
    counts, usual = quiet_run(options, folder / "quiet")
    faults = injection.every(counts, options.chance("faults"))
    for cycle in range(options.cycles):
        options.folder = folder / str(cycle)
        options.folder.mkdir()
        if cycle % SHORT == SHORT - 1:
            step = 1 + options.chance("short", cycle).randrange(9)
            fault = injection.NONE
            doing, how = f"short writes, one in {step}", {
                "env": {"LD_PRELOAD": str(library), "SHORT_WRITES": str(step)}}
        else:
            fault = next(faults)
            doing, how = str(fault), {"under": fault.under(options.folder / "trace")}
        with command.naming(f"cycle {cycle}", doing):
            # Not for long, since what waits for a disk that has failed for good would wait for ever.
            storm = run(options, cycle, how, usual * options.chance("span", cycle).uniform(0.5, 1.5))
            faults_before = len(result.faults)
            # What says that the file cannot be opened or read is right.
            unreadable = {"E_FILE_MISSING"} if doing.startswith(injection.OF_A_SOURCE) else set()
            storm.judge(result, ends=ENDS | injection.ENDS.get(fault.call, set()),
                        refusals=REFUSALS | unreadable)
            result.faults[faults_before:] = [
                f"cycle {cycle}, {doing}: {text}" for text in result.faults[faults_before:]]
            if "under" in how:
                happened = fault.happened(options.folder / "trace")
                result.count(f"{fault.call} {fault.error}" if happened else "did not come so far")
            else:
                result.count("short writes")
        result.cycles += 1


def quiet_run(options, folder):
    """How often each call is made when nothing fails, and how many seconds that takes."""
    options.folder = folder
    folder.mkdir()
    trace = folder / "trace"
    began = time.monotonic()
    run(options, "quiet", {"under": ["strace", "-f", "--seccomp-bpf", "-o", str(trace), "-e",
                                     "trace=%file,%desc,?socket"]}, PATIENCE)
    counts = injection.calls(trace)
    assert counts["fdatasync"], "the run without faults made no sync"
    overlooked = injection.overlooked(counts)
    assert not overlooked, f"calls that no fault is planned for: {overlooked}"
    return counts, time.monotonic() - began


def run(options, cycle, how, seconds):
    """One host enqueues a little of everything while `how` makes things fail; then nothing fails any more."""
    chance = options.chance("run", cycle)
    server = RoughServer(f"{options.seed}:{cycle}", failing=10, terminal=2)
    storm = Storm(options, server, wishes=("exit",))
    try:
        host = storm.spawn(most=ASKS, rate=500, forks=False, cancels=0.1, **how)
        until_quiet(storm, host, seconds)
        storm.befall(chance.choice(["everybody killed", "sidecar terminated", "owner killed"]))
        storm.clear()
        server.be_kind()
        storm.settle()
        return storm
    finally:
        storm.abandon()
        server.close()


def until_quiet(storm, host, seconds):
    """Until everything that was asked for is answered and nothing more is said, or this time has passed."""
    place = storm.folder / f"{host.settings['name']}.ledger"
    end, said, since = time.monotonic() + seconds, 0, time.monotonic()
    while (now := time.monotonic()) < end and host.lives:
        lines = ledger.read(storm.folder) if place.exists() else []
        if len(lines) != said:
            said, since = len(lines), now
        answered = {line["id"] for line in lines if line["what"] in ("accepted", "refused")}
        if len(answered) >= ASKS and now - since > SILENCE:
            return
        time.sleep(0.02)


if __name__ == "__main__":
    command.main(drill, NAME, CYCLES)
