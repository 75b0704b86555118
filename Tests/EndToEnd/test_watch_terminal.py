"""`outtray watch` and its terminal: signals, sizes, colours, and the terminal as it was."""
import os
import re
import signal

import pytest

from endtoend import deadline
from endtoend.acceptance import children
from endtoend.requests import enqueue
from endtoend.watching import fill, quit


@pytest.mark.parametrize("number", [
    signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGSEGV,
    signal.SIGABRT])
def test_a_signal_puts_the_terminal_back(sidecar, watch, number):
    """Whatever ends it, the terminal is as it was, and the shell sees the signal."""
    terminal = watch()
    terminal.wait_for("served by")
    assert not terminal.is_restored()
    terminal.send_signal(number)
    assert terminal.wait_exit() == -number
    deadline.until("the terminal is as before", terminal.is_restored)


def test_control_c_ends_it_as_the_signal(sidecar, watch):
    """^C is a key in a full screen, and ends it all the same."""
    terminal = watch()
    terminal.wait_for("served by")
    terminal.type("^C")
    assert terminal.wait_exit() == -signal.SIGINT
    deadline.until("the terminal is as before", terminal.is_restored)


# A shell that has the program as a job of its own, as people's shells do: a stopped job goes on after a line.
SHELL = ["bash", "-c", 'set -m; "$@"; echo stopped; read line; fg; echo; echo over', "bash"]


@pytest.mark.parametrize("by_key", [True, False])
def test_it_stops_and_goes_on(sidecar, server, gate, watch, by_key):
    """^Z and SIGTSTP give the terminal back; SIGCONT takes it again and draws what is true then."""
    terminal = watch(under=SHELL)
    terminal.wait_for("served by")
    if by_key:
        terminal.type("^Z")
    else:
        os.kill(*children(terminal.process.pid), signal.SIGTSTP)
    terminal.wait_for("stopped")
    assert terminal.is_restored()
    fill(sidecar, server, 1)
    terminal.type("\n")
    terminal.wait_for("1 running", "note-0", absent=("stopped",))
    assert not terminal.is_restored()
    terminal.type("q")
    terminal.wait_for("over")
    deadline.until("the terminal is as before", terminal.is_restored)


def test_only_what_changed_is_written(sidecar, server, gate, watch):
    """A still queue costs nothing; a key costs its lines."""
    fill(sidecar, server, 20)
    terminal = watch()
    terminal.wait_for("▸ note-0", "no slot")
    deadline.until("nothing more is to come",
                   lambda: terminal.text().count("100%") == 3 and terminal.is_whole())
    before = len(terminal.written)
    terminal.type("j")
    terminal.wait_for("▸ note-1")
    cost = bytes(terminal.written[before:])
    assert b"\x1b[2J" not in cost and cost.count(b"note-") <= 4
    assert cost.startswith(b"\x1b[?2026h") and b"\x1b[?2026l" in cost


@pytest.mark.parametrize("env,is_coloured,is_utf8", [
    ({}, True, True), ({"NO_COLOR": "1"}, False, True), ({"LC_ALL": "C"}, True, False)])
def test_colours_and_characters(sidecar, server, gate, watch, env, is_coloured, is_utf8):
    """NO_COLOR takes the colours away, another locale all that is not ASCII; ids are harmless in each."""
    enqueue(sidecar, server.url("/held"), id="\x1b[2J漢字\x9b31m", key="\x07", data=1)
    terminal = watch(env=env)
    terminal.wait_for("\\u{1b}[2J" + ("漢字" if is_utf8 else "\\u{6f"), "█" if is_utf8 else "#####", "100%")
    written = bytes(terminal.written)
    assert (re.search(rb"\x1b\[[0-9;]*3[0-9]m", written) is not None) == is_coloured
    assert all(byte < 0x80 for byte in written) != is_utf8
    assert b"\x07" not in written and b"\x9b31m" not in written.replace(b"\xc2\x9b", b"")
    quit(terminal)


def test_the_window_changes_its_size(sidecar, server, gate, watch):
    """SIGWINCH: another size is another picture, down to 40 columns and less."""
    fill(sidecar, server, 30)
    terminal = watch()
    terminal.wait_for("STATE", "TRIES", "note-12")
    terminal.resize(40, 12)
    terminal.wait_for("27 queued", "run    ", "wait  ", absent=("TRIES",))
    assert all(len(line) <= 40 for line in terminal.lines())
    terminal.resize(12, 3)
    terminal.wait_for("note")
    terminal.resize(130, 40)
    terminal.wait_for("KEY", "SIZE", "note-29")
    quit(terminal)
