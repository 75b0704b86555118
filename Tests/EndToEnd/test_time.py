"""Clocks: which ones the real binary waits by."""
import os
import time

from endtoend import deadline, rawserver
from endtoend.requests import enqueue

CLOCK_REALTIME = 0
CLOCK_BOOTTIME = 7


def timers(sidecar):
    """Armed timers: the number of the clock, the flags, and how many seconds are left."""
    found = []
    folder = f"/proc/{sidecar.process.pid}/fdinfo"
    for number in os.listdir(folder):
        with open(f"{folder}/{number}", encoding="ascii") as file:
            fields = dict(line.split(":", 1) for line in file.read().splitlines() if ":" in line)
        if "clockid" in fields:
            left = int(fields["it_value"].strip(" ()").split(",")[0])
            if left > 0:
                found.append((int(fields["clockid"]), int(fields["settime flags"], 8), left))
    return sorted(found)


def fail_once(sidecar, server, wait, **fields):
    server.on("/x", rawserver.reply(503))
    sidecar.subscribe()
    backoff = {"baseMs": wait, "maxMs": wait, "jitter": 0}
    enqueue(sidecar, server.url("/x"), id="a", retry={"backoff": backoff}, **fields)
    sidecar.event("attempt", id="a")


def test_d21_waits_count_suspended_time(start, server):
    """D21: CLOCK_BOOTTIME for waits; CLOCK_REALTIME for dates, and told when that is set."""
    sidecar = start()
    fail_once(sidecar, server, 600_000)
    # Both absolute (1), that of the dates cancelled when the clock is set (2).
    deadline.until("both are armed", lambda: [
        (clock, flags) for clock, flags, _ in timers(sidecar)] == [(CLOCK_REALTIME, 3), (CLOCK_BOOTTIME, 1)])


def test_a_retry_04_timers_of_more_than_2_31_ms(start, server):
    """A-RETRY-04: a wait of 3*10^9 ms and a deadline in 40 days are set as they are; nothing fires early."""
    sidecar = start()
    days = 40 * 86_400
    fail_once(sidecar, server, 3_000_000_000, expiresAt=int((time.time() + days) * 1000))

    def are_set():
        left = [left for _, _, left in timers(sidecar)]
        return len(left) == 2 and abs(left[0] - days) < 60 and abs(left[1] - 3_000_000) < 60
    deadline.until(f"both are armed: {timers(sidecar)}", are_set)
    server.quiet(0.5)
    assert sidecar.row("a")["state"] == "queued" and sidecar.events("settled") == []
