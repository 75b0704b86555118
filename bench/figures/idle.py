"""CPU time and wake-ups of a queue with nothing to do and a host that is silent, beside a `cat` that
waits as well."""
import pathlib
import subprocess
import time

import measure
from sidecar import cpu_of

NAME = "idle"
SECONDS = 10


def measured(workshop):
    seconds = workshop.scaled(SECONDS, 5)

    def ours(directory):
        with workshop.serve(directory) as serving:
            serving.call("subscribe", {"events": ["state", "progress", "attempt", "settled"]})
            serving.call("takeDiagnostics")
            # What follows a start, a checkpoint and the count of left bodies, is not idleness.
            quiet(serving.pid)
            return watched(serving.pid, seconds)

    def cat():
        with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            quiet(process.pid)
            seen = watched(process.pid, seconds)
            process.stdin.close()
            return seen

    full = workshop.queue(workshop.scaled(100_000))

    def named(who, seen):
        return {f"{who} {what}": measure.Sample(value) for what, value in seen.items()}

    contenders = {"outtray": lambda: named("outtray", ours(workshop.queue(0))),
                  "full": lambda: named("full", ours(full)), "cat": lambda: named("cat", cat())}
    taken = measure.rounds(contenders, workshop.pairs, warm=False)
    for who, name in (("outtray", "idle"), ("full", "idle, all paused")):
        yield measure.compare(
            f"{name}: wake-ups in {seconds} s", "", taken, f"{who} wake-ups", "cat wake-ups",
            measure.own_at_most(0, ""))
        yield measure.compare(f"{name}: CPU in {seconds} s", "ms", taken, f"{who} CPU", "cat CPU")


def wake_ups(pid):
    """How often its threads have waited of their own accord, which is how often they were woken."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        status = (task / "status").read_text(encoding="ascii")
        total += int(status.partition("\nvoluntary_ctxt_switches:")[2].split()[0])
    return total


def quiet(pid, most=10):
    """Waits until a process has slept for a second, at most MOST seconds."""
    for _ in range(most):
        before = wake_ups(pid)
        time.sleep(1)
        if wake_ups(pid) == before:
            return


def watched(pid, seconds):
    woken, cpu = wake_ups(pid), cpu_of(pid)
    time.sleep(seconds)
    return {"wake-ups": wake_ups(pid) - woken, "CPU": (cpu_of(pid) - cpu) * 1e3}
