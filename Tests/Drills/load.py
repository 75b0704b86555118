"""Load: four hosts enqueue all that there is as fast as they are let, against a server that fails one time in
five, and every few seconds somebody is killed."""
import time

from drills import command
from drills.roughserver import RoughServer
from drills.storm import Storm

NAME, CYCLES, ENTRIES = "load", 1, 100_000
HOSTS = 4
# Seconds between two kills, at most.
MOST_PAUSE = 4.0
# Seconds by entry until all have settled: one request in ninety is asked to wait for a second, and the whole
# origin waits (D52).
PATIENCE, LEAST_PATIENCE = 0.04, 300
# Small bodies for the most part, as a queue of many entries has.
KINDS = ("small",) * 12 + ("large", "copy", "move", "form", "parts")


def drill(options, result):
    folder = options.folder
    for cycle in range(options.cycles):
        options.folder = folder / str(cycle)
        options.folder.mkdir()
        with command.naming(f"cycle {cycle}", "load"):
            one_load(options, result, options.chance("load", cycle))
        result.cycles += 1


def one_load(options, result, chance):
    server = RoughServer(f"{options.seed}:load", failing=20, terminal=0.5, parking=0.5)
    storm = Storm(options, server, rate=100_000, pending=64, kinds=KINDS, largest=30_000, window=256,
                  cancels=0.01, events=("settled",), forks=False)
    began = time.monotonic()
    # Fewer entries, more kills: a short load has some too.
    pause = min(MOST_PAUSE, options.size / 4000)
    try:
        while (left := options.size - storm.asked()) > 0:
            # Hosts that are there may ask for some of it as well, so the end comes in ever smaller steps.
            while len(storm.hosts) < HOSTS:
                storm.spawn(most=max(1, left // HOSTS))
            time.sleep(chance.uniform(pause / 2, pause))
            storm.befall()
            result.count("befell")
        storm.clear()
        storm.settle(max(LEAST_PATIENCE, options.size * PATIENCE))
        storm.judge(result)
        result.count("entries a second", int(storm.asked() / (time.monotonic() - began)))
    finally:
        storm.abandon()
        server.close()


if __name__ == "__main__":
    command.main(drill, NAME, CYCLES, ENTRIES, "entries")
