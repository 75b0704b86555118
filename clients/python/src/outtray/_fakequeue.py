"""The queue inside the fake sidecar: rows, journal, pauses, and what each call does to them."""

from __future__ import annotations

import copy
import itertools
import json
import threading
import uuid
from concurrent.futures import Future
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Set, Tuple

from ._errors import InvalidError
from ._fakegroups import FakeGroups
from ._fakelinks import FakeLinks

Events = List[Tuple[str, Dict[str, Any]]]
# The answer to a call, and the events that follow it.
Effect = Tuple[Any, Events]
LIVE = ("queued", "running", "awaiting-auth", "paused")
START = 1_764_500_000_000


class NotAcknowledged(AssertionError):
    """An outcome of `settle` was not acknowledged; the message says why."""


class Held(AssertionError):
    """An entry cannot have been sent: it waits for others, or for its turn in a lane."""


class FakeQueue:
    """What the fake remembers."""

    def __init__(self) -> None:
        self.entries: List[Dict[str, Any]] = []
        """Every enqueue as it was sent: `id`, `key`, `vars`, `request`, and what depends on what."""
        self.acked_event_ids: List[str] = []
        self.released_event_ids: List[str] = []
        self._lock = threading.RLock()
        self._events: Set[str] = set()
        self._clock = itertools.count(START)
        self._waiters: Dict[str, "Future[None]"] = {}
        self._clear()

    def build_settled(self, id: str, kind: str = "completed", **changes: Any) -> Dict[str, Any]:
        """An outcome of an entry, with an eventId of its own, not journaled. KeyError for an unknown id."""
        with self._lock:
            row = self._rows[id]
            request: Dict[str, Any] = self._links.request_of(id) if self._links.has(id) else {}
        parts: List[Mapping[str, Any]] = request.get("parts") or []
        event: Dict[str, Any] = {
            "eventId": str(uuid.uuid4()),
            "id": id,
            "key": row["key"],
            "vars": row["vars"],
            "at": next(self._clock),
            "generation": 1,
            "attempts": max(1, row["attempts"]),
            "requestId": str(uuid.uuid4()),
            "deliveries": 0,
            "state": kind,
            "bytesSent": row["totalBytes"],
            "totalBytes": row["totalBytes"],
            "kind": kind,
            "method": request.get("method", "POST"),
            "url": parts[-1]["url"] if parts else request.get("url", "http://fake.invalid/"),
        }
        if parts:
            event["partIndex"] = len(parts) - 1
        event.update({name: row[name] for name in ("group", "lane") if name in row})
        answer: Dict[str, Any] = {} if parts else {"status": 200, "headers": {}}
        kinds: Dict[str, Dict[str, Any]] = {
            "completed": {"response": {**answer, "bodyTruncated": False}},
            "cancelled": {"cancelReason": "user"},
            "error": {"error": {"errorKind": "http", "message": "HTTP 400"}},
        }
        defaults = kinds.get(kind, {})
        for name, value in {**defaults, **changes}.items():
            below = defaults.get(name)
            event[name] = {**defaults[name], **value} if isinstance(below, dict) else value
        return event

    def request_of(self, id: str) -> Dict[str, Any]:
        """The request of an entry as it would be sent, with the values from earlier answers.

        KeyError for an id that was never enqueued or is forgotten, Held for one that still waits.
        """
        with self._lock:
            request = self._links.request_of(id)
            self._check_free(id)
        return request

    def _check_free(self, id: str) -> None:
        for gate in self._links.gates(id, self._rows):
            raise Held(f"{id} cannot have been sent: {gate['detail']}")

    def _clear(self) -> None:
        self._links, self._groups = FakeLinks(), FakeGroups()
        self._acknowledged: Set[str] = set()
        self._paused_groups: Set[str] = set()
        self._rows: Dict[str, Dict[str, Any]] = {}
        self._journal: Dict[str, Dict[str, Any]] = {}
        self._out: Set[str] = set()
        self._diagnostics: List[Dict[str, Any]] = []
        self._paused = False
        self._paused_keys: Set[str] = set()

    def _row(self, id: str, key: str, vars: Any, size: int, **more: Any) -> Dict[str, Any]:
        row = {"id": id, "key": key, "vars": vars, **more}
        return {
            **row,
            "state": "paused" if self._is_shut(row) else "queued",
            "bytesSent": 0,
            "totalBytes": size,
            "attempts": 0,
            "updatedAt": next(self._clock),
        }

    def _moved(self, row: Dict[str, Any], state: str) -> Events:
        if row["state"] == state:
            return []
        row.update(state=state, updatedAt=next(self._clock))
        return [("state", row), *self._group_moved(row)]

    def _group_moved(self, row: Mapping[str, Any], weight: Optional[float] = None) -> Events:
        return [("group", self._groups.note(row, weight))] if "group" in row else []

    def _on_enqueue(self, given: Dict[str, Any]) -> Effect:
        self._links.check([given], [""], self._rows)
        answer, events = self._take(given)
        return answer, [*events, *self._link([given])]

    def _on_enqueueAll(self, given: Dict[str, Any]) -> Effect:
        entries: List[Dict[str, Any]] = given["entries"]
        self._links.check(entries, [f"entries[{index}]." for index in range(len(entries))], self._rows)
        taken = [self._take(entry) for entry in entries]
        events = [event for _, following in taken for event in following]
        return {"entries": [answer for answer, _ in taken]}, [*events, *self._link(entries)]

    def _take(self, given: Mapping[str, Any]) -> Effect:
        entry: Dict[str, Any] = {"vars": None, **copy.deepcopy(dict(given))}
        self.entries.append(entry)
        id, answer = entry["id"], {"id": entry["id"], "generation": 1, "disposition": "kept"}
        if id in self._acknowledged:
            return {**answer, "row": self._rows[id]}, []
        size = len(json.dumps(entry["request"]["data"])) if "data" in entry["request"] else 0
        belongs = {name: entry[name] for name in ("group", "lane") if name in entry}
        row = self._rows[id] = self._row(id, entry["key"], entry["vars"], size, **belongs)
        events = [("state", row), *self._group_moved(row, entry.get("weight"))]
        return {**answer, "disposition": "created", "row": row}, events

    def _link(self, entries: Iterable[Mapping[str, Any]]) -> Events:
        """When all are there: what each waits for, and those that can wait for it no more."""
        events: Events = []
        for entry in entries:
            if entry["id"] not in self._acknowledged:
                why = self._links.add(entry, self._rows)
                events += self._end([self._dependency(entry["id"], why)]) if why else []
        return events

    def _dependency(self, id: str, why: str) -> Dict[str, Any]:
        error = {"errorKind": "dependency", "message": why}
        return self.build_settled(id, "error", error=error, attempts=0, bytesSent=0)

    def _end(self, outcomes: List[Dict[str, Any]]) -> Events:
        """Journals outcomes and moves their rows, and all that ends with them: successors and groups."""
        events: Events = []
        for event in outcomes:  # It grows meanwhile.
            row = self._rows[event["id"]]
            self._journal[event["eventId"]] = event
            row.update(bytesSent=event["bytesSent"], attempts=event["attempts"])
            events += [*self._moved(row, event["state"]), ("settled", event)]
            following = self._links.settled(event, self._rows)
            outcomes += [self._dependency(id, why) for id, why in following]
        for group in dict.fromkeys(event["group"] for event in outcomes if "group" in event):
            ended = self._groups.end(group, next(self._clock))
            if ended is not None:
                self._journal[ended["eventId"]] = ended
                events.append(("groupSettled", ended))
        return events

    def _on_cancel(self, given: Dict[str, Any]) -> Effect:
        rows = [row for row in self._rows.values() if fits(row, given, ("id", "group"))]
        live = [row for row in rows if row["state"] in LIVE]
        outcomes = [
            self.build_settled(row["id"], "cancelled", bytesSent=0, attempts=row["attempts"])
            for row in live
        ]
        if live:
            return {}, self._end(outcomes)
        for row in rows:
            self._forget(row["id"])
        gone = {row["id"] for row in rows}
        self._journal = {
            name: event
            for name, event in self._journal.items()
            if event.get("id") not in gone and ("id" in event or event["group"] != given.get("group"))
        }
        self._groups.cancelled(given.get("group", ""))
        self._tidy()
        return {}, []

    def _forget(self, id: str) -> None:
        del self._rows[id]
        self._links.forget(id)
        self._acknowledged.discard(id)

    def _tidy(self) -> None:
        """What was acknowledged goes, unless it is kept for others (D42)."""
        while True:
            going = [
                id
                for id in self._acknowledged
                if not self._links.needs(id) and not self._groups.keeps(self._rows[id].get("group"))
            ]
            if not going:
                break
            for id in going:
                self._forget(id)
        self._groups.tidy(self._rows.values())

    def _on_retry(self, given: Dict[str, Any]) -> Effect:
        row = self._rows.get(given["id"])
        if row is None or row["state"] in ("completed", "cancelled"):
            why = "names no entry" if row is None else f"is {row['state']}"
            raise InvalidError(f"retry: id: {why}", "id")
        if row["state"] not in ("error", "awaiting-auth") and "nextAttemptAt" not in row:
            return {"row": row}, []
        if row["state"] == "error":
            row.update(attempts=0, bytesSent=0)
            self._links.reopen(row["id"])
        row.pop("nextAttemptAt", None)
        row.update(state="paused" if self._is_shut(row) else "queued", updatedAt=next(self._clock))
        return {"row": row}, [("state", row), *self._group_moved(row)]

    def _on_pause(self, given: Dict[str, Any]) -> Effect:
        self._paused_keys.update(given.get("keys", ()))
        self._paused_groups.update(given.get("groups", ()))
        self._paused = self._paused or not given
        return {}, self._gated()

    def _on_resume(self, given: Dict[str, Any]) -> Effect:
        self._paused_keys.difference_update(given.get("keys", ()))
        self._paused_groups.difference_update(given.get("groups", ()))
        self._paused = self._paused and bool(given)
        return {}, self._gated()

    def _is_shut(self, row: Mapping[str, Any]) -> bool:
        closed = row["key"] in self._paused_keys or row.get("group") in self._paused_groups
        return self._paused or closed

    def _gated(self) -> Events:
        events: Events = []
        for row in self._rows.values():
            shut = self._is_shut(row)
            if row["state"] in LIVE and shut != (row["state"] == "paused"):
                events += self._moved(row, "paused" if shut else "queued")
        return events

    def _on_subscribe(self, given: Dict[str, Any]) -> Effect:
        self._events = set(given["events"])
        return {}, [(name_of(event), event) for event in list(self._journal.values())]

    def _on_ackEvents(self, given: Dict[str, Any]) -> Effect:
        for event_id in given["eventIds"]:
            self.acked_event_ids.append(event_id)
            event = self._journal.pop(event_id, None)
            self._out.discard(event_id)
            if event is not None and "id" not in event:
                self._groups.acknowledged(event)
            elif event is not None and event["id"] in self._rows:
                self._row_acknowledged(event)
            waiter = self._waiters.pop(event_id, None)
            if waiter is not None:
                waiter.set_result(None)
        self._tidy()
        return {}, []

    def _row_acknowledged(self, event: Mapping[str, Any]) -> None:
        id = event["id"]
        if event["kind"] == "completed" and self._rows[id]["state"] == "completed":
            self._links.acknowledged(id)
            self._acknowledged.add(id)
        elif event["kind"] != "error":
            self._forget(id)

    def _on_releaseEvents(self, given: Dict[str, Any]) -> Effect:
        for event_id in given["eventIds"]:
            self.released_event_ids.append(event_id)
            self._out.discard(event_id)
            waiter = self._waiters.pop(event_id, None)
            if waiter is not None:
                why = "the client released it: its handler failed, or it has none"
                waiter.set_exception(NotAcknowledged(f"the outcome was not acknowledged: {why}"))
        return {}, []

    def _on_getRequests(self, given: Dict[str, Any]) -> Effect:
        rows = [row for row in self._rows.values() if fits(row, given, ("key", "id", "state", "group"))]
        return {"requests": rows}, []

    def _on_takeDiagnostics(self, given: Dict[str, Any]) -> Effect:
        records, self._diagnostics = self._diagnostics, []
        return {"records": records}, []

    def _on_explain(self, given: Dict[str, Any]) -> Effect:
        if "group" not in given:
            return self._explanation(self._rows[given["id"]]), []
        status = self._groups.status(given["group"])
        live = [row for row in self._rows.values() if fits(row, given, ("group",)) and row["state"] in LIVE]
        told = {name: status[name] for name in ("group", "counts", "progress")}
        return {**told, "entries": [self._explanation(row) for row in live[:100]]}, []

    def _explanation(self, row: Mapping[str, Any]) -> Dict[str, Any]:
        shut = {
            "queue": self._paused,
            "key": row["key"] in self._paused_keys,
            "group": row.get("group") in self._paused_groups,
        }
        gates = [{"gate": gate, "detail": "paused"} for gate, closed in shut.items() if closed]
        gates = [*gates, *self._links.gates(row["id"], self._rows)] if row["state"] in LIVE else []
        return {"id": row["id"], "state": row["state"], "gates": gates}

    def _on_ping(self, given: Dict[str, Any]) -> Effect:
        return {"now": next(self._clock)}, []

    def _nothing(self, given: Dict[str, Any]) -> Effect:
        return {}, []

    _on_configure = _on_setWifiOnly = _on_setNetwork = _on_updateHeaders = _on_stats = _nothing


def fits(row: Mapping[str, Any], given: Mapping[str, Any], names: Sequence[str]) -> bool:
    return all(row.get(name) == given[name] for name in names if name in given)


def name_of(event: Mapping[str, Any]) -> str:
    return "settled" if "id" in event else "groupSettled"
