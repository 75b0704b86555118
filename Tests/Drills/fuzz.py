"""The fuzzers (Tests/Fuzz): a cycle is an execution of each target, and the short form has few."""
import pathlib

from drills import command, played

NAME, CYCLES = "fuzz", 10_000_000
RUN = pathlib.Path(__file__).parent.parent.parent / "scripts" / "fuzz"
WORKERS = 2


def drill(options, result):
    played.play(
        options, result, [RUN, "--runs", str(options.cycles), "--workers", str(WORKERS)], "swiftc", least)


def least(summary):
    return min((target["executions"] for target in summary["targets"]), default=0)


if __name__ == "__main__":
    command.main(drill, NAME, CYCLES)
