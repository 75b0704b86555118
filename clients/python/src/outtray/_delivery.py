"""Which outcome may be handled when, as a state machine: events in, orders out. It runs nothing itself."""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import Any, Callable, Deque, Dict, List, Mapping, Optional, Sequence, Set, Tuple, Union

SLOW_HANDLER_S = 30.0
# More than the widest window, so that whatever may still come again is remembered.
REMEMBERED = 4096
KINDS = ("completed", "error")
# ("id", an entry's) or ("group", a group's).
Name = Tuple[str, str]


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
    """The outcomes of one id, or of one group, in order, and the one that is being handled."""

    waiting: Deque[Mapping[str, Any]] = field(default_factory=lambda: deque())
    running: Optional[Mapping[str, Any]] = None
    open_mutates: int = 0


class Delivery:
    """One handler at a time for an id, in order, once the caller of `mutate` has its answer (D40).

    The outcome of a group comes after those of its members that came before it (D48).
    """

    takes_groups = False
    """Whether there is a handler for the outcomes of groups."""

    def __init__(self, is_defined: Callable[[str], bool], clock: Callable[[], float]) -> None:
        self._is_defined = is_defined
        self._clock = clock
        self._lanes: Dict[Name, Lane] = {}
        self._held: Set[str] = set()
        # By the outcome of a group: those of its members that came before.
        self._members: Dict[str, Set[str]] = {}
        self._acknowledged: "OrderedDict[str, None]" = OrderedDict()
        self._malformed: "OrderedDict[str, None]" = OrderedDict()
        self._slow_at: Dict[str, float] = {}
        self._stopped = False

    @property
    def running(self) -> int:
        """How many handlers run."""
        return sum(lane.running is not None for lane in self._lanes.values())

    def mutate_began(self, entry_id: str, group: Optional[str] = None) -> None:
        """A caller waits for the answer to an enqueue of this id, which goes into this group."""
        for name in names_of(entry_id, group):
            self._lanes.setdefault(name, Lane()).open_mutates += 1

    def mutate_ended(self, entry_id: str, group: Optional[str] = None) -> List[Order]:
        """That caller has its answer, or its error."""
        orders: List[Order] = []
        for name in names_of(entry_id, group):
            self._lanes[name].open_mutates -= 1
            orders += self._advance(name)
        return orders

    def settled(self, event: Any) -> List[Order]:
        """An outcome of an entry came."""
        return self._take(event, ("id", "key", "kind"))

    def group_settled(self, event: Any) -> List[Order]:
        """An outcome of a group came."""
        return self._take(event, ("group",))

    def _take(self, event: Any, needed: Sequence[str]) -> List[Order]:
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
        if not all(isinstance(outcome.get(name), str) for name in needed):
            if event_id in self._malformed:
                return []
            remember(self._malformed, event_id)
            lacks = f"{', '.join(needed[:-1])} or {needed[-1]}" if needed[1:] else needed[0]
            return [Warn(f"outcome {event_id} has no {lacks} and is left alone", outcome)]
        if is_of_group(outcome):
            self._members[event_id] = self._members_in_hand(outcome["group"])
        self._held.add(event_id)
        self._lanes.setdefault(name_of(outcome), Lane()).waiting.append(outcome)
        return self._advance(name_of(outcome))

    def handled(self, event: Mapping[str, Any]) -> List[Order]:
        """Its handler came to a good end."""
        self._leave(event)
        return [self._acknowledge(event["eventId"]), *self._go_on(event)]

    def failed(self, event: Mapping[str, Any], error: BaseException) -> List[Order]:
        """Its handler failed: released, and not here again until asked for."""
        self._leave(event)
        warning = Warn(f"{handler_of(event, 'failed')}; the outcome is released", error)
        return [Release(event["eventId"]), warning, *self._go_on(event)]

    def disconnected(self) -> None:
        """The sidecar is gone. What waits comes again from the next; what runs is acknowledged there."""
        for lane in self._lanes.values():
            self._held.difference_update(event["eventId"] for event in lane.waiting)
            lane.waiting.clear()
        self._members.clear()
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
                f"{handler_of(event, f'has not ended after {SLOW_HANDLER_S:.0f} s')}; still waiting", event
            )
            for lane in list(self._lanes.values())
            for event in [lane.running]
            if event is not None and event["eventId"] in late
        ]

    @property
    def slow_at(self) -> Optional[float]:
        """When `slow` has something to say next, by the clock."""
        return min(self._slow_at.values(), default=None)

    def _members_in_hand(self, group: str) -> Set[str]:
        return {
            event["eventId"]
            for lane in self._lanes.values()
            for event in (*lane.waiting, lane.running)
            if event is not None and not is_of_group(event) and event.get("group") == group
        }

    def _go_on(self, event: Mapping[str, Any]) -> List[Order]:
        """What may come now that this outcome is through."""
        return [*self._advance(name_of(event)), *self._advance_group(event)]

    def _advance_group(self, event: Mapping[str, Any]) -> List[Order]:
        name = ("group", event.get("group", ""))
        return [] if is_of_group(event) or name not in self._lanes else self._advance(name)

    def _advance(self, name: Name) -> List[Order]:
        lane = self._lanes[name]
        orders: List[Order] = []
        while lane.waiting and lane.running is None and lane.open_mutates == 0:
            if self._members.get(lane.waiting[0]["eventId"], set()) & self._held:
                break
            event = lane.waiting.popleft()
            self._members.pop(event["eventId"], None)
            orders += self._next(lane, event)
            if lane.running is None:
                orders += self._advance_group(event)
        self._tidy(name)
        return orders

    def _next(self, lane: Lane, event: Mapping[str, Any]) -> List[Order]:
        return self._next_of_group(lane, event) if is_of_group(event) else self._next_of_entry(lane, event)

    def _next_of_group(self, lane: Lane, event: Mapping[str, Any]) -> List[Order]:
        if self.takes_groups:
            return self._begin(lane, event)
        # Else it would be kept for ever, and its members with it.
        self._held.discard(event["eventId"])
        return [self._acknowledge(event["eventId"])]

    def _next_of_entry(self, lane: Lane, event: Mapping[str, Any]) -> List[Order]:
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
        return self._begin(lane, event)

    def _begin(self, lane: Lane, event: Mapping[str, Any]) -> List[Order]:
        lane.running = event
        self._slow_at[event["eventId"]] = self._clock() + SLOW_HANDLER_S
        return [Handle(event)]

    def _leave(self, event: Mapping[str, Any]) -> None:
        self._lanes[name_of(event)].running = None
        self._held.discard(event["eventId"])
        self._slow_at.pop(event["eventId"], None)

    def _acknowledge(self, event_id: str) -> Acknowledge:
        remember(self._acknowledged, event_id)
        return Acknowledge(event_id)

    def _tidy(self, one: Optional[Name] = None) -> None:
        """Lanes that hold nothing go."""
        for name in [one] if one is not None else list(self._lanes):
            lane = self._lanes[name]
            if not lane.waiting and lane.running is None and lane.open_mutates == 0:
                del self._lanes[name]


def is_of_group(event: Mapping[str, Any]) -> bool:
    """Whether an outcome is that of a group; an entry's says of which kind it is."""
    return "kind" not in event


def name_of(event: Mapping[str, Any]) -> Name:
    """Which lane an outcome is in."""
    return ("group", event["group"]) if is_of_group(event) else ("id", event["id"])


def names_of(entry_id: str, group: Optional[str]) -> List[Name]:
    return [("id", entry_id)] + ([] if group is None else [("group", group)])


def handler_of(event: Mapping[str, Any], what: str) -> str:
    if is_of_group(event):
        return f"the handler of groups {what} for {event['group']}"
    return f"the handler of {event['key']} {what} for {event['id']}"


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
