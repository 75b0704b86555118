"""What must hold between what the hosts were told and what the server saw, and of a directory at the end."""
import contextlib
import dataclasses
import fcntl
import os
import signal
import sqlite3
import time

from endtoend import deadline
from endtoend.acceptance import processes_on

from .bodies import sha256

# How a sidecar may end: by itself, or by the signals of the drills.
ENDS = {0, -9}
# What an enqueue that is right may be refused with: the sidecar ends, or its disk fails.
REFUSALS = {"E_SHUTDOWN", "E_STORAGE"}

# Seconds that a request may have been on its way to the server's ledger: one that a cancel, or the end of
# another part, stopped may have come to its socket before. Attempts are counted, so one more shows anyway.
READING = 5.0
WEEK = 7 * 86_400


@dataclasses.dataclass
class Findings:
    """Sentences about what is wrong, and how much was looked at."""

    accepted: int = 0
    outcomes: int = 0
    lost: list = dataclasses.field(default_factory=list)
    doubled: list = dataclasses.field(default_factory=list)
    others: list = dataclasses.field(default_factory=list)
    counts: dict = dataclasses.field(default_factory=dict)


class Story:
    """What the hosts know of one entry."""

    def __init__(self):
        self.asks = []
        self.accepted = []
        self.cancel = None
        self.cancelled = None
        self.attempts = 0
        self.outcomes = []
        # An outcome was told that counts for nothing else.
        self.is_over = False
        self.acked = None

    @property
    def events(self):
        known = {outcome["eventId"] for outcome in self.outcomes}
        return known - {None} or known


def stories(lines):
    """The ledgers by entry."""
    found, owner = {}, {}
    for line in lines:
        if line["what"] == "acked":
            # What was told in doubt has no line.
            for event in (event for event in line["eventIds"] if event in owner):
                story = found[owner[event]]
                story.acked = story.acked or line
            continue
        if "id" not in line:
            continue
        story = found.setdefault(line["id"], Story())
        if line["what"] == "ask":
            story.asks.append(line)
        elif line["what"] == "accepted":
            story.accepted.append(line)
        elif line["what"] in ("cancel", "cancelled"):
            setattr(story, line["what"], line)
        elif line["what"] == "seen":
            story.attempts = max(story.attempts, line["attempts"])
        elif line["what"] == "outcome":
            owner[line["eventId"]] = line["id"]
            story.outcomes.append(line)
        elif line["what"] == "over":
            story.is_over = True
    return found


def compare(lines, server, counts_attempts=True, ends=frozenset(ENDS), refusals=frozenset(REFUSALS), but=()):
    """Holds the hosts' ledgers against the server's, once everything is settled and acknowledged. Without
    `counts_attempts` a count may have gone back, as a power cut may make it (D35). Of the entries `but` no
    host tells anything."""
    findings = Findings()
    by_entry = server.by_entry()
    for line in lines:
        if line["what"] == "fault":
            findings.others.append(f"{line['host']}: {line['text']}")
        elif line["what"] == "refused" and line["code"] not in refusals:
            findings.others.append(f"{line['host']}: {line['id']} was refused: {line}")
        elif line["what"] == "ended" and line["status"] not in ends and not _had_not_begun(line):
            findings.others.append(f"{line['host']}: the sidecar ended with {line['status']}")
    for id, story in stories(lines).items():
        _compare_one(findings, id, story, by_entry.pop(id, []), counts_attempts)
    findings.others += [f"{id}: was sent and never asked for" for id in by_entry.keys() - set(but)]
    ids = [request.request_id for request in server.received]
    if len(set(ids)) != len(ids):
        findings.others.append("an X-Request-Id came twice")
    findings.counts["requests"] = len(ids)
    return findings


def _had_not_begun(line):
    """SIGTERM came before the process could take it."""
    return line["status"] == -signal.SIGTERM and line.get("said") == 0


def _compare_one(findings, id, story, requests, counts_attempts):
    # An entry whose enqueue was never answered may be there or not; if it is, all the rest holds for it.
    findings.accepted += bool(story.accepted)
    findings.outcomes += len(story.events)
    # What has settled is dropped by a cancel, with an outcome that nobody has seen yet (B111).
    if story.accepted and not story.outcomes and not story.is_over and not story.cancel:
        findings.lost.append(f"{id}: accepted, and no outcome came")
    if len(story.events) > 1:
        findings.doubled.append(f"{id}: {len(story.events)} outcomes: {story.outcomes}")
    for ask in story.asks:
        if ask["moves"] and story.accepted and os.path.exists(ask["moves"]):
            findings.others.append(f"{id}: a file that was moved in still has its old name")
        if (ask["moves"] and not story.accepted and not story.outcomes and not requests
                and not os.path.exists(ask["moves"])):
            findings.lost.append(f"{id}: not accepted, and the file that was to be moved is gone")
    for request in requests:
        if request.is_whole and request.digest != story.asks[0]["bodies"][request.part]:
            findings.others.append(f"{id}: part {request.part} arrived with other bytes")
    keys = {}
    for request in requests:
        keys.setdefault(request.part, set()).add(request.idempotency_key)
    if any(len(of_part) > 1 for of_part in keys.values()):
        findings.others.append(f"{id}: several Idempotency-Keys: {keys}")
    if story.outcomes:
        _compare_outcome(findings, id, story, requests, counts_attempts)


