"""A sidecar, spoken to line by line: what a program needs that has no client."""
import collections
import json
import os
import select
import subprocess
import time


class SidecarGone(Exception):
    """It has ended. What it had answered is on disk; the next one goes on from there."""


class Refused(Exception):
    def __init__(self, error):
        super().__init__(error["message"])
        self.code = error["data"]["code"]


class Sidecar:
    """One process, one thread: events that come while an answer is waited for are kept for `event`."""

    def __init__(self, queue):
        binary = os.environ.get("OUTTRAY_BINARY", "outtray")
        self.process = subprocess.Popen([binary, "serve", "--dir", str(queue), "--on-disconnect", "drain"],
                                        bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.rest, self.frames, self.events, self.count = b"", collections.deque(), collections.deque(), 0

    def call(self, method, **params):
        self.count += 1
        line = {"jsonrpc": "2.0", "id": self.count, "method": method, "params": params}
        try:
            self.process.stdin.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")
        except BrokenPipeError:
            raise SidecarGone() from None
        while True:
            frame = self._frame(None)
            if "method" in frame:
                self.events.append(frame)
            elif frame["id"] == self.count and "error" in frame:
                if frame["error"]["data"]["code"] == "E_SHUTDOWN":
                    raise SidecarGone()
                raise Refused(frame["error"])
            elif frame["id"] == self.count:
                return frame["result"]

    def event(self, seconds):
        """The next event's name and params, or None when there is none for so long."""
        frame = self.events.popleft() if self.events else self._frame(seconds)
        return frame and (frame["method"], frame["params"])

    def _frame(self, seconds):
        end = None if seconds is None else time.monotonic() + seconds
        while not self.frames:
            left = None if end is None else max(0, end - time.monotonic())
            if not select.select([self.process.stdout], [], [], left)[0]:
                return None
            chunk = os.read(self.process.stdout.fileno(), 1 << 16)
            if not chunk:
                raise SidecarGone()
            *lines, self.rest = (self.rest + chunk).split(b"\n")
            self.frames.extend(map(json.loads, lines))
        return self.frames.popleft()

    def leave(self):
        """Lets go of it. It goes on alone until nothing is left to send."""
        self.process.stdin.close()
        self.process.stdout.close()
