"""The programs of the example, run as a user would: the upload server, and the host with its page."""
import json
import os
import queue
import re
import signal
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parent.parent
REPOSITORY = EXAMPLE.parents[3]
BINARY = os.environ.get("OUTTRAY") or str(REPOSITORY / ".build/outtray")
PATIENCE_S = 20


def until(what, holds, seconds=PATIENCE_S):
    """Waits for something to become true, and says what it was when it does not."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = holds()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"waited in vain for {what}")


class Program:
    """A child whose lines are read as they come."""

    def __init__(self, *command, env=None):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True,
                                        env={**os.environ, **(env or {})})
        self.lines = queue.Queue()
        self.seen = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.seen.append(line)
            self.lines.put(line)
        self.lines.put(None)

    def line(self, pattern):
        """The next line that fits; its match."""
        while True:
            try:
                line = self.lines.get(timeout=PATIENCE_S)
            except queue.Empty:
                line = None
            if line is None:
                raise AssertionError(f"no line like {pattern} in:\n{''.join(self.seen)}")
            found = re.search(pattern, line)
            if found:
                return found

    def kill(self):
        """SIGKILL, and gone when this returns."""
        self.process.kill()
        self.process.wait()

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                self.kill()


def end_sidecars(folder):
    """Kills the sidecars whose queue is below a folder, and says how many there were."""
    ended = 0
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"serve" in words and any(word.startswith(os.fsencode(folder) + b"/") for word in words):
            try:
                os.kill(int(entry.name), signal.SIGKILL)
                ended += 1
            except ProcessLookupError:
                pass
    return ended


class UploadServer(Program):
    """server/main.js; it can be stopped and come back on its port."""

    def __init__(self, folder, port=0):
        super().__init__("node", str(EXAMPLE / "server/main.js"), str(port), env={"TMPDIR": str(folder)})
        self.url = self.line(r"^(http://[\d.:]+)").group(1)
        self.port = int(self.url.rsplit(":", 1)[1])

    def tell(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        self.line(f"^ok {command.split()[0]}")

    @property
    def stored(self):
        """What came whole: name, size, sha256 and times of each."""
        self.process.stdin.write("list\n")
        self.process.stdin.flush()
        return json.loads(self.line(r"^\[").string)


class Host(Program):
    """browser/main.js with a folder of its own."""

    def __init__(self, folder, server_url):
        super().__init__("node", str(EXAMPLE / "browser/main.js"), "--dir", str(folder),
                         "--server", server_url, env={"OUTTRAY_BINARY": BINARY})
        self.link = self.line(r"^\s*(http://127\.0\.0\.1:\d+/#\w+)").group(1)

    def call(self, command, body=b"{}"):
        """What the page would ask; for what a test needs before it looks."""
        base, secret = self.link.split("/#")
        request = urllib.request.Request(f"{base}/api/{command}", body, {
            "Authorization": f"Bearer {secret}", "Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as response:
            answer = json.load(response)
        assert "error" not in answer, answer
        return answer.get("value")

    def add(self, name, content):
        return self.call(f"files?name={urllib.parse.quote(name)}", content)["id"]

    def sign_in(self):
        self.call("signIn", b'{"name": "demo", "password": "demo"}')
