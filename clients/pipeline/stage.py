"""One round's own server, records and queue."""
import hashlib
import json
import pathlib
import random
import select
import shutil
import subprocess
import tempfile
import urllib.request
import uuid

import check
import programs
from ledger import Ledger
from server import ObservationServer

SECONDS = 30  # For whatever has to come by itself.
LARGE, SMALL = 100_000, 2_000  # The first medium of a record does not fit into the database.
RETRY = {"baseMs": 100, "maxMs": 400, "jitter": 0.5}


def content_of(seed, size):
    return random.Random(seed).randbytes(size)


class Wire:
    """A host of its own on the queue, for what the program is not asked to do."""

    def __init__(self, binary, queue):
        self.process = subprocess.Popen([binary, "serve", "--dir", str(queue)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def call(self, method, **params):
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        # One call at a time, so nothing is left over in the buffer that select does not see.
        if not select.select([self.process.stdout], [], [], SECONDS)[0]:
            self.process.kill()
            raise RuntimeError(f"{method} was not answered within {SECONDS} s")
        answer = json.loads(self.process.stdout.readline() or "{}")
        if "result" not in answer:
            raise RuntimeError(f"{method} came to {answer}")
        return answer["result"]

    def __enter__(self):
        return self

    def __exit__(self, *all):
        self.process.stdin.close()
        try:
            self.process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            self.process.stdout.close()


class Stage:
    """Nothing here says what is right; `violations` collects what the rounds find."""

    def __init__(self, command, binary, **ledger):
        self.command, self.binary, self.violations, self.expected = command, binary, [], []
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pipeline-"))
        self.records, self.queue = self.folder / "records", self.folder / "queue"
        self.records.mkdir()
        self.ledger = Ledger(**ledger)
        self.server = ObservationServer(self.ledger)
        self.starts, self.kills = [], 0

    def __enter__(self):
        return self

    def __exit__(self, *all):
        for running in self.starts:
            running.process.kill()
            running.wait(SECONDS)
        programs.kill(programs.processes_of(self.folder))
        programs.wait_for_end(self.folder, SECONDS)
        self.server.close()
        self.ledger.close()
        shutil.rmtree(self.folder)

    def quick_retries(self):
        """Stored in the queue, before the program sees it."""
        with Wire(self.binary, self.queue) as wire:
            wire.call("configure", retry={"backoff": RETRY})

    # What the program is given

    def observe(self, photos=0, sounds=0, created_at=1, server_id=None, synced=(), name=None):
        """Writes a record with new media, beside those that are `synced`: a list of check.Medium."""
        name = name or str(uuid.uuid4())
        media, files = list(synced), {"photo": [], "sound": []}
        for medium in synced:
            files[medium.kind].append({"file": f"{medium.sha256[:8]}.bin", "server_id": medium.server_id})
        kinds = [("photo", ".jpg")] * photos + [("sound", ".wav")] * sounds
        for number, (kind, ending) in enumerate(kinds):
            content = content_of(f"{name}{number}", LARGE if number == 0 else SMALL)
            file = f"{name}-{number}{ending}"
            (self.records / file).write_bytes(content)
            files[kind].append(file)
            media.append(check.Medium(kind, hashlib.sha256(content).hexdigest()))
        wanted = check.Observation(name, f"seen, {created_at}: \"é\"", tuple(media), created_at, server_id)
        record = {"uuid": name, "created_at": created_at, "photos": files["photo"], "sounds": files["sound"],
                  "server_id": server_id, "needs_sync": True, "note": wanted.note, "errors": []}
        (self.records / f"{name}.json").write_text(json.dumps(record), encoding="utf-8")
        self.expected.append(wanted)
        return wanted

    def record(self, name):
        try:
            return json.loads((self.records / f"{name}.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None

    def post(self, path, fields=None, method="POST", file=None):
        """A request of the stage's own to the server; the answer's JSON."""
        headers, body = {"Content-Type": "application/json"}, json.dumps(fields or {}).encode()
        if file is not None:
            headers = {"Content-Type": "multipart/form-data; boundary=stage"}
            body = (f'--stage\r\nContent-Disposition: form-data; name="uuid"\r\n\r\n{fields["uuid"]}\r\n'
                    f'--stage\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n').encode()
            body += file + b"\r\n--stage--\r\n"
        request = urllib.request.Request(self.server.url + path, body, headers, method=method)
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return json.loads(answer.read())

    # The program

    def start(self, *arguments, kill_after=None):
        running = programs.Running([*self.command, *map(str, arguments)], self.binary, self.folder / "stderr",
                                   kill_after)
        self.starts.append(running)
        return running

    def sync(self, *more, kill_after=None):
        return self.start("sync", "--queue", self.queue, "--records", self.records, "--server",
                          self.server.url, *more, kill_after=kill_after)

    def found(self, kind, text):
        self.violations.append(check.Violation(kind, text))

    def ends(self, running, what="the program"):
        """The program has to end by itself, with 0."""
        status = running.wait(SECONDS)
        if status is None:
            self.found("hang", f"{what} did not end within {SECONDS} s; its steps: {running.steps}")
        elif status:
            self.found("exit", f"{what} ended with {status}: {running.stderr()[-400:]}")

    # What came of it

    def is_left_alone(self):
        """Waits until the sidecar has ended by itself, as it does once it has nothing to send."""
        left = programs.wait_for_end(self.folder, SECONDS)
        if left:
            self.found("process", f"{len(left)} processes did not end")
            programs.kill(left)
            programs.wait_for_end(self.folder, SECONDS)

    def look(self, complete=True):
        """Holds the server against what was wanted, of which something may be missing if not `complete`."""
        state = self.ledger.state()
        self.violations += (check.on_server if complete else check.duplicates)(self.expected, state)
        for wanted in self.expected:
            self.violations += check.on_premature_mark(wanted, self.record(wanted.uuid), state)

    def look_at_records(self):
        state = self.ledger.state()
        for wanted in self.expected:
            self.violations += check.on_record(wanted, self.record(wanted.uuid), state)

    def look_at_queue(self, states=()):
        """No row is left in the queue, but for those in these states, and nothing to acknowledge."""
        with Wire(self.binary, self.queue) as wire:
            rows = [row for row in wire.call("getRequests")["requests"] if row["state"] not in states]
            unacknowledged = wire.call("stats")["outcomes"]["unacknowledged"]
        if rows or unacknowledged:
            ids = [f"{row['id']} {row['state']}" for row in rows]
            self.found("leftover", f"{unacknowledged} outcomes, and in the queue {ids}")

    def end(self):
        """The program has come back and ended: all is there, once, and marked; nothing is left over."""
        self.is_left_alone()
        self.look()
        self.look_at_records()
        self.look_at_queue()

    def last_words(self):
        log = self.folder / "stderr"
        return log.read_text(encoding="utf-8", errors="replace")[-800:] if log.exists() else ""
