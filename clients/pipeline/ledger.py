"""What the observation server keeps: one SQLite database, one transaction a request.

No table has a UNIQUE constraint, so that whatever is sent twice is seen twice. Each row carries the number of
the request that made it, and these numbers are in the order of the commits.
"""
import dataclasses
import hashlib
import json
import random
import sqlite3
import threading
import time
import uuid

GONE = "That observation no longer exists."
UNREADABLE = b"no photo"  # A file that begins so is refused.
MEDIA = {"photos": "photo", "sounds": "sound"}

SCHEMA = """
CREATE TABLE IF NOT EXISTS requests (
  number INTEGER PRIMARY KEY, method TEXT, path TEXT, key TEXT, status INTEGER, replayed INTEGER,
  lost INTEGER);
CREATE TABLE IF NOT EXISTS observations (
  id INTEGER PRIMARY KEY, uuid TEXT, note TEXT, deleted INTEGER DEFAULT 0, request INTEGER);
CREATE TABLE IF NOT EXISTS updates (observation INTEGER, note TEXT, ignore_photos INTEGER, request INTEGER);
CREATE TABLE IF NOT EXISTS media (
  id INTEGER PRIMARY KEY, kind TEXT, uuid TEXT, name TEXT, sha256 TEXT, bytes INTEGER, request INTEGER);
CREATE TABLE IF NOT EXISTS attachments (
  id INTEGER PRIMARY KEY, observation INTEGER, kind TEXT, medium INTEGER, uuid TEXT, request INTEGER);
CREATE TABLE IF NOT EXISTS answers (key TEXT, asked TEXT, status INTEGER, body TEXT);
CREATE TABLE IF NOT EXISTS tokens (token TEXT, until REAL, uses INTEGER);
"""
SHOWN = ("requests", "observations", "updates", "media", "attachments")


class Refused(Exception):
    """An answer that is none of 2xx."""

    def __init__(self, status, error):
        super().__init__(error)
        self.status, self.error = status, error


@dataclasses.dataclass(frozen=True)
class File:
    name: str
    content: bytes


@dataclasses.dataclass
class Request:
    """`fields` are those of the JSON object or of the form; a file of a form is a File."""
    method: str
    path: str
    query: dict = dataclasses.field(default_factory=dict)
    fields: dict = dataclasses.field(default_factory=dict)
    key: str = None
    token: str = None

    def text(self, name):
        value = self.fields.get(name)
        if not isinstance(value, str):
            raise Refused(400, f"{name} is missing or no text")
        return value

    def asked(self):
        """What the request says, the same for each repeat: the boundary of a form is not in it."""
        fields = {name: [value.name, hashlib.sha256(value.content).hexdigest()] if isinstance(value, File)
                  else value for name, value in self.fields.items()}
        return json.dumps([self.method, self.path, self.query, fields], sort_keys=True)


@dataclasses.dataclass(frozen=True)
class Answer:
    status: int
    body: str
    lost: bool = False


