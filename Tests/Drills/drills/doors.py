"""A run of the real binary through every door of the store, written down call by call: it starts on nothing,
takes every kind of body, is killed, starts again, is tidied, ends, and meets a damaged database."""
import json
import os
import signal
import urllib.parse
import uuid

from endtoend import deadline, rawserver
from endtoend.requests import FAST
from endtoend.sidecar import Sidecar

from . import invariants, powerloss
from .bodies import Body
from .injection import compiled
from .roughserver import Received, RoughServer

# The queue may be anywhere, so its server is behind a proxy: each start has one of its own.
URL = "http://work.test/work"
SECRET = "a-secret-that-nobody-shall-find"
HELD = "held"
PLACE = "place/queues/queue"
# Entries that lie in rows and let the log become so long that it is copied.
FILLING = 18
NO_DATABASE = b"no database" * 400


class DoorServer(RoughServer):
    """Accepts, unless `fates` has statuses for the next requests of an entry; `auth` needs the secret."""

    def __init__(self, fates=()):
        super().__init__("doors", failing=0)
        self.waiting = {entry: list(statuses) for entry, statuses in dict(fates).items()}
        self._server.on(URL, self._take)
        self.surroundings = {"http_proxy": self._server.url(""), "no_proxy": "", "NO_PROXY": ""}

    def _take(self, exchange):
        request = exchange.request
        query = dict(urllib.parse.parse_qsl(request.target.partition("?")[2]))
        record = Received(query["entry"], query.get("part", "0"), request.request_id,
                          request.header("idempotency-key"), request.at, "form" in query)
        record.of, record.token = query.get("of"), request.header("x-token")
        with self._lock:
            self.received.append(record)
            fates = self.waiting.get(record.entry)
            said = fates.pop(0) if fates else 200
        exchange.read_body()
        record.digest, record.is_whole = self._digest(request, record.is_form), True
        if record.entry == "auth" and record.token != SECRET:
            said = 401
        if said == "hold":
            exchange.hold(self._server.closing)
            raise rawserver.Gone
        record.said = said
        exchange.answer(said, body=json.dumps({"id": f"{record.entry}-made"}).encode())


def entries(caller):
    """Every entry of the run by id: its params and its Body. Their sources are written into this folder."""
    def one(id, kind, key="k", largest=100_000, request=None, **params):
        body = Body(id, kind, URL, caller, largest)
        text = body.request(retry={"backoff": FAST}, **(request or {}))
        return {"id": id, "key": key, "body": body, "params": params,
                "request": text.replace(f"{caller}/", f"{powerloss.HERE}caller/")}
    bind = {"of": {"entry": "observation", "pointer": "/id"}}
    found = [
        one("small", "small"), one("large", "large"), one("copy-1", "copy", largest=300_000),
        one("copy-2", "copy", largest=30_000), one("move-1", "move", largest=300_000),
        one("move-2", "move", largest=30_000), one("form-1", "form", largest=300_000),
        one("form-2", "form", largest=30_000, request={"staging": "move"}),
        one("parts-1", "parts", largest=400_000), one("reference-1", "reference", largest=200_000),
        one("auth", "small"), one("refused", "large"), one("failing", "move", largest=300_000),
        one("replaced", "large", key=HELD), one("waiting", "move", key=HELD, largest=300_000),
        one("cancelled", "large", key=HELD), one("forgotten", "move", key=HELD, largest=300_000),
        one("photo", "copy", largest=300_000, group="g"),
        one("observation", "small", group="g", after=["photo"]),
        one("attach", "small", group="g", bind=bind, request={"url": f"{URL}?entry=attach&of={{of}}"}),
        one("lane-1", "large", lane="l"), one("lane-2", "small", lane="l"),
        *(one(f"late-{number}", kind, largest=300_000) for number, kind in enumerate(
            ("copy", "move", "parts", "form", "large", "small"))),
        one("again", "large"), one("after-all", "large"),
        *(one(f"filling-{number}", "text", largest=62_000) for number in range(FILLING))]
    return {entry["id"]: entry for entry in found}


