"""What the user sees, on stderr."""

import sys
import threading

CELLS = 30


class Toolbar:
    """How far all observations are together, from 0 to 1; and what the user has to know."""

    def __init__(self):
        # Listeners and handlers run on different threads.
        self._lock = threading.Lock()
        self._weights, self._progress = {}, {}
        self._shown, self._said = None, None

    def add(self, group, weight):
        """A group joins, as heavy as its steps."""
        with self._lock:
            self._weights[group] = weight
            self._show()

    def move(self, group, progress):
        with self._lock:
            if group in self._weights:
                # What the listener's thread tells may be older than the end, which the handler's tells.
                self._progress[group] = max(progress, self._progress.get(group, 0))
                self._show()

    def say(self, text):
        """Says something once, until something else is said."""
        with self._lock:
            if text != self._said:
                self._said = text
                print(f"\r\x1b[K{text}" if sys.stderr.isatty() else text, file=sys.stderr, flush=True)

    def _show(self):
        done = sum(weight * self._progress.get(group, 0) for group, weight in self._weights.items())
        percent = int(100 * done / sum(self._weights.values()))
        if percent == self._shown:
            return
        self._shown = percent
        if not sys.stderr.isatty():
            print(f"progress {percent / 100:.2f}", file=sys.stderr, flush=True)
            return
        bar = ("#" * (CELLS * percent // 100)).ljust(CELLS)
        end = "\n" if percent == 100 else ""
        print(f"\r\x1b[K[{bar}] {percent} %{end}", end="", file=sys.stderr, flush=True)