class Ledger:
    """Every public method may be called from any thread; `changed` is told of each commit."""

    def __init__(self, database=":memory:", needs_token=False, lose_answers=0.0, seed=0, clock=time.time):
        self.needs_token, self.lose_answers, self.clock = needs_token, lose_answers, clock
        self.chance = random.Random(seed)
        self.changed = threading.Condition()
        self.database = sqlite3.connect(database, check_same_thread=False, isolation_level=None)
        self.database.row_factory = sqlite3.Row
        self.database.executescript(SCHEMA)

    def take(self, request):
        """Does what a request says, in one transaction, and gives the answer. An answer that is `lost` is
        committed like any other, and never to be sent."""
        with self.changed:
            self.database.execute("BEGIN IMMEDIATE")
            try:
                answer = self._decide(request)
                self.database.execute("COMMIT")
            except BaseException:
                self.database.execute("ROLLBACK")
                raise
            self.changed.notify_all()
            return answer

    def _decide(self, request):
        number = self._insert("requests", method=request.method, path=request.path, key=request.key)
        replayed = False
        self.database.execute("SAVEPOINT work")
        try:
            self._check_token(request)
            stored = self._stored_answer(request)
            replayed = stored is not None
            status, body = stored or self._route(request, number)
            if request.key and not replayed:
                self._insert("answers", key=request.key, asked=request.asked(), status=status, body=body)
        except Refused as refusal:
            self.database.execute("ROLLBACK TO work")
            status, body = refusal.status, json.dumps({"error": refusal.error})
        # The use of a token counts also where the request was refused.
        self.database.execute("UPDATE tokens SET uses = uses - 1 WHERE token = ?", [request.token])
        lost = self.chance.random() < self.lose_answers
        self.database.execute("UPDATE requests SET status = ?, replayed = ?, lost = ? WHERE number = ?",
                              [status, replayed, lost, number])
        return Answer(status, body, lost)

    def _check_token(self, request):
        if request.token is None and not self.needs_token:
            return
        valid = self._one("SELECT 1 FROM tokens WHERE token = ? AND until > ? AND (uses IS NULL OR uses > 0)",
                          request.token, self.clock())
        if not valid:
            raise Refused(401, "the token is missing, unknown or expired")

    def _stored_answer(self, request):
        row = request.key and self._one("SELECT * FROM answers WHERE key = ?", request.key)
        if not row:
            return None
        if row["asked"] != request.asked():
            raise Refused(422, "another request came with this Idempotency-Key")
        return row["status"], row["body"]

    def _route(self, request, number):
        names = request.path.strip("/").split("/")
        if request.method == "POST" and len(names) == 1 and names[0] in MEDIA:
            return self._create_medium(MEDIA[names[0]], request, number)
        if names[0] == "observations" and len(names) <= 3:
            if len(names) == 1 and request.method == "POST":
                return self._create_observation(request, number)
            if len(names) == 2 and request.method in ("PUT", "DELETE"):
                act = self._update if request.method == "PUT" else self._delete
                return act(self._observation(names[1]), request, number)
            if len(names) == 3 and request.method == "POST" and names[2] in MEDIA:
                return self._attach(self._observation(names[1]), MEDIA[names[2]], request, number)
        raise Refused(404, "nothing is served here")

    def _create_medium(self, kind, request, number):
        file = request.fields.get("file")
        if not isinstance(file, File):
            raise Refused(400, "file is missing or no file")
        if file.content.startswith(UNREADABLE):
            raise Refused(422, f"this is no {kind}")
        name = request.text("uuid")
        id = self._insert("media", kind=kind, uuid=name, name=file.name, bytes=len(file.content),
                          sha256=hashlib.sha256(file.content).hexdigest(), request=number)
        return 201, json.dumps({"id": id, "uuid": name})

    def _create_observation(self, request, number):
        name = request.text("uuid")
        id = self._insert("observations", uuid=name, note=request.text("note"), request=number)
        return 201, json.dumps({"id": id, "uuid": name})

    def _observation(self, id):
        row = self._one("SELECT * FROM observations WHERE id = ?", id)
        if not row:
            raise Refused(404, "there never was such an observation")
        if row["deleted"]:
            raise Refused(410, GONE)
        return row

    def _update(self, row, request, number):
        note, ignores = request.text("note"), request.query.get("ignore_photos") == "true"
        self._insert("updates", observation=row["id"], note=note, ignore_photos=ignores, request=number)
        self.database.execute("UPDATE observations SET note = ? WHERE id = ?", [note, row["id"]])
        if not ignores:  # As the real one: what the update does not name is taken off.
            self.database.execute("DELETE FROM attachments WHERE observation = ?", [row["id"]])
        return 200, json.dumps({"id": row["id"], "uuid": row["uuid"]})

    def _delete(self, row, request, number):
        self.database.execute("UPDATE observations SET deleted = 1 WHERE id = ?", [row["id"]])
        return 200, json.dumps({"id": row["id"], "uuid": row["uuid"]})

    def _attach(self, row, kind, request, number):
        medium = request.fields.get(f"{kind}_id")
        if type(medium) is not int:
            raise Refused(400, f"{kind}_id is missing or no integer")
        if not self._one("SELECT 1 FROM media WHERE id = ? AND kind = ?", medium, kind):
            raise Refused(422, f"there is no such {kind}")
        name = request.text("uuid")
        id = self._insert("attachments", observation=row["id"], kind=kind, medium=medium, uuid=name,
                          request=number)
        return 201, json.dumps({"id": id, "uuid": name})

    def new_token(self, seconds=3600.0, uses=None):
        """A token that is good for so many seconds, and for so many requests where `uses` is given."""
        token = str(uuid.uuid4())
        with self.changed:
            self._insert("tokens", token=token, until=self.clock() + seconds, uses=uses)
        return token

    def state(self):
        """Every row of every table, but for tokens and stored answers."""
        with self.changed:
            return {table: list(map(dict, self.database.execute(f"SELECT * FROM {table} ORDER BY rowid")))
                    for table in SHOWN}

    def wait(self, condition, seconds):
        """Waits until `condition` is true of the state, and gives the last state."""
        end = time.monotonic() + seconds
        with self.changed:
            while True:
                state = self.state()
                left = end - time.monotonic()
                if condition(state) or left <= 0:
                    return state
                self.changed.wait(left)

    def _insert(self, table, **values):
        names, places = ", ".join(values), ", ".join("?" * len(values))
        return self.database.execute(f"INSERT INTO {table} ({names}) VALUES ({places})",
                                     list(values.values())).lastrowid

    def _one(self, query, *values):
        return self.database.execute(query, values).fetchone()

    def close(self):
        with self.changed:
            self.database.close()
