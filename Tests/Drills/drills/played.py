"""What another program of the tests plays for a drill: a number of cycles from a seed, told in a summary."""
import json
import shutil
import subprocess

from . import command

# The end of what it says about a failure, in lines.
SHOWN = 60


def play(options, result, arguments, compiler, cycles_of):
    """Runs it with the seed, the folder's summary and these arguments; `cycles_of` finds in the summary how
    many cycles were played. Takes it for failed unless it ended well with all of them."""
    if not shutil.which(compiler):
        raise command.Skipped(f"{compiler} is not there to build it")
    summary = options.folder / "summary.json"
    run = subprocess.run(
        [*arguments, "--seed", str(options.seed), "--json", summary],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if summary.exists():
        result.cycles = cycles_of(json.loads(summary.read_text(encoding="utf-8")))
    if run.returncode or result.cycles < options.cycles:
        told = "\n  ".join(run.stdout.splitlines()[-SHOWN:])
        result.faults.append(f"exit status {run.returncode}, {result.cycles} cycles:\n  {told}")