def _compare_outcome(findings, id, story, requests, counts_attempts):
    # A client tells its program less of an outcome than the wire has; the last host tells it all.
    outcome = next((told for told in story.outcomes if told["requestId"]), story.outcomes[0])
    same = ("kind", "attempts", "requestId", "status")
    # Who asks again, having had no answer, reopens what has ended with an error meanwhile (D5 to D8).
    reopened = len(story.asks) > 1 and story.outcomes[0]["kind"] == "error"
    differs = any(any(other[name] not in (None, outcome[name]) for name in same) for other in story.outcomes)
    if differs and not reopened:
        findings.others.append(f"{id}: its outcome changed: {story.outcomes}")
    # Once an outcome is known there is no further request, whoever knows it; nor is it told after the answer
    # to its acknowledgement. Deliveries are numbered, so what a slow host reads late is no fault.
    late = [request for request in requests if request.at > story.outcomes[0]["at"] + READING]
    if late and len(story.asks) == 1:
        findings.doubled.append(f"{id}: {len(late)} requests after its outcome, first {late[0]}")
    if story.acked:
        before = [told["deliveries"] for told in story.outcomes if told["at"] <= story.acked["at"]]
        after = [told for told in story.outcomes if told["deliveries"] > max(before, default=0)]
        if after:
            findings.doubled.append(f"{id}: told after it was acknowledged: {after}")
    seen = max(len(requests), story.attempts)
    if counts_attempts and outcome["attempts"] is not None and outcome["attempts"] < seen:
        findings.others.append(f"{id}: {outcome['attempts']} attempts; the server saw {len(requests)}, "
                               f"the hosts {story.attempts}")
    reason = _disagreement(outcome, story, requests)
    if reason:
        findings.others.append(f"{id}: {outcome['kind']} {outcome['status']}, but {reason}")


def _disagreement(outcome, story, requests):
    """Why an outcome does not follow from what the server said, or None."""
    kind = outcome["kind"]
    if kind == "cancelled":
        return None if story.cancel else "nobody cancelled it"
    if outcome["requestId"]:
        decided = [request for request in requests if request.request_id == outcome["requestId"]]
    else:
        decided = [request for request in requests if request.accepts == (kind == "completed")]
    if kind == "completed":
        if any(part not in {request.part for request in requests if request.is_whole and request.accepts}
               for part in story.asks[0]["bodies"]):
            return f"the server did not accept all of it: {requests}"
        return None if decided and decided[0].accepts else f"its request was not accepted: {decided}"
    if not decided or outcome["status"] not in (None, decided[0].said):
        return f"the server said {decided}"
    return None


def bodies(directory):
    return [path for path in directory.glob("bodies-*/*") if path.is_file()]


def age(path):
    """Makes a body so old that clean-up takes it for a left copy (D37), by whatever clock."""
    os.utime(path, (time.time() - WEEK,) * 2)


def unexplained(left, lines, doubted=()):
    """Bodies that may not be left over. An enqueue that a kill left unanswered, or that a failing disk
    refused, may leave one; what was moved in stays, and then the caller has the file still, or the queue took
    it after all when it was asked again (D37). Of the entries `doubted` nothing is known."""
    known = stories(lines)
    without = [story.asks[0] for id, story in known.items()
               if story.asks and (id in doubted or not story.accepted and not story.outcomes)]
    # A client may be refused its configure too, which leaves no body.
    refused = [line["id"] for line in lines if line["what"] == "refused" and known[line["id"]].asks]
    most = len(without) + len(refused)
    found = []
    if len(left) > most:
        found.append(f"{len(left)} bodies are left over by {most} calls that came to nothing")
    sources = {digest_of(ask["moves"]) for ask in without if ask["moves"] and os.path.exists(ask["moves"])}
    sources |= {known[id].asks[0]["source"] for id in (*refused, *doubted)}
    return found + [f"a body is left over, and its source is gone: {path}" for path in left
                    if path.name.startswith("moved-") and digest_of(path) not in sources]


def digest_of(path):
    with open(path, "rb") as file:
        return sha256(file.read())


def ends_well(directory):
    """Sentences about a directory that everybody has left: processes, lock, database."""
    found = []
    try:
        deadline.until("", lambda: not processes_on(directory), 60)
    except AssertionError:
        found.append(f"processes are left over: {[arguments(pid) for pid in processes_on(directory)]}")
    with open(directory / "lock", "rb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            found.append("the lock is held")
    return found + sound(directory)


def arguments(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as line:
            return line.read().replace(b"\0", b" ").decode()[:200]
    except OSError:
        return "ended meanwhile"


def sound(directory):
    """What SQLite finds wrong with the database of a directory."""
    database = next(directory.glob("*.db"))
    with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        told = [text for (text,) in connection.execute("PRAGMA integrity_check")]
    return [] if told == ["ok"] else [f"the database: {told[:3]}"]
