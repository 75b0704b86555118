"""The clients under kills: the JavaScript, Python, asyncio and Go client share a directory; programs and
sidecars are killed, close and come back at random. Every accepted mutate has to come to an outcome."""
import time

from drills import clients, command
from drills.invariants import ENDS, REFUSALS
from drills.roughserver import RoughServer
from drills.storm import Storm, until_owned

NAME, CYCLES = "clients", 40
# A client starts its sidecar five times within three minutes at most, so a round has few kills.
ROUND = 12
PACE = 0.01


def drill(options, result):
    options.folder.joinpath("drivers").mkdir()
    programs = clients.commands(options.folder / "drivers")
    folder = options.folder
    while result.cycles < options.cycles:
        options.folder = folder / f"from-{result.cycles}"
        options.folder.mkdir()
        with command.naming(f"round from cycle {result.cycles}", "clients"):
            one_round(options, result, programs, min(ROUND, options.cycles - result.cycles))


def one_round(options, result, programs, cycles):
    chance = options.chance("clients", result.cycles)
    server = RoughServer(f"{options.seed}:{result.cycles}", failing=20, terminal=2)
    storm = Storm(options, server)
    try:
        for _ in range(cycles):
            for language, program in programs.items():
                if not any(host.settings["name"].startswith(language) for host in storm.hosts):
                    storm.hosts.append(clients.Client(storm, language, program, chance.random() < 0.5))
            # A client whose sidecar has ended starts it again at the next call, and not before.
            for client in storm.hosts:
                client.mutate(chance)
            until_owned(storm)
            end = time.monotonic() + chance.uniform(0.3, 1.2)
            while time.monotonic() < end:
                chance.choice(storm.hosts).mutate(chance)
                time.sleep(PACE)
            storm.befall()
            result.cycles += 1
        storm.clear()
        server.be_kind()
        storm.settle()
        storm.judge(result, ends=ENDS, refusals=REFUSALS | clients.REFUSALS)
    finally:
        storm.abandon()
        server.close()


if __name__ == "__main__":
    command.main(drill, NAME, CYCLES)
