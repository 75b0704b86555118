"""Holds what the server has, and what the program noted, against what it was asked for."""
import collections
import dataclasses


@dataclasses.dataclass(frozen=True)
class Medium:
    kind: str  # "photo" or "sound"
    sha256: str
    server_id: int = None  # Known before: not to be uploaded or attached again.


@dataclasses.dataclass(frozen=True)
class Observation:
    uuid: str
    note: str
    media: tuple
    created_at: int = 0
    server_id: int = None  # Known before: to be updated, not created.


@dataclasses.dataclass(frozen=True)
class Violation:
    """`kind` is "duplicate", "incomplete", or a word for anything else that does not hold."""
    kind: str
    text: str

    def __str__(self):
        return f"{self.kind}: {self.text}"


def on_server(observations, state):
    """Every violation in the server's state: nothing missing, nothing twice, nothing else, all in order."""
    found = []
    for observation in observations:
        found += _of_observation(observation, state)
    return found + _strays(observations, state) + _lane(observations, state)


def duplicates(observations, state):
    """Those that must not be there at any time, finished or not."""
    return [one for one in on_server(observations, state) if one.kind != "incomplete"]


def is_complete(observations, state):
    return not any(one.kind == "incomplete" for one in on_server(observations, state))


def _count(number, what):
    if number == 1:
        return []
    return [Violation("duplicate" if number else "incomplete", f"{what} is there {number} times")]


def _of_observation(wanted, state):
    rows = [row for row in state["observations"] if row["uuid"] == wanted.uuid]
    found = _count(len(rows), f"observation {wanted.uuid}")
    ids = {row["id"] for row in rows}
    if rows and wanted.server_id is None:
        begun = min(row["request"] for row in rows)
        updates = []
    else:
        updates = [row for row in state["updates"] if row["observation"] in ids]
        begun = min((row["request"] for row in updates), default=None)
        if rows and not updates:
            found.append(Violation("incomplete", f"observation {wanted.uuid} was not updated"))
    if any(row["note"] != wanted.note for row in rows) and begun is not None:
        found.append(Violation("content", f"observation {wanted.uuid} has another note"))
    if not all(row["ignore_photos"] for row in updates):
        found.append(Violation("content", f"an update of {wanted.uuid} did not say ignore_photos"))
    if wanted.server_id is not None and ids - {wanted.server_id}:
        found.append(Violation("duplicate", f"observation {wanted.uuid} was made anew"))
    for medium in wanted.media:
        found += _of_medium(medium, wanted, ids, begun, state)
    return found


def _of_medium(medium, observation, ids, begun, state):
    name = f"{medium.kind} {medium.sha256[:8]} of {observation.uuid}"
    rows = [row for row in state["media"] if (row["kind"], row["sha256"]) == (medium.kind, medium.sha256)]
    media = {row["id"] for row in rows}
    attached = [row for row in state["attachments"] if row["kind"] == medium.kind and row["medium"] in media]
    right = [row for row in attached if row["observation"] in ids]
    found = _count(len(rows), name) + _count(len(right), f"the attachment of {name}")
    if len(attached) != len(right):
        found.append(Violation("stray", f"{name} is attached to another observation"))
    if medium.server_id is not None:
        return found
    if begun is not None and any(row["request"] > begun for row in rows):
        found.append(Violation("order", f"{name} came after its observation"))
    if any(begun is None or row["request"] < begun for row in right):
        found.append(Violation("order", f"{name} was attached before its observation was there"))
    return found


def _strays(observations, state):
    """Rows that nobody asked for."""
    names = {one.uuid for one in observations}
    wanted = {(medium.kind, medium.sha256) for one in observations for medium in one.media}
    found = [Violation("stray", f"observation {row['uuid']} is nobody's")
             for row in state["observations"] if row["uuid"] not in names]
    found += [Violation("stray", f"{row['kind']} {row['sha256'][:8]} is nobody's")
              for row in state["media"] if (row["kind"], row["sha256"]) not in wanted]
    ids = {row["id"] for row in state["observations"]}
    media = {(row["kind"], row["id"]) for row in state["media"]}
    return found + [Violation("stray", f"attachment {row['id']} joins what is not there")
                    for row in state["attachments"]
                    if row["observation"] not in ids or (row["kind"], row["medium"]) not in media]


def _lane(observations, state):
    """Oldest first: the first request about each observation, in the order of created_at."""
    begun = {}
    for row in state["observations"]:
        begun.setdefault(row["uuid"], row["request"])
    updated = {}
    for row in state["updates"]:
        updated.setdefault(row["observation"], row["request"])
    order = [updated.get(one.server_id) if one.server_id is not None else begun.get(one.uuid)
             for one in sorted(observations, key=lambda one: one.created_at)]
    numbers = [number for number in order if number is not None]
    if numbers == sorted(numbers):
        return []
    return [Violation("order", f"the observations came in the order of requests {numbers}")]


def on_record(observation, record, state):
    """The local record once the program has come back: marked, with the server's id. None is no record."""
    if record is None:
        return [Violation("record", f"the record of {observation.uuid} is gone")]
    ids = [row["id"] for row in state["observations"] if row["uuid"] == observation.uuid]
    found = []
    if record.get("needs_sync") is not False:
        found.append(Violation("unmarked", f"the record of {observation.uuid} needs sync still"))
    if record.get("server_id") not in ids:
        found.append(Violation("unmarked", f"server_id is {record.get('server_id')}, the server has {ids}"))
    if record.get("note") != observation.note:
        found.append(Violation("record", f"the record of {observation.uuid} has another note"))
    return found


def on_premature_mark(observation, record, state):
    """A record that says it is through while the server has not all of it."""
    if record is None or record.get("needs_sync") is not False or is_complete([observation], state):
        return []
    return [Violation("record", f"the record of {observation.uuid} was marked too early")]


def on_progress(lines):
    """The program's progress in an undisturbed run: from 0 to 1, never back."""
    if not lines or lines[-1] != 1:
        return [Violation("progress", f"it ends with {lines[-1:]} and not with 1")]
    if any(later < earlier for earlier, later in zip(lines, lines[1:])):
        return [Violation("progress", f"it goes back: {lines}")]
    return []


def by_kind(violations):
    """How many of each kind."""
    return collections.Counter(one.kind for one in violations)
