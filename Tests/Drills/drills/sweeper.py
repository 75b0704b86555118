"""Ends what a drill has started once the drill has ended, by whatever: also when it was killed. Its folder
comes as a line on stdin, whose end is the drill's."""
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1])]

import drills  # noqa: E402, F401  (it finds the package below)
from endtoend.acceptance import processes_on  # noqa: E402

# How often it looks, since what is killed may have started something meanwhile.
LOOKS, PAUSE = 50, 0.1


@contextlib.contextmanager
def sweeping(folder):
    """No process that has this folder in its arguments outlives the block, or this process."""
    # In a session of its own, so that what ends the drill's group does not end it.
    sweeper = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, start_new_session=True)
    sweeper.stdin.write(os.fsencode(f"{folder}\n"))
    sweeper.stdin.flush()
    try:
        yield
    finally:
        sweeper.stdin.close()
        sweeper.wait()


def main():
    folder = sys.stdin.readline().rstrip("\n")
    sys.stdin.read()
    for _ in range(LOOKS):
        left = processes_on(folder)
        if not left:
            return
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(PAUSE)


if __name__ == "__main__":
    main()
