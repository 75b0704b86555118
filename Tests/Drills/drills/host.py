"""A host as a process of its own, which can be killed: speaks the wire, keeps a ledger, and starts its
sidecar again.

    python3 host.py '{"name": ..., ...}'      the members are those of Settings

SIGTERM ends it in order. It acknowledges, releases or leaves what comes, as it pleases.
"""
import dataclasses
import json
import os
import pathlib
import random
import signal
import sys
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1])]

from drills import ledger  # noqa: E402
from drills.bodies import KINDS, Body  # noqa: E402
from endtoend.requests import FAST  # noqa: E402
from endtoend.sidecar import Sidecar  # noqa: E402


# Seconds that a host which leaves stays for what its sidecar still has to say. With other hosts about, or a
# drain, the process goes on without it.
LEAVING = 1.0
# Seconds before the next start, should it fail each time.
RESTARTING = 0.02
# How often, and after how many seconds, a call that was refused with E_STORAGE is repeated.
REPEATS, REPEATING = 20, 0.1
KEYS = tuple(f"k{number}" for number in range(4))


@dataclasses.dataclass
class Settings:
    """`rate` is enqueues a second, `pending` how many may be unanswered, `most` how many there are at all."""

    name: str
    seed: str
    binary: str
    directory: str
    folder: str
    url: str
    wish: str = "exit"
    rate: float = 60
    pending: int = 16
    most: int = 1_000_000
    kinds: tuple = KINDS
    largest: int = 200_000
    window: int = 64
    forks: bool = False
    cancels: float = 0.03
    events: tuple = ("attempt", "state", "settled")
    # What else stands in the sidecar's environment, and the command that it runs under.
    env: dict = dataclasses.field(default_factory=dict)
    under: tuple = ()


