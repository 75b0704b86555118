"""What a run had promised by some point of its trace, and whether a start on what is left then keeps it."""
import collections
import contextlib
import json
import sqlite3
import time

from endtoend import deadline
from endtoend.sidecar import Sidecar

from . import invariants, powerloss
from .bodies import sha256
from .doors import HELD, NO_DATABASE, PLACE, SECRET, DoorServer

SETTLING = 60


class Story:
    """The marks and the frames of a trace, by where they stand."""

    def __init__(self, records):
        self.lines, rest = [], b""
        for position, record in enumerate(records):
            if record.operation == powerloss.MARK:
                line = json.loads(record.bytes)
                # What a kill has cut stays so.
                rest = b"" if line["what"] == "start" else rest
                self.lines.append((position, line))
            elif record.operation == powerloss.TOLD:
                *whole, rest = (rest + record.bytes).split(b"\n")
                self.lines += [(position, {"what": "told", "frame": json.loads(text)}) for text in whole]

    def is_outside(self, position):
        """Whether the drill itself was doing that damage."""
        before = [line["what"] for place, line in self.lines if place < position and line["what"] != "told"]
        return before[-1:] == ["damage"]

    def promise(self, cut):
        """What was said before the record of that number."""
        promise = Promise()
        for position, line in self.lines:
            if position >= cut:
                break
            promise.take(line)
        return promise


class Promise:
    def __init__(self):
        self.calls = {}
        # By id: what an enqueue said of it, as often as it was asked for; how many were answered.
        self.asked = collections.defaultdict(list)
        self.answered = collections.Counter()
        self.unanswered = set()
        self.outcomes = collections.defaultdict(dict)
        self.accepted_parts = set()
        self.group_outcomes, self.group_answered = {}, False
        self.acks, self.acked = set(), set()
        self.cancels, self.cancelled, self.retries, self.retried = set(), set(), set(), set()
        self.is_paused = self.has_secret = self.is_damaged = False

    def take(self, line):
        if line["what"] == "damage":
            self.__init__()
            self.is_damaged = True
        elif line["what"] == "call":
            self.calls[line["call"]] = line
            self._ask(line["method"], line["about"], line["call"])
        elif line["what"] == "told":
            frame = line["frame"]
            if "method" in frame:
                self._hear(frame["method"], frame["params"])
            elif frame["id"] in self.calls:
                self._answer(self.calls[frame["id"]], frame)

    def _ask(self, method, about, call):
        if method in ("enqueue", "enqueueAll"):
            for one in about:
                self.asked[one["id"]].append({**one, "answered": False})
            self.unanswered.add(call)
        elif method == "ackEvents":
            self.acks |= set(about)
        elif method == "cancel":
            self.cancels |= set(about)
        elif method == "retry":
            self.retries |= set(about)
        elif method == "resume":
            self.is_paused = False

    def _answer(self, call, frame):
        assert "result" in frame, f"the run was refused something: {frame}"
        method, about = call["method"], call["about"]
        if method in ("enqueue", "enqueueAll"):
            self.unanswered.discard(call["call"])
            for one in about:
                self.answered[one["id"]] += 1
                next(ask for ask in self.asked[one["id"]] if not ask["answered"])["answered"] = True
                self.group_answered |= one["id"] == "attach"
        elif method == "ackEvents":
            self.acked |= set(about)
        elif method == "cancel":
            self.cancelled |= set(about)
        elif method == "retry":
            self.retried |= set(about)
        elif method == "pause":
            self.is_paused = True
        elif method == "updateHeaders":
            self.has_secret = True

    def _hear(self, event, params):
        if event == "settled":
            self.outcomes[params["id"]][params["eventId"]] = params
        elif event == "groupSettled":
            self.group_outcomes[params["eventId"]] = params
        elif event == "attempt" and params["outcome"] == "completed" and "partIndex" in params:
            self.accepted_parts.add((params["id"], str(params["partIndex"])))

    def given_up(self):
        """Files that the host may delete: the queue has its own."""
        return {asks[0]["path"] for id, asks in self.asked.items() if self.answered[id] and asks[0]["path"]
                and not asks[0]["moves"] and asks[0]["kind"] != "reference"}