class Host:
    """Speaks to one start of the sidecar; what it asks stands in the trace before it is sent."""

    def __init__(self, run, phase):
        self.run, self.phase, self.count = run, phase, 0
        run.mark(what="start", phase=phase)
        self.sidecar = Sidecar(run.binary, run.folder / PLACE, cwd=run.folder, env=run.surroundings(),
                               log=run.folder / f"{phase}.stderr")

    def ask(self, method, about=(), params=None):
        """Sends; returns the id of the request."""
        self.count += 1
        id = f"{self.phase}-{self.count}"
        self.run.mark(what="call", call=id, method=method, about=list(about))
        self.sidecar.send_line(
            f'{{"jsonrpc":"2.0","id":"{id}","method":"{method}","params":{params or "{}"}}}')
        return id

    def call(self, method, about=(), **params):
        return self.sidecar.result(self.ask(method, about, json.dumps(params)))

    def enqueue(self, *ids, call=True):
        """One by `enqueue`, several by `enqueueAll`."""
        chosen = [self.run.entries[id] for id in ids]
        texts = [f'{{{json.dumps({"id": one["id"], "key": one["key"], **one["params"]})[1:-1]},'
                 f'"request":{one["request"]}}}' for one in chosen]
        about = [{"id": one["id"], "key": one["key"], "kind": one["body"].kind, "hashes": one["body"].hashes,
                  "path": one["body"].path and f"caller/{one['id']}", "source": one["body"].source,
                  "moves": '"staging": "move"' in one["request"] or one["body"].kind == "parts"}
                 for one in chosen]
        if len(ids) == 1:
            asked = self.ask("enqueue", about, texts[0])
        else:
            asked = self.ask("enqueueAll", about, f'{{"entries":[{",".join(texts)}]}}')
        return self.sidecar.result(asked) if call else asked

    def subscribe(self):
        self.call("subscribe", events=["settled", "groupSettled", "attempt", "state"], window=1024)

    def ack(self, *ids):
        events = [self.sidecar.settled(id)["eventId"] for id in ids]
        self.call("ackEvents", events, eventIds=events)

    def ack_all(self):
        """Acknowledges until nothing is left, and every body is gone."""
        def tidy():
            told = self.sidecar.events("settled") + self.sidecar.events("groupSettled")
            events = sorted({event["eventId"] for event in told} - self.run.acked)
            if events:
                self.call("ackEvents", events, eventIds=events)
                self.run.acked |= set(events)
            return not any(self.sidecar.call("stats")["entries"].values())
        deadline.until("all is settled and acknowledged", tidy, 60)


class Run:
    """The folder of a run: `trace`, the `caller`'s files, the same as `originals`, and the queue's PLACE."""

    def __init__(self, folder, binary, kill=None):
        self.folder, self.binary, self.kill = folder, binary, kill
        self.trace, self.acked = folder / "trace", set()
        self.preloaded = compiled("recording", folder)
        for name in ("caller", "originals", "place"):
            (folder / name).mkdir()
        self.entries = entries(folder / "caller")
        for path in (folder / "caller").iterdir():
            os.link(path, folder / "originals" / path.name)
        self.server = DoorServer({"refused": [410], "failing": [503, 503], "move-1": [503],
                                  "late-0": ["hold"], "parts-1": [503, 200, 408]})

    def mark(self, **members):
        powerloss.mark(self.trace, json.dumps(members).encode())

    def surroundings(self):
        return {"LD_PRELOAD": str(self.preloaded), "TRACE": str(self.trace), "STEADY_CTIME": "1",
                "RECORDED": f"{self.folder}/place:{self.folder}/caller:{powerloss.HERE}caller",
                **self.server.surroundings,
                **({"KILL": self.kill} if self.kill else {})}

    def keys(self):
        """The Idempotency-Key of each entry, or part `entry/part`, that has one for good."""
        found = {}
        for request in self.server.received:
            # Who is enqueued with another body, or opened again, may have two.
            if request.entry not in ("replaced", "refused"):
                found.setdefault(f"{request.entry}/{request.part}", request.idempotency_key)
        return found

    def close(self):
        self.server.close()


def perform(run):
    """All of it, start by start; false when a kill came first."""
    try:
        for phase in (taking, going_on, tidying, damaged):
            host = Host(run, phase.__name__)
            try:
                phase(run, host)
            except (AssertionError, BrokenPipeError):
                if not run.kill or host.sidecar.wait_exit() != -signal.SIGKILL:
                    raise
                return False
            finally:
                host.sidecar.dispose()
        run.server.check()
        return True
    finally:
        run.close()


