"""Kills under load: hosts and sidecars on one directory are killed, leave and come back, at random; the
ledgers of the hosts and of the server have to agree at the end."""
import time

from drills import command
from drills.roughserver import RoughServer
from drills.storm import Storm, until_owned

NAME, CYCLES = "kills", 200
# After so many cycles everything is settled and compared, and a new directory begins.
ROUND = 40


def drill(options, result):
    folder = options.folder
    while result.cycles < options.cycles:
        options.folder = folder / f"from-{result.cycles}"
        options.folder.mkdir()
        with command.naming(f"round from cycle {result.cycles}", "kills"):
            one_round(options, result, min(ROUND, options.cycles - result.cycles))


def one_round(options, result, cycles):
    chance = options.chance("kills", result.cycles)
    server = RoughServer(f"{options.seed}:{result.cycles}", failing=25, terminal=2, parking=2)
    storm = Storm(options, server)
    try:
        for _ in range(cycles):
            while len(storm.hosts) < 4 and (not storm.hosts or chance.random() < 0.8):
                storm.spawn()
            until_owned(storm)
            time.sleep(chance.uniform(0.02, 0.5))
            storm.befall()
            result.cycles += 1
        storm.clear()
        server.be_kind()
        storm.settle()
        storm.judge(result)
    finally:
        storm.abandon()
        server.close()


if __name__ == "__main__":
    command.main(drill, NAME, CYCLES)
