"""The queue inside the fake sidecar: rows, journal, pauses, and what each call does to them."""

from __future__ import annotations

import copy
import itertools
import json
import threading
import uuid
from concurrent.futures import Future
from typing import Any, Dict, List, Mapping, Set, Tuple

from ._errors import InvalidError

Events = List[Tuple[str, Dict[str, Any]]]
# The answer to a call, and the events that follow it.
Effect = Tuple[Any, Events]
LIVE = ("queued", "running", "awaiting-auth", "paused")
START = 1_764_500_000_000


class NotAcknowledged(AssertionError):
    """The outcome of `settle` was not acknowledged; the message says why."""


class FakeQueue:
    """What the fake remembers."""

    def __init__(self) -> None:
        self.entries: List[Dict[str, Any]] = []
        """Every enqueue as it was sent: `id`, `key`, `vars` and `request`."""
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
            sent = [one["request"] for one in self.entries if one["id"] == id]
        request: Dict[str, Any] = sent[-1] if sent else {}
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

    def _clear(self) -> None:
        self._rows: Dict[str, Dict[str, Any]] = {}
        self._journal: Dict[str, Dict[str, Any]] = {}
        self._out: Set[str] = set()
        self._diagnostics: List[Dict[str, Any]] = []
        self._paused = False
        self._paused_keys: Set[str] = set()

    def _row(self, id: str, key: str, vars: Any, size: int) -> Dict[str, Any]:
        state = "paused" if self._paused or key in self._paused_keys else "queued"
        return {
            "id": id,
            "key": key,
            "vars": vars,
            "state": state,
            "bytesSent": 0,
            "totalBytes": size,
            "attempts": 0,
            "updatedAt": next(self._clock),
        }

    def _moved(self, row: Dict[str, Any], state: str) -> Events:
        if row["state"] == state:
            return []
        row.update(state=state, updatedAt=next(self._clock))
        return [("state", row)]

    def _on_enqueue(self, given: Dict[str, Any]) -> Effect:
        entry: Dict[str, Any] = {"vars": None, **copy.deepcopy(given)}
        self.entries.append(entry)
        data = entry["request"].get("data")
        size = len(json.dumps(data)) if "data" in entry["request"] else 0
        row = self._rows[entry["id"]] = self._row(entry["id"], entry["key"], entry["vars"], size)
        answer = {"id": entry["id"], "generation": 1, "disposition": "created", "row": row}
        return answer, [("state", row)]

    def _on_cancel(self, given: Dict[str, Any]) -> Effect:
        row = self._rows.get(given["id"])
        if row is None:
            return {}, []
        if row["state"] in LIVE:
            event = self.build_settled(given["id"], "cancelled", bytesSent=0, attempts=row["attempts"])
            self._journal[event["eventId"]] = event
            return {}, [*self._moved(row, "cancelled"), ("settled", event)]
        del self._rows[given["id"]]
        self._journal = {name: event for name, event in self._journal.items() if event["id"] != given["id"]}
        return {}, []

    def _on_retry(self, given: Dict[str, Any]) -> Effect:
        row = self._rows.get(given["id"])
        if row is None or row["state"] in ("completed", "cancelled"):
            why = "names no entry" if row is None else f"is {row['state']}"
            raise InvalidError(f"retry: id: {why}", "id")
        if row["state"] not in ("error", "awaiting-auth") and "nextAttemptAt" not in row:
            return {"row": row}, []
        if row["state"] == "error":
            row.update(attempts=0, bytesSent=0)
        row.pop("nextAttemptAt", None)
        shut = self._paused or row["key"] in self._paused_keys
        row.update(state="paused" if shut else "queued", updatedAt=next(self._clock))
        return {"row": row}, [("state", row)]

    def _on_pause(self, given: Dict[str, Any]) -> Effect:
        if "keys" in given:
            self._paused_keys.update(given["keys"])
        else:
            self._paused = True
        return {}, self._gated()

    def _on_resume(self, given: Dict[str, Any]) -> Effect:
        if "keys" in given:
            self._paused_keys.difference_update(given["keys"])
        else:
            self._paused = False
        return {}, self._gated()

    def _gated(self) -> Events:
        events: Events = []
        for row in self._rows.values():
            shut = self._paused or row["key"] in self._paused_keys
            if row["state"] in LIVE and shut != (row["state"] == "paused"):
                events += self._moved(row, "paused" if shut else "queued")
        return events

    def _on_subscribe(self, given: Dict[str, Any]) -> Effect:
        self._events = set(given["events"])
        return {}, [("settled", event) for event in list(self._journal.values())]

    def _on_ackEvents(self, given: Dict[str, Any]) -> Effect:
        for event_id in given["eventIds"]:
            self.acked_event_ids.append(event_id)
            event = self._journal.pop(event_id, None)
            self._out.discard(event_id)
            if event is not None and event["kind"] != "error":
                self._rows.pop(event["id"], None)
            waiter = self._waiters.pop(event_id, None)
            if waiter is not None:
                waiter.set_result(None)
        return {}, []

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
        rows = [
            row
            for row in self._rows.values()
            if all(row[name] == given[name] for name in ("key", "id", "state") if name in given)
        ]
        return {"requests": rows}, []

    def _on_takeDiagnostics(self, given: Dict[str, Any]) -> Effect:
        records, self._diagnostics = self._diagnostics, []
        return {"records": records}, []

    def _on_explain(self, given: Dict[str, Any]) -> Effect:
        row = self._rows[given["id"]]
        gates = [{"gate": "pause", "detail": "paused"}] if row["state"] == "paused" else []
        return {"id": row["id"], "state": row["state"], "gates": gates}, []

    def _on_ping(self, given: Dict[str, Any]) -> Effect:
        return {"now": next(self._clock)}, []

    def _nothing(self, given: Dict[str, Any]) -> Effect:
        return {}, []

    _on_configure = _on_setWifiOnly = _on_setNetwork = _on_updateHeaders = _on_stats = _nothing
