"""Processes that are nobody's children any more."""
import ctypes
import os

PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans():
    """From now on what loses its parent becomes a child of this process, which so learns how it ends."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def ended(pid):
    """The exit status of an adopted process (negative: the signal), or None while it runs."""
    found, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if found else None