def taking(run, host):
    """Every kind of entry is taken, some settle; it is killed with some under way."""
    host.call("configure", lifetimeMs=86_400_000)
    host.subscribe()
    host.call("pause", [HELD], keys=[HELD])
    host.enqueue("replaced"), host.enqueue("waiting")
    host.enqueue("cancelled"), host.enqueue("forgotten", "photo", "observation", "attach")
    asked = [host.enqueue(id, call=False) for id in (
        "small", "large", "copy-1", "copy-2", "move-1", "move-2", "form-1", "form-2")]
    for one in asked:
        host.sidecar.result(one)
    host.enqueue("parts-1"), host.enqueue("reference-1"), host.enqueue("lane-1", "lane-2")
    host.enqueue("auth"), host.enqueue("refused"), host.enqueue("failing")
    host.call("cancel", ["cancelled"], id="cancelled")
    # Another body under the same id.
    run.entries["replaced"]["body"] = body = Body("replaced-2", "large", URL, run.folder / "caller")
    run.entries["replaced"]["request"] = body.request().replace("entry=replaced-2", "entry=replaced")
    host.enqueue("replaced")
    host.ack("small", "copy-1", "move-2")
    host.sidecar.wait_state("auth", "awaiting-auth")
    host.call("updateHeaders", headers={"X-Token": SECRET})
    host.sidecar.settled("refused")
    host.call("retry", ["refused"], id="refused")
    host.ack("auth", "form-1", "parts-1")
    host.sidecar.settled("refused", 2), host.sidecar.settled("failing")
    # Longer than 1 MiB, so it is copied when nothing else is to be done.
    host.enqueue(*(f"filling-{number}" for number in range(FILLING)))
    deadline.until("they are sent", lambda: all(
        host.sidecar.events("settled", id=f"filling-{number}") for number in range(FILLING)), 60)
    host.call("cancel", ["forgotten"], id="forgotten")
    asked = [host.enqueue(f"late-{number}", call=False) for number in range(6)]
    host.sidecar.answer(asked[0])
    host.sidecar.kill()
    run.server.waiting.clear()


def going_on(run, host):
    """The host asks again for what was not answered; all settles and is acknowledged; it ends in order."""
    host.subscribe()
    for number in range(6):
        host.enqueue(f"late-{number}")
    host.enqueue("again")
    host.call("resume", [HELD], keys=[HELD])
    host.ack_all()
    ends(host.sidecar.close())
    leftover = next((run.folder / PLACE).glob("bodies-*")) / f"body-{uuid.uuid4()}"
    leftover.write_bytes(b"nobody's")
    invariants.age(leftover)
    put_down(run, leftover, powerloss.CREATE)
    powerloss.note(run.trace, powerloss.FSYNC, file=os.stat(leftover.parent).st_ino)


def tidying(run, host):
    """Over a leftover from long ago, planted before; and then the database is damaged behind its back."""
    host.call("takeDiagnostics")
    ends(host.sidecar.close())
    run.mark(what="damage")
    # The log as well, which might have all that a start reads of the database.
    for name in ("queue.db-wal", "queue.db"):
        path = run.folder / PLACE / name
        with open(path, "r+b") as file:
            file.write(NO_DATABASE)
        put_down(run, path, 0)


def damaged(run, host):
    """The database is set aside; the new one works."""
    host.subscribe()
    records = json.dumps(host.call("takeDiagnostics"))
    assert "damaged" in records, f"the damage was not met: {records}"
    host.enqueue("after-all")
    host.ack("after-all")
    host.call("shutdown")
    ends(host.sidecar.wait_exit())


def ends(status):
    assert status == 0, f"the sidecar ended with {status}"


def put_down(run, path, operation):
    """Notes a file that the drill itself has changed, all of it, as kept."""
    status = os.stat(path)
    if operation:
        powerloss.note(run.trace, operation, str(path), status.st_ino)
    powerloss.note(run.trace, powerloss.WRITE, file=status.st_ino, content=path.read_bytes())
    powerloss.note(run.trace, powerloss.FSYNC, file=status.st_ino)
