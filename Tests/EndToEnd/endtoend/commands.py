"""The commands of outtray for people, run as they are typed."""
import dataclasses
import json
import os
import subprocess
import threading

from . import deadline
from .requests import enqueue

SECRET = "hunter2-top-secret"


@dataclasses.dataclass
class Ended:
    """A command that has ended."""
    status: int
    output: str
    error: str

    @property
    def lines(self):
        """The lines of stdout as JSON."""
        return [json.loads(line) for line in self.output.splitlines()]

    @property
    def reason(self):
        """The last line of stderr, without the program's name."""
        return (self.error.splitlines() or [""])[-1].removeprefix("outtray: ")


class Commands:
    """Runs commands on one directory; no output of any may hold the secret that the tests plant."""

    def __init__(self, binary, directory):
        self.binary = binary
        self.directory = str(directory)
        self.running = []

    def __call__(self, name, *arguments, input="", status=0, env=None, on=None):
        """Runs it to its end, which has to have this status."""
        ended = subprocess.run(
            [self.binary, *name.split(), "--dir", str(on or self.directory), *arguments], input=input,
            capture_output=True, text=True, timeout=2 * deadline.SECONDS, check=False,
            env={**os.environ, **(env or {})})
        assert ended.returncode == status, (name, arguments, ended)
        assert SECRET not in ended.stdout + ended.stderr, (name, arguments, ended)
        return Ended(ended.returncode, ended.stdout, ended.stderr)

    def json(self, name, *arguments, **options):
        return self(name, *arguments, "--json", **options).lines

    def begin(self, name, *arguments):
        """Starts one that goes on."""
        going = Going([self.binary, *name.split(), "--dir", self.directory, *arguments])
        self.running.append(going)
        return going

    def dispose(self):
        for going in self.running:
            going.end()


class Going:
    """A command that goes on; a thread collects its lines."""

    def __init__(self, words):
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.lines = []
        self.remarks = []
        self._readers = [threading.Thread(target=self._read, args=pair, daemon=True) for pair in (
            (self.process.stdout, self.lines), (self.process.stderr, self.remarks))]
        for reader in self._readers:
            reader.start()

    @staticmethod
    def _read(stream, lines):
        for line in stream:
            lines.append(line.rstrip("\n"))

    def wait_line(self, what, matches):
        """Waits for a line of stdout that matches."""
        return deadline.until(what, lambda: next((line for line in self.lines if matches(line)), None))

    def wait_for(self, text, after=0):
        """The position behind the first line of stdout with `text`, and behind `after`."""
        def look():
            places = enumerate(self.lines, 1)
            return next((place for place, line in places if place > after and text in line), 0)
        try:
            return deadline.until(text, look)
        except AssertionError as fault:
            raise AssertionError(f"{fault}: {self.lines}") from None

    def wait_remark(self, text):
        """Waits for a line of stderr with this text."""
        return deadline.until(text, lambda: next((line for line in self.remarks if text in line), None))

    def wait(self):
        """Its exit status."""
        status = self.process.wait(deadline.SECONDS)
        for reader in self._readers:
            reader.join(deadline.SECONDS)
        return status

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
        self.wait()
        assert SECRET not in "\n".join(self.lines + self.remarks)
        for stream in (self.process.stdout, self.process.stderr):
            stream.close()


def hears_of(sidecar, going, id):
    """Whether a command that follows the queue tells of an entry that is made and cancelled for it:
    subscribing takes a moment."""
    sidecar.call("pause", keys=["probe"])
    enqueue(sidecar, "http://127.0.0.1:1/", id=id, key="probe")
    sidecar.call("cancel", id=id)
    sidecar.call("cancel", id=id)
    return any(id in line for line in going.lines)
