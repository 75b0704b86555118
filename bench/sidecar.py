"""The binary, spoken to by raw lines."""
import json
import os
import selectors
import subprocess
import time


def cpu_of(pid):
    """CPU seconds, user and system, of all threads of a process so far; exact to the nanosecond."""
    return time.clock_gettime(~pid << 3 | 2)


def line(id, method, params=None):
    """One request as it stands on the wire."""
    frame = {"jsonrpc": "2.0", "id": id, "method": method}
    if params is not None:
        frame["params"] = params
    return json.dumps(frame, separators=(",", ":")).encode() + b"\n"


class Refused(Exception):
    """An answer with an error."""


class Sidecar:
    """A running `outtray serve`. One thread reads and writes; no other competes with what is measured."""

    def __init__(self, binary, directory):
        self.process = subprocess.Popen(
            [binary, "serve", "--dir", str(directory)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            bufsize=0)
        self.pid = self.process.pid
        self.calls = 0
        self.events = []
        self._input, self._output = self.process.stdin.fileno(), self.process.stdout.fileno()
        os.set_blocking(self._input, False)
        self._rest, self._pending = b"", memoryview(b"")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.returncode is None:
            self.close()

    def call(self, method, params=None):
        """The result of one call; events that come before it wait in `events`."""
        self.calls += 1
        return self.exchange([line(self.calls, method, params)])[0]

    def exchange(self, requests):
        """Writes these lines as fast as they are taken; their results in the order in which they come."""
        self.post(b"".join(requests))
        results = []
        while len(results) < len(requests):
            for frame in self.frames():
                if "id" not in frame:
                    self.events.append(frame)
                elif "error" in frame:
                    raise Refused(frame["error"])
                else:
                    results.append(frame["result"])
        return results

    def next_events(self):
        """The events that are there, at least one; answers to what was posted are checked and dropped."""
        while not self.events:
            for frame in self.frames():
                if "error" in frame:
                    raise Refused(frame["error"])
                if "id" not in frame:
                    self.events.append(frame)
        events, self.events = self.events, []
        return events

    def settle(self, requests, count):
        """Writes these lines and acknowledges every outcome, until COUNT came and all calls are answered."""
        self.post(b"".join(requests))
        calls, answered, settled = len(requests), 0, 0
        while settled < count or answered < calls:
            events = []
            for frame in self.frames():
                if "error" in frame:
                    raise Refused(frame["error"])
                if "id" in frame:
                    answered += 1
                else:
                    events.append(frame["params"])
            if events:
                settled += len(events)
                calls += 1
                acknowledged = [event["eventId"] for event in events]
                self.post(line(f"ack {settled}", "ackEvents", {"eventIds": acknowledged}))
                yield from events

    def post(self, data):
        """Has these bytes written while `frames` is called."""
        self._pending = memoryview(bytes(self._pending) + data)

    def frames(self):
        """Writes what is taken, and reads what is there: at least one of both."""
        with selectors.DefaultSelector() as ready:
            ready.register(self._output, selectors.EVENT_READ)
            if self._pending:
                ready.register(self._input, selectors.EVENT_WRITE)
            able = {key.fd for key, _ in ready.select()}
        if self._input in able:
            self._pending = self._pending[os.write(self._input, self._pending[:1 << 16]):]
        if self._output not in able:
            return []
        more = os.read(self._output, 1 << 20)
        if not more:
            raise EOFError("the sidecar has ended")
        *whole, self._rest = (self._rest + more).split(b"\n")
        return [json.loads(text) for text in whole]

    @property
    def cpu(self):
        return cpu_of(self.pid)

    def close(self):
        """Lets it end as after a host that has gone."""
        self._part()
        status = self.process.wait(30)
        assert status == 0, f"the sidecar ended with {status}"

    def kill(self):
        self.process.kill()
        self.process.wait()
        self._part()

    def _part(self):
        self.process.stdin.close()
        self.process.stdout.close()


def memory(pid):
    """Resident and proportional memory of a process, in MB (10^6 bytes)."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as rollup:
        fields = dict(text.split(":") for text in rollup if ":" in text and "kB" in text)
    return tuple(int(fields[name].split()[0]) * 1024 / 1e6 for name in ("Rss", "Pss"))
