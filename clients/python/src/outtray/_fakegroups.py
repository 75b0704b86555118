"""The groups of the fake: which members each has had, and how those stand."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, Mapping, Optional

from ._fakelinks import SETTLED

STATES = ("queued", "running", "awaiting-auth", "paused", *SETTLED)


@dataclass
class Member:
    state: str
    sent: int
    size: int
    weight: float

    @property
    def share(self) -> float:
        if self.state == "completed":
            return 1
        return min(self.sent / self.size, 1) if self.size else 0


@dataclass
class Group:
    members: Dict[str, Member] = field(default_factory=lambda: {})
    generation: int = 0
    live: bool = False
    unacknowledged: Optional[str] = None


class FakeGroups:
    def __init__(self) -> None:
        self._groups: Dict[str, Group] = {}

    def note(self, row: Mapping[str, Any], weight: Optional[float] = None) -> Dict[str, Any]:
        """Takes a member as it stands; how its group stands then."""
        group = self._groups.setdefault(row["group"], Group())
        before = group.members.get(row["id"])
        heavy = weight or (before.weight if before else max(row["totalBytes"], 1))
        group.members[row["id"]] = Member(row["state"], row["bytesSent"], row["totalBytes"], heavy)
        group.live = group.live or row["state"] not in SETTLED
        return self.status(row["group"])

    def status(self, name: str) -> Dict[str, Any]:
        """KeyError for an unknown group."""
        members = self._groups[name].members.values()
        return {
            "group": name,
            "counts": {state: sum(one.state == state for one in members) for state in STATES},
            "bytesSent": sum(one.sent for one in members),
            "totalBytes": sum(one.size for one in members),
            "progress": sum(one.weight * one.share for one in members) / sum(one.weight for one in members),
        }

    def end(self, name: str, at: int) -> Optional[Dict[str, Any]]:
        """The outcome of a group whose last live member has settled."""
        group = self._groups[name]
        if not group.live or any(one.state not in SETTLED for one in group.members.values()):
            return None
        group.live = False
        group.generation += 1
        group.unacknowledged = str(uuid.uuid4())
        counts = self.status(name)["counts"]
        return {
            "eventId": group.unacknowledged,
            "group": name,
            "at": at,
            "generation": group.generation,
            "deliveries": 0,
            "counts": {state: counts[state] for state in SETTLED},
            "failed": [id for id, one in group.members.items() if one.state == "error"][:100],
        }

    def acknowledged(self, event: Mapping[str, Any]) -> None:
        group = self._groups.get(event["group"])
        if group is not None and group.unacknowledged == event["eventId"]:
            group.unacknowledged = None

    def cancelled(self, name: str) -> None:
        """Every member had settled, and nobody wants to hear of it."""
        self._groups.pop(name, None)

    def keeps(self, name: Optional[str]) -> bool:
        """Whether members keep their rows: the group lives, or its end was not acknowledged (D42)."""
        group = self._groups.get(name or "")
        return group is not None and (group.live or group.unacknowledged is not None)

    def tidy(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Groups without a row go."""
        there = {row.get("group") for row in rows}
        for name in list(self._groups):
            if name not in there and not self.keeps(name):
                del self._groups[name]
