"""Random histories of the engine on a disk that forgets (Tests/Simulation): a cycle is a history."""
import json
import pathlib
import shutil
import subprocess

from drills import command

NAME, CYCLES = "simulation", 1_000_000
RUN = pathlib.Path(__file__).parent.parent / "Simulation" / "run"
# The end of what a broken rule is told with.
SHOWN = 60


def drill(options, result):
    if not shutil.which("swift"):
        raise command.Skipped("swift is not there to build it")
    summary = options.folder / "summary.json"
    run = subprocess.run(
        [RUN, "--seed", str(options.seed), "--count", str(options.cycles), "--json", summary],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if summary.exists():
        result.cycles = json.loads(summary.read_text(encoding="utf-8"))["histories"]
    if run.returncode or result.cycles != options.cycles:
        told = "\n  ".join(run.stdout.splitlines()[-SHOWN:])
        result.faults.append(f"exit status {run.returncode}, {result.cycles} histories:\n  {told}")


if __name__ == "__main__":
    command.main(drill, NAME, CYCLES)
