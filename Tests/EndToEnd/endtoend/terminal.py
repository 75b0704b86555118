"""A program on a terminal: what is written to its pseudo-terminal, as the screen that it makes."""
import fcntl
import os
import pty
import signal
import struct
import subprocess
import termios
import threading

import pyte

from . import deadline

KEYS = {"up": "\x1b[A", "down": "\x1b[B", "page up": "\x1b[5~", "page down": "\x1b[6~", "home": "\x1b[H",
        "end": "\x1b[F", "escape": "\x1b", "^C": "\x03", "^Z": "\x1a", "^L": "\x0c"}


class Terminal:
    """Runs a command on a terminal of its own, as the leader of its session, and reads what it writes."""

    def __init__(self, command, columns=80, rows=24, env=None, cwd=None):
        self.columns, self.rows = columns, rows
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self.written = bytearray()
        self._lock = threading.Lock()
        self.master, self.terminal = pty.openpty()
        self._set_size()
        self.before = termios.tcgetattr(self.terminal)
        self.process = subprocess.Popen(
            command, stdin=self.terminal, stdout=self.terminal, stderr=self.terminal, cwd=cwd,
            start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            env={**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "LINES": "", "COLUMNS": "",
                 "NO_COLOR": "", **(env or {})})
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    # In

    def type(self, text):
        """Types a key of KEYS, or characters."""
        os.write(self.master, KEYS.get(text, text).encode())

    def resize(self, columns, rows):
        with self._lock:
            self.columns, self.rows = columns, rows
            self.screen.resize(rows, columns)
        self._set_size()

    def _set_size(self):
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", self.rows, self.columns, 0, 0))

    # Out

    def lines(self):
        """The screen, without spaces at the ends of its lines."""
        with self._lock:
            return [line.rstrip() for line in self.screen.display]

    def cells(self):
        """Each line of the screen as a list of (text, colour, is bold), one for each column."""
        with self._lock:
            return [[(cell.data, cell.fg, cell.bold) for cell in (self.screen.buffer[row][column]
                                                                  for column in range(self.columns))]
                    for row in range(self.rows)]

    def text(self):
        return "\n".join(self.lines())

    def wait_for(self, *texts, absent=(), seconds=deadline.SECONDS):
        """Waits until the screen has all of `texts` and none of `absent`, and returns it."""
        def look():
            shown = self.text()
            return shown if all(text in shown for text in texts) and not any(
                text in shown for text in absent) else None
        try:
            return deadline.until(f"{texts} without {absent}", look, seconds)
        except AssertionError as fault:
            raise AssertionError(f"{fault}; shown:\n{self.text()}") from None

    def is_whole(self):
        """No picture of several lines is on its way."""
        with self._lock:
            return self.written.count(b"\x1b[?2026h") == self.written.count(b"\x1b[?2026l")

    def line_of(self, text):
        """The line that has `text`, or None."""
        return next((line for line in self.lines() if text in line), None)

    def modes(self):
        """The terminal's settings now."""
        return termios.tcgetattr(self.terminal)

    def is_restored(self):
        """Settings as before, the first screen, a cursor, broken lines, and no colour that goes on."""
        written = bytes(self.written)
        pairs = [(b"\x1b[?1049l", b"\x1b[?1049h"), (b"\x1b[?25h", b"\x1b[?25l"), (b"\x1b[?7h", b"\x1b[?7l")]
        return self.modes() == self.before and all(
            written.rfind(last) > written.rfind(first) for last, first in pairs)

    # Its end

    def wait_exit(self, seconds=deadline.SECONDS):
        """The exit status; negative: the signal."""
        return self.process.wait(seconds)

    def send_signal(self, number):
        self.process.send_signal(number)

    def state(self):
        """The letter of the process in /proc: T for stopped."""
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as stat:
            return stat.read().rpartition(")")[2].split()[0]

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        os.close(self.terminal)
        self._reader.join(deadline.SECONDS)
        os.close(self.master)

    def _read(self):
        while True:
            try:
                piece = os.read(self.master, 1 << 16)
            except OSError:
                return
            if not piece:
                return
            with self._lock:
                self.written += piece
                # The emulator knows no faint letters; grey ones stand in for them.
                self._stream.feed(piece.replace(b"\x1b[2m", b"\x1b[90m"))
