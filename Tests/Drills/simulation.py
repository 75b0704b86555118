"""Random histories of the engine on a disk that forgets (Tests/Simulation): a cycle is a history."""
import pathlib

from drills import command, played

NAME, CYCLES = "simulation", 1_000_000
RUN = pathlib.Path(__file__).parent.parent / "Simulation" / "run"


def drill(options, result):
    played.play(
        options, result, [RUN, "--count", str(options.cycles)], "swift",
        lambda summary: summary["histories"])


if __name__ == "__main__":
    command.main(drill, NAME, CYCLES)
