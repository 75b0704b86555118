"""Clocks: which ones the real binary waits by."""
import os

from endtoend import deadline, rawserver
from endtoend.requests import enqueue


def test_d21_waits_count_suspended_time_and_deadlines_hear_of_a_clock_that_is_set(start, server):
    """D21: CLOCK_BOOTTIME for waits; CLOCK_REALTIME for dates, and told when that is set."""
    server.on("/x", rawserver.reply(503))
    sidecar = start()
    sidecar.subscribe()
    slow = {"baseMs": 600_000, "maxMs": 600_000, "jitter": 0}
    enqueue(sidecar, server.url("/x"), id="a", retry={"backoff": slow})
    sidecar.event("attempt", id="a")

    def timers():
        found = []
        folder = f"/proc/{sidecar.process.pid}/fdinfo"
        for number in os.listdir(folder):
            with open(f"{folder}/{number}", encoding="ascii") as file:
                fields = dict(line.split(":", 1) for line in file.read().splitlines() if ":" in line)
            if "clockid" in fields and fields["it_value"].strip() != "(0, 0)":
                found.append((int(fields["clockid"]), int(fields["settime flags"], 8)))
        return found
    # CLOCK_BOOTTIME absolute; CLOCK_REALTIME absolute and cancelled when the clock is set.
    deadline.until("both are armed", lambda: sorted(timers()) == [(0, 3), (7, 1)])
