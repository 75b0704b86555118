"""Which outcome may be handled when, as a state machine: events in, orders out. It runs nothing itself."""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import Any, Callable, Deque, Dict, List, Mapping, Optional, Set, Union

SLOW_HANDLER_S = 30.0
# More than the widest window, so that whatever may still come again is remembered.
REMEMBERED = 4096
KINDS = ("completed", "error")


@dataclass(frozen=True)
class Handle:
    """Run the handler of this outcome now; `Delivery.handled` or `failed` follows."""

    event: Mapping[str, Any]


@dataclass(frozen=True)
class Acknowledge:
    event_id: str


@dataclass(frozen=True)
class Release:
    event_id: str


@dataclass(frozen=True)
class Warn:
    message: str
    detail: object = None


@dataclass(frozen=True)
class Show:
    """Hand this row to the state listeners."""

    row: Mapping[str, Any]


Order = Union[Handle, Acknowledge, Release, Warn, Show]


@dataclass
class Lane:
    """The outcomes of one id, in order, and the one that is being handled."""

    waiting: Deque[Mapping[str, Any]] = field(default_factory=lambda: deque())
    running: Optional[Mapping[str, Any]] = None
    open_mutates: int = 0


class Delivery:
    """One handler at a time for an id, in order, once the caller of `mutate` has its answer (D40)."""

    def __init__(self, is_defined: Callable[[str], bool], clock: Callable[[], float]) -> None:
        self._is_defined = is_defined
        self._clock = clock
        self._lanes: Dict[str, Lane] = {}
        self._held: Set[str] = set()
        self._acknowledged: "OrderedDict[str, None]" = OrderedDict()
        self._malformed: "OrderedDict[str, None]" = OrderedDict()
        self._slow_at: Dict[str, float] = {}
        self._stopped = False

    @property
    def running(self) -> int:
        """How many handlers run."""
        return sum(lane.running is not None for lane in self._lanes.values())

    def mutate_began(self, entry_id: str) -> None:
        """A caller waits for the answer to an enqueue of this id."""
        self._lane(entry_id).open_mutates += 1

    def mutate_ended(self, entry_id: str) -> List[Order]:
        """That caller has its answer, or its error."""
        self._lane(entry_id).open_mutates -= 1
        return self._advance(entry_id)

    def settled(self, event: Any) -> List[Order]:
        """An outcome came."""
        whole = event
        outcome: Mapping[str, Any] = event if isinstance(whole, dict) else {}
        if not isinstance(outcome.get("eventId"), str):
            return [Warn("an outcome without eventId was dropped", event)]
        event_id: str = outcome["eventId"]
        if self._stopped or event_id in self._held:
            return []
        if event_id in self._acknowledged:
            # Its acknowledgement was lost with a connection; unanswered it would fill the window for ever.
            return [Acknowledge(event_id)]
        if not all(isinstance(outcome.get(name), str) for name in ("id", "key", "kind")):
            if event_id in self._malformed:
                return []
            remember(self._malformed, event_id)
            return [Warn(f"outcome {event_id} has no id, key or kind and is left alone", outcome)]
        self._held.add(event_id)
        self._lane(outcome["id"]).waiting.append(outcome)
        return self._advance(outcome["id"])

    def handled(self, event: Mapping[str, Any]) -> List[Order]:
        """Its handler came to a good end."""
        self._leave(event)
        return [self._acknowledge(event["eventId"]), *self._advance(event["id"])]

    def failed(self, event: Mapping[str, Any], error: BaseException) -> List[Order]:
        """Its handler failed: released, and not here again until asked for."""
        self._leave(event)
        warning = Warn(
            f"the handler of {event['key']} failed for {event['id']}; the outcome is released", error
        )
        return [Release(event["eventId"]), warning, *self._advance(event["id"])]

    def disconnected(self) -> None:
        """The sidecar is gone. What waits comes again from the next; what runs is acknowledged there."""
        for lane in self._lanes.values():
            self._held.difference_update(event["eventId"] for event in lane.waiting)
            lane.waiting.clear()
        self._tidy()

    def stop(self) -> None:
        """No further handler begins."""
        self._stopped = True
        self.disconnected()

    def slow(self) -> List[Order]:
        """Warnings about handlers that have just become slow, one for each."""
        now = self._clock()
        late = [event_id for event_id, at in self._slow_at.items() if at <= now]
        for event_id in late:
            del self._slow_at[event_id]
        return [
            Warn(
                f"the handler of {event['key']} for {event['id']} has not ended after "
                f"{SLOW_HANDLER_S:.0f} s; still waiting",
                event,
            )
            for lane in list(self._lanes.values())
            for event in [lane.running]
            if event is not None and event["eventId"] in late
        ]

    @property
    def slow_at(self) -> Optional[float]:
        """When `slow` has something to say next, by the clock."""
        return min(self._slow_at.values(), default=None)

    def _lane(self, entry_id: str) -> Lane:
        return self._lanes.setdefault(entry_id, Lane())

    def _advance(self, entry_id: str) -> List[Order]:
        lane = self._lanes[entry_id]
        orders: List[Order] = []
        while lane.waiting and lane.running is None and lane.open_mutates == 0:
            orders += self._next(lane, lane.waiting.popleft())
        self._tidy(entry_id)
        return orders

    def _next(self, lane: Lane, event: Mapping[str, Any]) -> List[Order]:
        event_id, key, kind = event["eventId"], event["key"], event["kind"]
        if kind == "cancelled":
            self._held.discard(event_id)
            return [self._acknowledge(event_id)]
        if kind not in KINDS:
            self._held.discard(event_id)
            return [
                Release(event_id),
                Warn(f"outcome of {event['id']} has the unknown kind {kind}; released", event),
            ]
        if not self._is_defined(key):
            self._held.discard(event_id)
            return [
                Release(event_id),
                Show(unhandled_row(event)),
                Warn(f"no definition for {key}: the outcome of {event['id']} is released", event),
            ]
        lane.running = event
        self._slow_at[event_id] = self._clock() + SLOW_HANDLER_S
        return [Handle(event)]

    def _leave(self, event: Mapping[str, Any]) -> None:
        self._lanes[event["id"]].running = None
        self._held.discard(event["eventId"])
        self._slow_at.pop(event["eventId"], None)

    def _acknowledge(self, event_id: str) -> Acknowledge:
        remember(self._acknowledged, event_id)
        return Acknowledge(event_id)

    def _tidy(self, entry_id: Optional[str] = None) -> None:
        """Lanes that hold nothing go."""
        for name in [entry_id] if entry_id is not None else list(self._lanes):
            lane = self._lanes[name]
            if not lane.waiting and lane.running is None and lane.open_mutates == 0:
                del self._lanes[name]


def remember(ids: "OrderedDict[str, None]", event_id: str) -> None:
    ids[event_id] = None
    ids.move_to_end(event_id)
    if len(ids) > REMEMBERED:
        ids.popitem(last=False)


def unhandled_row(event: Mapping[str, Any]) -> Dict[str, Any]:
    """The row that shows an outcome nobody has a definition for."""
    return {
        "id": event["id"],
        "key": event["key"],
        "vars": event.get("vars"),
        "state": event.get("state", ""),
        "bytesSent": event.get("bytesSent", 0),
        "totalBytes": event.get("totalBytes", 0),
        "attempts": event.get("attempts", 0),
        "updatedAt": event.get("at", 0),
        "reason": "unhandled-key",
    }
