"""The real binary as a child: lines in, lines out, its end."""
import json
import os
import pathlib
import re
import select
import signal
import subprocess
import threading
import time

from . import deadline, document
from .frames import BadLine, RPCError, parse

EVENTS = ("state", "progress", "attempt", "settled")


class Sidecar:
    """Runs `outtray serve --dir DIR` and collects what it writes.

    A thread reads stdout all the time unless `stop_reading` was called; every line is checked, and faults are
    kept for `close` and `check` to raise.
    """

    def __init__(self, binary, directory, *arguments, env=None, cwd=None, log=None, under=()):
        """`under` is a command that runs the binary, such as strace."""
        self.directory = str(directory)
        self.log_path = log or self.directory + ".stderr"
        with open(self.log_path, "ab") as log_file:
            self.process = subprocess.Popen(
                [*under, binary, "serve", "--dir", self.directory, *arguments], bufsize=0, cwd=cwd,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log_file,
                # A tracer that is killed leaves what it traced behind, so both are killed, as a group.
                start_new_session=bool(under),
                env={**os.environ, **(env or {})})
        self._is_group = bool(under)
        self.frames = []
        self.faults = []
        self._requests = document.Requests()
        # Frames up to here were held against the document.
        self._held = 0
        self._changed = threading.Condition()
        self._reads = threading.Event()
        self._reads.set()
        self._at_end = False
        self.may_cut_its_last_line = False
        self._broken = False
        self._rest = b""
        self._wake_read, self._wake_write = os.pipe()
        self._next_id = 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    # Out

    def send_raw(self, data):
        """Writes bytes to stdin as they are."""
        self._requests.feed(data)
        view = memoryview(data)
        while view:
            view = view[self.process.stdin.write(view):]

    def send_line(self, text):
        """Writes one line of text."""
        self.send_raw(text.encode("utf-8", "surrogatepass") + b"\n")

    def send(self, method, params=None, id=None):
        """Sends a request and returns its id."""
        if id is None:
            self._next_id += 1
            id = self._next_id
        self.send_line(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}},
                                  ensure_ascii=False))
        return id

    def call(self, method, **params):
        """Sends a request and returns its result; raises RPCError when it is refused."""
        return self.result(self.send(method, params))

    def result(self, id, seconds=deadline.SECONDS):
        """The result of the request `id`; raises RPCError when it is refused."""
        answer = self.answer(id, seconds)
        if "error" in answer:
            raise RPCError(answer["error"])
        return answer["result"]

    # In

    def answer(self, id, seconds=deadline.SECONDS):
        """Waits for the answer to `id`."""
        def matches(frame):
            return "method" not in frame and frame["id"] == id and type(frame["id"]) is type(id)
        return self.wait(f"an answer to {id!r}", matches, seconds=seconds)

    def wait(self, what, matches, since=0, seconds=deadline.SECONDS):
        """Waits for the first frame at or after position `since` that matches."""
        end = time.monotonic() + seconds
        position = since
        with self._changed:
            while True:
                while position < len(self.frames):
                    if matches(self.frames[position]):
                        return self.frames[position]
                    position += 1
                left = end - time.monotonic()
                if self._at_end or left <= 0:
                    why = "stdout ended" if self._at_end else f"not within {seconds} s"
                    raise AssertionError(f"{why}: {what}\n{self._recent()}")
                self._changed.wait(left)

    def event(self, method, since=0, seconds=deadline.SECONDS, **members):
        """Waits for an event whose params have these members; returns its params."""
        def matches(frame):
            return frame.get("method") == method and all(
                frame["params"].get(name) == value for name, value in members.items())
        return self.wait(f"{method} {members}", matches, since, seconds)["params"]

    def events(self, method, **members):
        """The params of the events of this name so far."""
        with self._changed:
            frames = list(self.frames)
        return [frame["params"] for frame in frames if frame.get("method") == method and all(
            frame["params"].get(name) == value for name, value in members.items())]

    def take_events(self, method):
        """The params of the events of this name since the last time, for long tests: every frame so far is
        forgotten, answers that nobody waits for as well."""
        with self._changed:
            frames, self.frames = self.frames, []
        self._hold_against_the_document(frames)
        self._held = 0
        return [frame["params"] for frame in frames if frame.get("method") == method]

    def wait_events(self, method, count, seconds=deadline.SECONDS, **members):
        """Waits for `count` events of this name, and returns all there are."""
        deadline.until(f"{count} events {method} {members}",
                       lambda: len(self.events(method, **members)) >= count or self._at_end, seconds)
        events = self.events(method, **members)
        assert len(events) >= count, (
            f"stdout ended: {len(events)} of {count} {method} {members}\n{self._recent()}")
        return events

    def position(self):
        """Where the next frame will stand."""
        with self._changed:
            return len(self.frames)

    def stop_reading(self):
        """From now on stdout is not read."""
        self._reads.clear()

    def go_on_reading(self):
        self._reads.set()

    def break_stdout(self):
        """Closes our end of stdout, as a host that dies does; returns once it is closed."""
        self._broken = True
        os.write(self._wake_write, b"x")
        self._reader.join()

    # The protocol's most frequent calls

    def subscribe(self, *events, **params):
        return self.call("subscribe", events=list(events or EVENTS), **params)

    def rows(self, **filters):
        """Every row, all pages."""
        rows = []
        while True:
            page = self.call("getRequests", **filters)
            rows += page["requests"]
            if "nextCursor" not in page:
                return rows
            filters["cursor"] = page["nextCursor"]

    def row(self, id):
        """The row of `id`, or None."""
        rows = self.rows(id=id)
        return rows[0] if rows else None

    def wait_state(self, id, state, seconds=deadline.SECONDS):
        """Waits until the row of `id` is in `state`, and returns it."""
        def look():
            row = self.row(id)
            return row if row and row["state"] == state else None
        return deadline.until(f"{id} in state {state} (last: {self.row(id)})", look, seconds)

    def settled(self, id, count=1, seconds=deadline.SECONDS):
        """The `count`-th settled event of `id`."""
        return self.wait_events("settled", count, seconds, id=id)[count - 1]

    def ack(self, *outcomes):
        return self.call("ackEvents", eventIds=[outcome["eventId"] for outcome in outcomes])

    # Its end

    def kill(self):
        """SIGKILL, and waits until it is reaped and its output is read."""
        self._kill()
        return self.wait_exit()

    def _kill(self):
        if self._is_group:
            os.killpg(self.process.pid, signal.SIGKILL)
        else:
            self.process.kill()

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)
        return self.wait_exit()

    def close(self, seconds=deadline.SECONDS):
        """Ends stdin and returns the exit status (negative: the signal); raises what was wrong on stdout."""
        self.go_on_reading()
        if not self.process.stdin.closed:
            self.process.stdin.close()
        status = self.wait_exit(seconds)
        self.check()
        return status

    def wait_exit(self, seconds=deadline.SECONDS):
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._kill()
            self.process.wait()
            why = f"the sidecar did not end within {seconds} s\n{self.stderr()[-2000:]}"
            raise AssertionError(why) from None
        if self._reads.is_set():
            self._reader.join(seconds)
        return status

    def dispose(self):
        """Kills it if it still runs, and lets go of its pipes."""
        self.go_on_reading()
        if self.process.poll() is None:
            self.kill()
        self._reader.join(deadline.SECONDS)
        assert not self._reader.is_alive(), "something still holds the sidecar's stdout"
        self.process.stdin.close()
        for end in (self._wake_read, self._wake_write):
            os.close(end)

    def check(self):
        """Raises when a line on stdout was none of the protocol's, or not as the document has it."""
        assert not self.faults, self.faults
        self._hold_against_the_document(self.frames[self._held:])
        self._held = len(self.frames)
        # A signal may end it in the middle of a line; its own end may not.
        may_cut = (self.process.returncode or 0) < 0 or self._broken or self.may_cut_its_last_line
        assert may_cut or not self._rest, f"a cut last line: {self._rest[:200]!r}"

    def _hold_against_the_document(self, frames):
        for frame in frames:
            problems = document.problems(frame, self._requests)
            assert not problems, f"{problems}: {frame.text[:500]}"

    def stderr(self):
        with open(self.log_path, "rb") as log:
            return log.read().decode("utf-8", "replace")

    def resident(self, most=False, of_file=True):
        """Resident memory in bytes: now, or the most it ever was; or without the program's file."""
        name = "VmHWM:" if most else "VmRSS:" if of_file else "RssAnon:"
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            for line in status:
                if line.startswith(name):
                    return int(line.split()[1]) * 1024
        raise AssertionError(f"the process has no {name}")

    def resident_of(self, library):
        """Bytes of a library's file that are in its memory."""
        maps = pathlib.Path(f"/proc/{self.process.pid}/smaps").read_text(encoding="ascii")
        of_file = re.compile(rf"^[0-9a-f].*/{library}[^/]*\nSize:.*\n(?:\w+:.*\n)*?Rss: +(\d+) kB$", re.M)
        return sum(int(size) for size in of_file.findall(maps)) * 1024

    def armed_timers(self):
        """Those of its timers that will wake it."""
        facts = pathlib.Path(f"/proc/{self.process.pid}/fdinfo")
        armed = re.compile(r"^it_value: \((?!0, 0\))", re.M)
        return [one.name for one in facts.iterdir() if armed.search(one.read_text(encoding="ascii"))]

    def _read(self):
        rest = bytearray()
        descriptor = self.process.stdout.fileno()
        # Not select: with many servers and sidecars about, descriptors pass its limit of 1024.
        readable = select.poll()
        for watched in (descriptor, self._wake_read):
            readable.register(watched, select.POLLIN)
        while not self._broken:
            self._reads.wait()
            if descriptor not in dict(readable.poll()):
                continue
            chunk = os.read(descriptor, 1 << 16)
            if not chunk:
                break
            start = len(rest)
            rest += chunk
            if rest.find(b"\n", start) < 0:
                continue
            *lines, rest = rest.split(b"\n")
            self._take(lines)
        self.process.stdout.close()
        self._rest = bytes(rest)
        with self._changed:
            self._at_end = True
            self._changed.notify_all()

    def _take(self, lines):
        with self._changed:
            for line in lines:
                try:
                    self.frames.append(parse(bytes(line)))
                except BadLine as fault:
                    self.faults.append(str(fault))
            self._changed.notify_all()

    def _recent(self):
        recent = "\n".join(frame.text[:300] for frame in self.frames[-8:])
        return f"last frames:\n{recent}\nstderr:\n{self.stderr()[-1500:]}"
