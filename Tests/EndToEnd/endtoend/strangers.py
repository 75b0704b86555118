"""Another user of the machine."""
import os
import subprocess

import pytest

NOBODY = 65534


def needs_root():
    """Skips, and says so, where the test cannot become another user."""
    if os.geteuid() != 0:
        pytest.skip("to act as another user takes root")


def begin_as_stranger(program, *arguments):
    """Starts a Python program as a user who owns nothing of the queue."""
    return subprocess.Popen(
        ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "/usr/bin/python3", "-c",
         program, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/")


def run_as_stranger(program, *arguments):
    """What the program prints until its end."""
    process = begin_as_stranger(program, *arguments)
    output, _ = process.communicate(timeout=20)
    assert process.returncode == 0, (program, output)
    return output.strip()
