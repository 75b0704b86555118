"""A sidecar for unit tests: no process, no HTTP. Validation and delivery are the real ones.

    sidecar = create_fake_sidecar()
    client = UploadClient(sidecar=sidecar)
    ...
    sidecar.settle(note_id, response={"body": "{}"})     # returns once the handler is through

It keeps rows and the journal of outcomes, but knows neither same-id rules, deadlines, nor the merging of
headers; script those with `fail_next` and `seed_unacknowledged`. Pipelines are real: what waits, for what and
in which lane, the values that are bound, and the ends of groups.
"""

from __future__ import annotations

import asyncio
import copy
import json
from collections import deque
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any, Callable, Deque, Dict, List, Mapping, Optional, Tuple

from ._errors import ClosedError, InvalidError, SidecarExited, error_of
from ._fakequeue import FakeQueue, Held, NotAcknowledged, name_of
from ._json import Text
from ._protocol import ERROR_NUMBERS
from ._session import Listener


# Errors with which an entry may end that was not sent.
UNSENT = ("expired", "dependency")


class FakeSidecar(FakeQueue):
    """Give it to a client as `sidecar`. A second client that gets it sees what a second start would."""

    def __init__(self, *, ack_timeout_ms: int = 2000) -> None:
        super().__init__()
        self.calls: List[Tuple[str, Dict[str, Any]]] = []
        """Every call, with its params."""
        self._timeout = ack_timeout_ms / 1000
        self._listener: Optional[Listener] = None
        self._failures: Dict[str, Deque[Tuple[str, str]]] = {}
        self._held_calls: Deque[Tuple[str, Dict[str, Any], "Future[Any]"]] = deque()
        self._hold = False
        self._holding = False

    # What a client calls.

    def attach(self, listener: Listener) -> None:
        """A client begins with this sidecar."""
        with self._lock:
            self._listener = listener
            self._forget_connection()

    def call(self, method: str, params: Text, start: bool = True) -> "Future[Any]":
        """One call of a client, as a real sidecar would get it."""
        answer: "Future[Any]" = Future()
        answer.set_running_or_notify_cancel()
        given = json.loads(params)
        with self._lock:
            if self._listener is None:
                answer.set_exception(ClosedError())
                return answer
            self.calls.append((method, given))
            if method in ("enqueue", "enqueueAll") and (self._hold or self._holding):
                self._hold, self._holding = False, True
                self._held_calls.append((method, given, answer))
                return answer
        self._run(method, given, answer)
        return answer

    def close(self, seconds: float) -> None:
        """The client has ended."""
        with self._lock:
            self._listener = None
            self._forget_connection()
            held, self._held_calls, self._holding = list(self._held_calls), deque(), False
        for _, _, answer in held:
            answer.set_exception(ClosedError())

    # What a test calls.

    @property
    def rows(self) -> List[Dict[str, Any]]:
        """Copies of all rows, in order of creation."""
        with self._lock:
            return copy.deepcopy(list(self._rows.values()))

    @property
    def unacknowledged(self) -> List[Dict[str, Any]]:
        """Copies of the outcomes in the journal, oldest first."""
        with self._lock:
            return copy.deepcopy([event for event in self._journal.values() if "id" in event])

    @property
    def unacknowledged_groups(self) -> List[Dict[str, Any]]:
        """The same for the outcomes of groups."""
        with self._lock:
            return copy.deepcopy([event for event in self._journal.values() if "id" not in event])

    def settle(self, id: str, kind: str = "completed", **changes: Any) -> None:
        """Settles an entry and returns once its outcome is acknowledged, and what ended with it: entries that
        settle since it did not complete, and its group where the client hears of groups.

        `changes` are members of the outcome, such as `response={"status": 200, "body": "{}"}` or
        `error={"errorKind": "http"}`; bound values are taken from body and headers. Raises NotAcknowledged
        when an outcome is released, or not acknowledged within `ack_timeout_ms`; Held for an entry that
        cannot have been sent, since it waits for others or its turn; OuttrayError when
        `fail_next("settle", ...)` said so; KeyError for an id that has no row.
        """
        for event_id, waiter in self._settle(id, kind, changes):
            try:
                waiter.result(self._timeout)
            except FutureTimeout:
                raise self._late(event_id) from None

    async def settle_async(self, id: str, kind: str = "completed", **changes: Any) -> None:
        """As `settle`, for a test that runs in an event loop."""
        for event_id, waiter in self._settle(id, kind, changes):
            try:
                await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(waiter)), self._timeout)
            except asyncio.TimeoutError:
                raise self._late(event_id) from None

    def fail_next(self, method: str, code: str, message: str = "told to fail") -> None:
        """The next call of `method` (a name of the wire, or `settle`) fails with this code, once."""
        self._failures.setdefault(method, deque()).append((code, message))

    def hold_next(self, method: str = "enqueue") -> Callable[[], None]:
        """The next enqueue, alone or of a pipeline, and those behind it, get no answer.

        They get it when what is returned is called.
        """
        if method != "enqueue":
            raise ValueError(f"hold_next holds enqueue only, not {method}")
        self._hold = True
        return self._let_go

    def seed_rows(self, *rows: Mapping[str, Any]) -> None:
        """Rows from a run before; `id` and `key` are enough."""
        for row in rows:
            self._rows[row["id"]] = {**self._row(row["id"], row["key"], None, 0), **row}

    def seed_unacknowledged(self, *events: Mapping[str, Any]) -> None:
        """Outcomes of a run before, which the next subscribe brings; `id` and `key` are enough."""
        for event in events:
            if event["id"] not in self._rows:
                self.seed_rows({"id": event["id"], "key": event["key"]})
            given = {name: value for name, value in event.items() if name not in ("id", "kind")}
            built = self.build_settled(event["id"], event.get("kind", "completed"), **given)
            self._rows[event["id"]]["state"] = built["state"]
            self._journal[built["eventId"]] = built

    def seed_diagnostics(self, *records: Mapping[str, Any]) -> None:
        """Records for `take_diagnostics`; absent members get values."""
        for record in records:
            self._diagnostics.append({"at": next(self._clock), "level": "info", "message": "", **record})

    def emit(self, event: str, params: Mapping[str, Any]) -> None:
        """Sends an event as it is, if the client subscribed to it; nothing is journaled."""
        listener = self._listener
        if listener is not None and (event in self._events or event == "resync"):
            listener.event(event, copy.deepcopy(dict(params)))

    def die(self, status: int = 70, stderr: str = "") -> None:
        """The sidecar ends; the next call of the client starts it again."""
        listener = self._listener
        if listener is not None:
            self._forget_connection()
            listener.ended(SidecarExited(status, None, stderr))
            for method, params in listener.greetings():
                self.call(method, params)

    def reset(self) -> None:
        """Forgets rows, journal, records and what was scripted; subscriptions and used eventIds stay."""
        with self._lock:
            self._failures.clear()
            self._held_calls.clear()
            self._hold = self._holding = False
            self.entries.clear()
            self.calls.clear()
            waiters, self._waiters = list(self._waiters.values()), {}
            self._clear()
        for waiter in waiters:
            waiter.set_exception(NotAcknowledged("not acknowledged: the fake was reset"))

    # Inside.

    def _forget_connection(self) -> None:
        self._events.clear()
        self._out.clear()

    def _run(self, method: str, given: Dict[str, Any], answer: "Future[Any]") -> None:
        """Answers first, then sends what follows from the call."""
        code, message = self._failures[method].popleft() if self._failures.get(method) else ("", "")
        carry_out = getattr(self, f"_on_{method.replace('.', '_')}", None)
        if not code and carry_out is None:
            code, message = "E_METHOD", f"the fake does not know {method}"
        if code:
            error = {"code": ERROR_NUMBERS.get(code, 0), "message": message, "data": {"code": code}}
            answer.set_exception(error_of(method, error))
            return
        assert carry_out is not None
        try:
            with self._lock:
                result, events = carry_out(given)
        except InvalidError as refusal:
            answer.set_exception(refusal)
            return
        except KeyError as error:
            refused = {"code": -32602, "message": f"no entry {error}", "data": {"code": "E_INVALID"}}
            answer.set_exception(error_of(method, refused))
            return
        answer.set_result(copy.deepcopy(result))
        for name, params in events:
            self._tell(name, params)

    def _deliver(self, event_id: str) -> None:
        with self._lock:
            event = self._journal.get(event_id)
            if event is None or name_of(event) not in self._events or event_id in self._out:
                return
            self._out.add(event_id)
            event["deliveries"] += 1
        self.emit(name_of(event), event)

    def _tell(self, name: str, params: Mapping[str, Any]) -> None:
        if name in ("settled", "groupSettled"):
            self._deliver(params["eventId"])
        else:
            self.emit(name, params)

    def _settle(self, id: str, kind: str, changes: Mapping[str, Any]) -> List[Tuple[str, "Future[None]"]]:
        if self._failures.get("settle"):
            code, message = self._failures["settle"].popleft()
            raise error_of(
                "settle", {"code": ERROR_NUMBERS.get(code, 0), "message": message, "data": {"code": code}}
            )
        event = self.build_settled(id, kind, **changes)
        with self._lock:
            unsent = kind == "cancelled" or event.get("error", {}).get("errorKind") in UNSENT
            if not unsent:
                self._check_free(id)
            events = self._end([event])
            heard = [params for name, params in events if name == "settled" or name in self._events]
            waiters = {one["eventId"]: waiter_of() for one in heard if "eventId" in one}
            self._waiters.update(waiters)
        for name, params in events:
            self._tell(name, params)
        return list(waiters.items())

    def _late(self, event_id: str) -> NotAcknowledged:
        with self._lock:
            self._waiters.pop(event_id, None)
            why = "its handler has not ended" if event_id in self._out else "nobody is subscribed"
        return NotAcknowledged(f"the outcome was not acknowledged within {self._timeout:g} s: {why}")

    def _let_go(self) -> None:
        with self._lock:
            held, self._held_calls, self._holding = list(self._held_calls), deque(), False
        for method, given, answer in held:
            self._run(method, given, answer)


def waiter_of() -> "Future[None]":
    waiter: "Future[None]" = Future()
    waiter.set_running_or_notify_cancel()
    return waiter


def create_fake_sidecar(*, ack_timeout_ms: int = 2000) -> FakeSidecar:
    """A fake for one test."""
    return FakeSidecar(ack_timeout_ms=ack_timeout_ms)


__all__ = ["FakeSidecar", "Held", "NotAcknowledged", "create_fake_sidecar"]
