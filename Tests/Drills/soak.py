"""A long life: one sidecar works under steady mixed load while hosts attach and leave, and after each cycle,
when nothing is left to do, it has to hold what it held before: descriptors, threads, memory, files."""
import dataclasses
import json
import os
import statistics

from drills import command, invariants, ledger, usage
from drills.housekeeping import Day
from drills.roughserver import RoughServer
from drills.storm import Storm
from endtoend import deadline
from endtoend.sidecar import Sidecar

NAME, CYCLES = "soak", 250
HOSTS, ENTRIES = 2, 60
# Connections that are kept for the next request.
MOST_CONNECTIONS = 8
MIB = 1 << 20
# The log is copied when nothing goes on, and beyond 12 MiB, so that it stays below 16; the file is reused.
MOST_LOG = 20 * MIB
# Until then tables, pools and caches grow to the size that they keep.
WARM_UP = 0.3
# What may be added by 1,000 attempts; a leak of one block with each would be 1,000.
MOST_GROWTH = {"blocks": 20, "heap": 20_000, "resident": 100_000, "used": 2}
# A life of fewer cycles tells less: each sample is more of it, and memory has not come to its size yet.
SHORT = 60
MOST_SHORT_GROWTH = {"blocks": 500, "heap": 2_000_000, "used": 50}


def drill(options, result):
    server = RoughServer(f"{options.seed}:soak", failing=20, terminal=2, parking=2)
    storm = Storm(options, server, wishes=("exit", "drain"), forks=False, most=ENTRIES, rate=400)
    heap = usage.Heap(options.binary, options.folder)
    sidecar = Sidecar(options.binary, storm.directory, env=heap.env, log=options.folder / "soak.stderr")
    taken = ledger.Ledger(options.folder / "last.ledger", "last")
    samples = []
    try:
        sidecar.call("ping")
        while result.cycles < options.cycles:
            with command.naming(f"cycle {result.cycles}", "soak"):
                one_cycle(options, storm, sidecar, taken, result.cycles)
                work = sidecar.call("stats")["attempts"]["started"]
                held = samples[-1].held if samples else None
                samples.append(usage.quiet_sample(sidecar, heap, storm.directory, work, held))
                note(samples[-1])
            result.cycles += 1
        end(sidecar, heap, result)
        storm.judge(result)
    finally:
        sidecar.dispose()
        storm.abandon()
        server.close()
    judge(samples, result)


def note(sample):
    """For whoever wants to look at all of them."""
    if place := os.environ.get("SOAK_SAMPLES"):
        with open(place, "a", encoding="ascii") as file:
            file.write(json.dumps(dataclasses.asdict(sample)) + "\n")


def one_cycle(options, storm, sidecar, taken, number):
    """Everything that happens in life, and at its end nothing is left to do."""
    for _ in range(HOSTS):
        storm.spawn()
    Day(sidecar, options.binary, options.folder, number).live()
    deadline.until("the hosts have asked for all", lambda: all(has_asked(host) for host in storm.hosts), 60)
    storm.clear()
    storm.take_all(sidecar, taken, 120)
    sidecar.call("unsubscribe")
    sidecar.take_events("settled")


def has_asked(host):
    with open(f"{host.settings['folder']}/{host.settings['name']}.ledger", "rb") as lines:
        return lines.read().count(b'"what": "ask"') >= ENTRIES


def end(sidecar, heap, result):
    status = sidecar.close(60)
    said = sidecar.stderr()
    if status:
        result.faults.append(f"it ended with {status}: {said[:4000]}")
    result.faults += [f"{fault}: {said[:4000]}" for fault in heap.at_end()]


def judge(samples, result):
    """By what the samples have in common, and by no single one."""
    warm = samples[int(len(samples) * WARM_UP):]
    most = max(one.connections for one in samples)
    if most > MOST_CONNECTIONS:
        result.faults.append(f"{most} connections were kept")
    log = max(one.log for one in samples)
    if log > MOST_LOG:
        result.faults.append(f"the log has {log} bytes")
    result.count("descriptors", sum(samples[-1].held.values()) - samples[-1].threads)
    result.count("threads", samples[-1].threads)
    result.count("attempts", samples[-1].work)
    result.count("KiB of its own, median", int(statistics.median(one.resident for one in warm)) >> 10)
    result.count("KiB of the database, most", max(one.database for one in samples) >> 10)
    result.count("KiB of the log, most", log >> 10)
    for name, bound in (MOST_GROWTH if len(samples) >= SHORT else MOST_SHORT_GROWTH).items():
        if getattr(samples[0], name) is None:
            continue
        grown = usage.growth(warm, name)
        result.count(f"growth by 1,000 attempts: {name}", round(grown, 1))
        if grown > bound:
            result.faults.append(f"{name} grows by {grown:.0f} with 1,000 attempts: "
                                 f"{[getattr(one, name) for one in samples]}")


if __name__ == "__main__":
    command.main(drill, NAME, CYCLES)
