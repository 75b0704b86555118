"""Clocks that jump: the sidecar's wall clock is set forward and back by up to a day under load (faketime),
while waits go on by the other clock. Nothing may be lost, told again, or wait for longer than its backoff."""
import pathlib
import shutil
import subprocess
import time

from drills import command
from drills.roughserver import RoughServer
from drills.storm import Storm, until_owned

NAME, CYCLES = "clocks", 60
HOUR = 3600
STEPS = (-24 * HOUR, -HOUR, -90, -1, 0, 1, 90, HOUR, 24 * HOUR)
ROUND = 30
# The wrapper tells of a killed child in its own way.
ENDS = {0, -9, 1, 9, 137}


def wrapper(place):
    """A command that runs another one, whose wall clock is off by what stands in the file."""
    if not shutil.which("faketime"):
        raise command.Skipped("there is no faketime")
    # Its own argument comes before the file, so it has to go again. Times of files stay the kernel's.
    under = ["faketime", "-f", "+0", "env", "-u", "FAKETIME", f"FAKETIME_TIMESTAMP_FILE={place}",
             "FAKETIME_NO_CACHE=1", "NO_FAKE_STAT=1",
             "FAKETIME_DONT_FAKE_MONOTONIC=1"]
    set_clock(place, 90_000)
    shown = subprocess.run([*under, "date", "+%s"], capture_output=True, text=True, check=False)
    if abs(float(shown.stdout or 0) - time.time() - 90_000) > 60:
        raise command.Skipped(f"faketime does not work here: {shown}")
    return under


def drill(options, result):
    folder = options.folder
    while result.cycles < options.cycles:
        options.folder = folder / f"from-{result.cycles}"
        options.folder.mkdir()
        with command.naming(f"round from cycle {result.cycles}", "clocks"):
            one_round(options, result, min(ROUND, options.cycles - result.cycles))


def one_round(options, result, cycles):
    chance = options.chance("clocks", result.cycles)
    offset = options.folder / "offset"
    under = wrapper(offset)
    server = RoughServer(f"{options.seed}:{result.cycles}", failing=40)
    storm = Storm(options, server, under=under, forks=False)
    storm.last_under = under
    try:
        for _ in range(cycles):
            while len(storm.hosts) < 2:
                storm.spawn()
            until_owned(storm)
            time.sleep(chance.uniform(0.05, 0.4))
            step = chance.choice(STEPS)
            set_clock(offset, step)
            result.count(f"clock at {step:+d} s")
            if chance.random() < 0.3:
                storm.befall()
            result.cycles += 1
        storm.clear()
        # Back by a day at last, while hundreds wait: none may wait for that day.
        set_clock(offset, STEPS[0])
        storm.settle()
        storm.judge(result, ends=ENDS)
    finally:
        storm.abandon()
        server.close()


def set_clock(place: pathlib.Path, seconds):
    """At once, so that nobody reads half of it."""
    new = place.with_suffix(".new")
    new.write_text(f"{seconds:+d}\n")
    new.replace(place)


if __name__ == "__main__":
    command.main(drill, NAME, CYCLES)