class Host:
    def __init__(self, settings):
        self.settings = settings
        self.chance = random.Random(settings.seed)
        self.ledger = ledger.Ledger(f"{settings.folder}/{settings.name}.ledger", settings.name)
        self.files = f"{settings.folder}/{settings.name}.files"
        os.makedirs(self.files, exist_ok=True)
        self.sidecar = None
        self.is_leaving = False
        self.asked = 0
        self.unpatched = 0.0
        self.next_ask = 0.0
        signal.signal(signal.SIGTERM, lambda *_: setattr(self, "is_leaving", True))

    def run(self):
        while not self.is_leaving:
            self.sidecar = Sidecar(self.settings.binary, self.settings.directory, "--on-disconnect",
                                   self.settings.wish, env=self.settings.env, under=self.settings.under,
                                   log=f"{self.settings.folder}/{self.settings.name}.stderr")
            self.ledger.write("sidecar", pid=self.sidecar.process.pid, wish=self.settings.wish)
            if self.settings.forks:
                self.fork()
            self.session()
            self.finish()
            time.sleep(RESTARTING)

    def fork(self):
        """A child that holds the sidecar's pipes open, as a host's own children may."""
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.alarm(60)  # Should the drill itself be killed.
            signal.pause()
            os._exit(0)
        self.ledger.write("child", pid=child)

    def session(self):
        """Until the sidecar's end, or this host's."""
        self.pending, self.attempts, self.again, self.position = {}, {}, [], 0
        try:
            self.subscribe()
            while self.sidecar.process.poll() is None and not self.is_leaving:
                news = self.take_news()
                self.ask_more()
                if not news:
                    time.sleep(0.002)
        except (BrokenPipeError, ValueError):
            pass  # It has ended, and what it had said until then is taken in by `finish`.

    def finish(self):
        """Takes in the sidecar's last words; a host that leaves does not wait for one that goes on."""
        if self.is_leaving:
            self.leave()
        status = self.sidecar.process.poll()
        if status is not None:
            self.sidecar.wait_exit()
        self.take_news()
        if status is None:
            return
        self.ledger.write("ended", status=status, said=len(self.sidecar.frames))
        try:
            self.sidecar.check()
        except AssertionError as fault:
            self.ledger.write("fault", text=str(fault)[:2000])
        self.sidecar.dispose()

    def leave(self):
        try:
            if self.settings.forks:
                # The child holds stdin open, which therefore would not end.
                self.sidecar.send("shutdown")
            self.sidecar.process.stdin.close()
        except BrokenPipeError:
            return  # It was first.
        end = time.monotonic() + LEAVING
        while self.sidecar.process.poll() is None and time.monotonic() < end:
            time.sleep(0.01)

    def send(self, method, then, **params):
        try:
            self.pending[self.sidecar.send(method, params)] = then
        except (BrokenPipeError, ValueError):
            pass  # The sidecar has ended, or this host has said that it leaves; the session sees to it.

    def subscribe(self):
        """To its own keys; what another host's keys come to is not its business."""
        self.send("subscribe", None, events=list(self.settings.events), keys=list(KEYS),
                  window=self.settings.window)

    def take_news(self):
        frames = self.sidecar.frames[self.position:]
        self.position += len(frames)
        for frame in frames:
            if "method" in frame:
                self.hear(frame["method"], frame["params"])
            elif (then := self.pending.pop(frame["id"], None)) is not None:
                then(frame.get("result"), frame.get("error"))
        return len(frames)

    # What is asked for

    def ask_more(self):
        settings = self.settings
        while self.again and time.monotonic() >= self.again[0][0]:
            self.enqueue(*self.again.pop(0)[1:])
        while (len(self.pending) < settings.pending and self.asked < settings.most
               and time.monotonic() >= self.next_ask):
            self.next_ask = max(self.next_ask, time.monotonic() - 0.2) + 1 / settings.rate
            self.asked += 1
            self.ask(f"{settings.name}-{self.asked}")

    def ask(self, id):
        body = Body(id, self.chance.choice(self.settings.kinds), self.settings.url, self.files,
                    self.settings.largest)
        self.ledger.write("ask", id=id, bodies=body.hashes, moves=body.moves, source=body.source)
        self.enqueue(id, body, REPEATS)

    def enqueue(self, id, body, repeats):
        number, key = f"ask {id} {repeats}", self.chance.choice(KEYS)
        params = (f'{{"id":{json.dumps(id)},"key":"{key}","vars":{{"n":{json.dumps(id)}}},'
                  f'"request":{body.request(retry={"backoff": FAST})}}}')
        self.pending[number] = lambda result, error: self.asked_for(id, body, repeats, result, error)
        self.sidecar.send_line(
            f'{{"jsonrpc":"2.0","id":{json.dumps(number)},"method":"enqueue","params":{params}}}')

    def asked_for(self, id, body, repeats, result, error):
        if error:
            self.ledger.write("refused", id=id, code=error["data"]["code"], message=error["message"])
            if error["data"]["code"] == "E_STORAGE" and repeats:
                self.again.append((time.monotonic() + REPEATING, id, body, repeats - 1))
            return
        self.ledger.write("accepted", id=id, disposition=result["disposition"])
        if body.path and body.moves is None:
            os.unlink(body.path)  # The answer says that the queue has its own.
        elif body.moves and not self.settings.under and os.path.exists(body.moves):
            self.ledger.write("fault", text=f"{id}: the name of a moved file is there after the answer")
        if self.chance.random() < self.settings.cancels:
            self.ledger.write("cancel", id=id)
            self.send("cancel", self.noting("cancelled", id=id), id=id)

    def noting(self, what, **members):
        """Takes an answer: what it promises goes into the ledger."""
        def take(result, error):
            if error is None:
                self.ledger.write(what, **members)
        return take

    # What is told

    def hear(self, event, params):
        if event == "settled":
            self.settled(params)
        elif event in ("attempt", "state"):
            attempts = params["attempt"] if event == "attempt" else params["attempts"]
            self.see(event, params["id"], attempts, params.get("requestId"))
            if params.get("state") == "awaiting-auth":
                self.unpark()

    def see(self, event, id, attempts, request=None):
        before = self.attempts.get((event, id), 0)
        # The attempts of parts run side by side, so their events have an order of their own.
        if attempts < before and event == "state":
            self.ledger.write("fault", text=f"{id}: {event} {attempts} after {before}")
        self.attempts[event, id] = attempts
        if attempts > before:
            self.ledger.write("seen", id=id, attempts=attempts, requestId=request)

    def unpark(self):
        now = time.monotonic()
        if now > self.unpatched:
            self.unpatched = now + 0.1
            self.send("updateHeaders", None, headers={"X-Token": str(now)})

    def settled(self, outcome):
        self.ledger.write("outcome", **ledger.of_outcome(outcome))
        if outcome["vars"] != {"n": outcome["id"]}:
            self.ledger.write("fault", text=f"{outcome['id']}: the vars are {outcome['vars']!r}")
        self.see("state", outcome["id"], outcome["attempts"])
        events, pleases = [outcome["eventId"]], self.chance.random()
        if pleases < 0.85:
            self.ledger.write("ack", eventIds=events)
            self.send("ackEvents", self.noting("acked", eventIds=events), eventIds=events)
        elif pleases < 0.92:
            self.send("releaseEvents", None, eventIds=events)
            # What was released comes back with a further subscription.
            self.subscribe()


if __name__ == "__main__":
    Host(Settings(**json.loads(sys.argv[1]))).run()
