"""The fuzzers (Tests/Fuzz): a cycle is an execution of each target, and the short form has few."""
import json
import pathlib
import shutil
import subprocess

from drills import command

NAME, CYCLES = "fuzz", 10_000_000
RUN = pathlib.Path(__file__).parent.parent.parent / "scripts" / "fuzz"
WORKERS = 2
# The end of what a finding is told with.
SHOWN = 60


def drill(options, result):
    if not shutil.which("swiftc"):
        raise command.Skipped("swiftc is not there to build it")
    summary = options.folder / "summary.json"
    run = subprocess.run(
        [RUN, "--seed", str(options.seed), "--runs", str(options.cycles), "--workers", str(WORKERS),
         "--json", summary],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    targets = json.loads(summary.read_text(encoding="utf-8"))["targets"] if summary.exists() else []
    result.cycles = min((target["executions"] for target in targets), default=0)
    if run.returncode or result.cycles < options.cycles:
        told = "\n  ".join(run.stdout.splitlines()[-SHOWN:])
        result.faults.append(f"exit status {run.returncode}, {result.cycles} executions of each:\n  {told}")


if __name__ == "__main__":
    command.main(drill, NAME, CYCLES)