class Aftermath:
    """A start in the folder of a State, and what came of it."""

    def __init__(self, binary, preloaded, folder, promise, keys):
        self.binary, self.preloaded, self.folder, self.promise, self.keys = (
            binary, preloaded, folder, promise, keys)
        self.queue = folder / PLACE
        self.faults, self.told, self.groups, self.rows = [], {}, {}, {}
        self.server, self.left_over = None, 0

    def judge(self):
        """Sentences about what is wrong, and how much was looked at."""
        self.damaged = self._damaged()
        self.server = DoorServer()
        try:
            with_faults = self._start(self._settle)
            if not with_faults:
                self._compare()
        except AssertionError as fault:
            self.faults.append(str(fault)[:1500])
        finally:
            self.server.close()
        return {"faults": self.faults, "left over": self.left_over, "outcomes": len(self.told),
                "accepted": len(+self.promise.answered)}

    def wrong(self, text):
        self.faults.append(text)

    def _start(self, use):
        """Whether anything went wrong that makes everything else pointless."""
        log = self.folder / "stderr"
        sidecar = Sidecar(self.binary, self.queue, cwd=self.folder, log=log, env={
            "LD_PRELOAD": str(self.preloaded), "STEADY_CTIME": "1", **self.server.surroundings})
        try:
            use(sidecar)
            status = sidecar.close(30)
            if status:
                self.wrong(f"it ended with {status}")
        finally:
            sidecar.dispose()
        text = log.read_text()
        if SECRET in text:
            self.wrong("the secret is in the log")
        for line in text.splitlines():
            if " error " in line and not self.promise.is_damaged:
                self.wrong(f"it says: {line}")
        return bool(self.faults)

    # All that is there comes to its end

    def _settle(self, sidecar):
        sidecar.subscribe("settled", "groupSettled", window=1024)
        self.rows = {row["id"]: row for row in sidecar.rows()}
        if self.promise.is_paused:
            # Nothing of it may have been sent when all of this is answered.
            held = [row for row in self.rows.values()
                    if row["key"] == HELD and row["state"] in ("queued", "running")]
            sent = [request for request in self.server.received
                    if request.entry in self.rows and self.rows[request.entry]["key"] == HELD]
            if held or sent:
                self.wrong(f"it was paused: {held}, {sent}")
        sidecar.call("resume", keys=[HELD])
        end = time.monotonic() + SETTLING
        while self._take_outcomes(sidecar):
            assert time.monotonic() < end, f"not settled: {sidecar.rows()}"
            time.sleep(0.003)
        records = sidecar.call("takeDiagnostics")["records"]
        bad = [record for record in records if record["level"] == "error"]
        if bad and not self.promise.is_damaged:
            self.wrong(f"diagnostics: {bad}")
        if SECRET in json.dumps(records):
            self.wrong("the secret is in the diagnostics")

    def _take_outcomes(self, sidecar):
        """Whether there is more to wait for."""
        groups, outcomes = sidecar.events("groupSettled"), sidecar.take_events("settled")
        for outcome in outcomes:
            self.told.setdefault(outcome["id"], []).append(outcome)
        self.groups.update({outcome["eventId"]: outcome for outcome in groups})
        if outcomes or groups:
            sidecar.ack(*outcomes, *groups)
            return True
        entries = sidecar.call("stats")["entries"]
        if entries["awaitingAuth"]:
            sidecar.call("updateHeaders", headers={"X-Token": SECRET})
        if entries["error"]:
            for row in sidecar.rows(state="error"):
                sidecar.call("cancel", id=row["id"])
        return any(entries.values())

    # What was promised

    def _compare(self):
        requests = self.server.by_entry()
        for id in requests.keys() | self.told.keys() | self.rows.keys():
            if not self.promise.asked[id]:
                self.wrong(f"{id}: was never asked for")
        for id, asks in self.promise.asked.items():
            if asks:
                self._compare_one(id, asks, requests.get(id, []))
        self._compare_group(requests)
        self._look_at_files()
        self._look_at_bodies()
        self._look_at_database()

    def _compare_one(self, id, asks, requests):
        promise, told = self.promise, self.told.get(id, [])
        before = promise.outcomes[id]
        events = [outcome["eventId"] for outcome in told]
        if len(set(events)) != len(events):
            self.wrong(f"{id}: told twice: {told}")
        for event in set(events) & promise.acked:
            self.wrong(f"{id}: told after the answer to its acknowledgement: {event}")
        for event, outcome in before.items():
            again = next((one for one in told if one["eventId"] == event), None)
            if again is None and event not in promise.acks:
                self.wrong(f"{id}: an outcome that was told is lost: {event}")
            if again and any(again.get(name) != outcome.get(name)
                             for name in ("kind", "requestId", "at", "attempts")):
                self.wrong(f"{id}: its outcome changed: {outcome} {again}")
        runs = 1 + (id in promise.retries)
        if len(before.keys() | set(events)) > runs:
            self.wrong(f"{id}: {len(before.keys() | set(events))} outcomes")
        expected = bool(promise.answered[id]) + (id in promise.retried)
        if len(before.keys() | set(events)) < expected and not (id in promise.cancels and before):
            self.wrong(f"{id}: answered, and no outcome came")
        for outcome in told:
            may = {"cancelled"} if id in promise.cancelled else {"completed"} | (
                {"cancelled"} if id in promise.cancels else set())
            if id == "refused" and not before:
                # The server had refused it by then, or not.
                may = {*may, "error"}
            if outcome["eventId"] not in before and outcome["kind"] not in may:
                self.wrong(f"{id}: became {outcome['kind']}")
        self._compare_requests(id, asks, requests, is_over=len(before) >= runs or id in promise.cancelled)

    def _compare_requests(self, id, asks, requests, is_over):
        if is_over and requests:
            self.wrong(f"{id}: sent after its outcome")
        # Of two bodies the later one, once that is answered.
        last = max((index for index, ask in enumerate(asks) if ask["answered"]), default=0)
        right = [ask["hashes"] for ask in asks[last:]]
        for request in requests:
            if request.digest not in [hashes.get(request.part) for hashes in right]:
                self.wrong(f"{id}: part {request.part} arrived with other bytes")
            if (id, request.part) in self.promise.accepted_parts:
                self.wrong(f"{id}: part {request.part} was accepted and is sent again")
            key = self.keys.get(f"{id}/{request.part}")
            if key not in (None, request.idempotency_key):
                self.wrong(f"{id}: its Idempotency-Key was {key} and is {request.idempotency_key}")
        if any(outcome["kind"] == "completed" and outcome["eventId"] not in self.promise.outcomes[id]
               and outcome["requestId"] in {request.request_id for request in requests if not request.accepts}
               for outcome in self.told.get(id, [])):
            self.wrong(f"{id}: completed, and was not accepted")
        if id == "auth" and self.promise.has_secret and requests and requests[0].token != SECRET:
            self.wrong(f"{id}: the header is forgotten")

    def _compare_group(self, requests):
        promise = self.promise
        seen = promise.group_outcomes.keys() | self.groups.keys()
        if len(seen) > 1 or (promise.group_answered and not seen):
            self.wrong(f"the group has {len(seen)} outcomes")
        if self.groups.keys() & promise.acked:
            self.wrong("the group's outcome was told after the answer to its acknowledgement")
        if promise.group_outcomes.keys() - promise.acks - self.groups.keys():
            self.wrong("the group's outcome is lost")
        made = [request.of for request in requests.get("attach", []) if request.of != "observation-made"]
        if made:
            self.wrong(f"attach: its binding is {made}")
        order = {request.entry: index for index, request in enumerate(self.server.received)}
        for first, second in (("photo", "observation"), ("observation", "attach"), ("lane-1", "lane-2")):
            if first in order and second in order and order[first] > order[second]:
                self.wrong(f"{second} was sent before {first}")

    def _look_at_files(self):
        """The caller's: moved when the queue has them, and not before; others never."""
        if self.promise.is_damaged:
            return
        for id, asks in self.promise.asked.items():
            path = asks[0]["path"] if asks else None
            if not path or path in self.promise.given_up():
                continue
            is_there = (self.folder / path).exists()
            is_taken = self.promise.answered[id] or id in self.rows or id in self.told
            if is_there and sha256((self.folder / path).read_bytes()) != asks[0]["source"]:
                self.wrong(f"{id}: the caller's file was changed")
            if asks[0]["moves"] and is_taken and is_there:
                self.wrong(f"{id}: the name of a file that was moved is there")
            if not is_there and not (asks[0]["moves"] and is_taken):
                self.wrong(f"{id}: the caller's file is gone")

    def _bodies(self):
        return list(self.queue.glob(f"bodies-{self._identity()}/*"))

    def _identity(self):
        with contextlib.closing(sqlite3.connect(f"file:{self.queue}/queue.db?mode=ro", uri=True)) as database:
            return database.execute("SELECT identity FROM meta").fetchone()[0]

    def _look_at_bodies(self):
        """What is left over was being made for a call that had no answer, and what was copied goes a day
        later."""
        left = self._bodies()
        if not left:
            return
        moved = [path for path in left if path.name.startswith("moved-")]
        for path in left:
            if path not in moved:
                invariants.age(path)
        self._start(lambda sidecar: sidecar.call("takeDiagnostics"))
        stay = self._bodies()
        for path in stay:
            others = path.stat().st_nlink > 2
            if not path.name.startswith("moved-"):
                self.wrong(f"a copy is there after a day: {path.name}")
            elif not others:
                self.wrong(f"a body is left over that has no other name: {path.name}")
        self.left_over = len(stay)

    def _look_at_database(self):
        self.faults += invariants.ends_well(self.queue)
        with contextlib.closing(sqlite3.connect(self.queue / "queue.db", isolation_level=None)) as database:
            for table in ("entry", "entry_text", "outcome", "part", "doomed", "moved"):
                count = database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
                if count:
                    self.wrong(f"{count} rows are left in {table}")
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if SECRET.encode() in (self.queue / "queue.db").read_bytes():
            self.wrong("the secret is still in the database")
        if self.damaged is not None and not any(
                path.read_bytes() == self.damaged for path in self.queue.glob("queue.db*")):
            self.wrong("the damaged database is gone")

    def _damaged(self):
        """The bytes of a database that is to be kept as it is."""
        if not self.promise.is_damaged:
            return None
        places = [*self.queue.glob("queue.db.damaged-*"), self.queue / "queue.db"]
        return next((path.read_bytes() for path in places
                     if path.exists() and path.read_bytes().startswith(NO_DATABASE)), None)
