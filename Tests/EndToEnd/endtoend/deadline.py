"""Waiting for a condition, with an end to it."""
import os
import time

# TEST_PATIENCE makes it longer, for a binary that is slow on purpose.
SECONDS = 15.0 * float(os.environ.get("TEST_PATIENCE", 1))


def until(what, condition, seconds=SECONDS):
    """Polls `condition` until it is true and returns its value; AssertionError naming `what` at the end."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.01)
