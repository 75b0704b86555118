"""A server that fails at random in every way it can, and keeps a ledger of what arrived and what it said."""
import dataclasses
import random
import threading
import urllib.parse

from endtoend import rawserver

from .bodies import sha256

# How an answer is lost, late or unwelcome: the name of the fate, and how often of a hundred failures.
ROUGH = {"500": 14, "503": 14, "408": 4, "429": 8, "early": 8, "cut before": 10, "cut midway": 10,
         "cut after": 10, "cut answer": 6, "reset": 6, "slow": 4, "late": 6}
# Those that settle an entry as an error, or park it, are asked for by name.
TERMINAL, PARKING = "410", "401"
RETRY_AFTER = ("0", "1", "Sun, 06 Nov 1994 08:49:37 GMT", "soon")


@dataclasses.dataclass
class Received:
    """A request; `said` is the status of the answer that was begun, `cut` whether it was not ended."""

    entry: str
    part: str
    request_id: str
    idempotency_key: str
    at: float
    is_form: bool
    digest: str = ""
    is_whole: bool = False
    said: int = 0
    cut: bool = False

    @property
    def accepts(self):
        return 200 <= self.said < 300


class RoughServer:
    """`failing` of a hundred requests fail; everything goes to one path, the query says what it is about."""

    def __init__(self, seed, failing=20, terminal=0, parking=0):
        self.failing, self.terminal, self.parking = failing, terminal, parking
        self.received = []
        self.fates = {}
        self._chance = random.Random(seed)
        self._lock = threading.Lock()
        self._server = rawserver.RawServer()
        self.url = self._server.on("/work", self._take)

    def close(self):
        self._server.close()

    def be_kind(self):
        """From now on everything is accepted."""
        self.failing = self.terminal = self.parking = 0

    def check(self):
        self._server.check()

    def by_entry(self):
        """The requests so far, in order, by the id of their entry."""
        with self._lock:
            received = list(self.received)
        found = {}
        for request in received:
            found.setdefault(request.entry, []).append(request)
        return found

    def _take(self, exchange):
        request = exchange.request
        query = dict(urllib.parse.parse_qsl(request.target.partition("?")[2]))
        record = Received(query["entry"], query.get("part", "0"), request.request_id,
                          request.header("idempotency-key"), request.at, "form" in query)
        with self._lock:
            self.received.append(record)
            fate = self._draw()
            self.fates[fate] = self.fates.get(fate, 0) + 1
            pause = self._chance.uniform(0, 0.15)
            after = self._chance.choice(RETRY_AFTER)
            if len(self.received) % 500 == 0:
                self._server.forget()
        try:
            self._meet(fate, exchange, record, pause, after)
        finally:
            # Its bytes were looked at; the ledger keeps what they came to.
            request.body = b""
            exchange.connection.raw.clear()

    def _draw(self):
        at = self._chance.uniform(0, 100)
        if at < self.failing:
            return self._chance.choices(list(ROUGH), ROUGH.values())[0]
        at -= self.failing
        return TERMINAL if at < self.terminal else PARKING if at < self.terminal + self.parking else "200"

    def _meet(self, fate, exchange, record, pause, after):
        if fate == "early":
            record.said = 503
            rawserver.early(503, linger=pause)(exchange)
            return
        if fate == "cut before":
            exchange.close()
            return
        if fate == "cut midway":
            exchange.read_body((exchange.request.length or 0) // 2 or None)
            exchange.reset()
            return
        if fate == "slow":
            while not exchange.request.whole:
                exchange.read_body(1 << 16)
                exchange.pause(pause / 10)
        exchange.read_body()
        record.digest = self._digest(exchange.request, record.is_form)
        record.is_whole = True
        if fate == "cut after":
            exchange.close()
        elif fate == "reset":
            exchange.reset()
        elif fate == "cut answer":
            # Noted before the first byte goes out, so that no outcome can be told before it is in the ledger.
            record.said, record.cut = 200, True
            exchange.send(rawserver.head(200, [("Content-Length", "20")]) + b"half of it")
            exchange.close()
        else:
            if fate == "late":
                exchange.pause(pause)
            record.said = int(fate) if fate.isdigit() else 200
            headers = [("Retry-After", after)] if fate in ("429", "503") else []
            exchange.answer(record.said, headers, b"{}")

    @staticmethod
    def _digest(request, is_form):
        """Of a form the file in it, since its boundary is never the same."""
        if not is_form:
            return request.sha256
        boundary = b"--" + request.header("content-type").partition("boundary=")[2].strip('"').encode()
        last = request.body.split(boundary)[-2]
        return sha256(last.partition(b"\r\n\r\n")[2][:-2])
