"""The steps of this program, told on stdout."""

import os
import signal

left = int(os.environ.get("OBSERVATIONS_KILL_AFTER", 0))


def step(*words):
    """One step is done.

    With OBSERVATIONS_KILL_AFTER=N the program kills itself behind the Nth, which shows that nothing is lost
    then and nothing is done twice.
    """
    global left
    os.write(1, f"step {' '.join(words)}\n".encode())
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
