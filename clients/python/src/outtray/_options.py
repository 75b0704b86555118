"""What `mutate` and the steps of a pipeline say about an entry beside its request."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Any, List, Literal, Mapping, Optional, Protocol, Sequence, Tuple, Union

from . import _descriptor as check
from ._protocol import MAX_INTEGER, MEMBERS, Binding

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
MAX_WEIGHT = 1_000_000_000


class HasId(Protocol):
    """A step, or whatever else has the id of an entry."""

    @property
    def id(self) -> str: ...


Entries = Sequence[Union[str, HasId]]
Bind = Mapping[str, Binding]
OnFailure = Literal["wait", "settle"]


@dataclass(frozen=True)
class Options:
    """None stands for what was not said."""

    after: Optional[Entries] = None
    bind: Optional[Bind] = None
    on_failure: Optional[OnFailure] = None
    lane: Optional[str] = None
    group: Optional[str] = None
    weight: Optional[float] = None
    deadline_ms: Optional[int] = None
    group_deadline_ms: Optional[int] = None

    def over(self, below: "Options") -> "Options":
        """These, and those of `below` where nothing is said here."""
        pairs = ((getattr(self, one.name), getattr(below, one.name)) for one in fields(self))
        return Options(*(lower if upper is None else upper for upper, lower in pairs))

    def params(self) -> List[Tuple[str, Any]]:
        """The members of an enqueue; InvalidError that names the option."""
        for name in ("lane", "group"):
            if getattr(self, name) is not None:
                check.as_text(getattr(self, name), name)
        for name in ("deadline_ms", "group_deadline_ms"):
            if getattr(self, name) is not None:
                check.as_integer(getattr(self, name), name, 1, MAX_INTEGER)
        if self.group_deadline_ms is not None and self.group is None:
            raise check.reject("group_deadline_ms", "needs group")
        if self.on_failure not in (None, "wait", "settle"):
            raise check.reject("on_failure", f"must be wait or settle, got {self.on_failure!r}")
        if self.weight is not None:
            check.as_positive(self.weight, "weight")
            if self.weight > MAX_WEIGHT:
                raise check.reject("weight", f"must be at most {MAX_WEIGHT}, got {self.weight!r}")
        given = (
            ("after", None if self.after is None else entry_ids(self.after)),
            ("onFailure", self.on_failure),
            ("bind", None if self.bind is None else bindings(self.bind)),
            ("lane", self.lane),
            ("group", self.group),
            ("weight", self.weight),
            ("deadlineMs", self.deadline_ms),
            ("groupDeadlineMs", self.group_deadline_ms),
        )
        return [(name, value) for name, value in given if value is not None]


def entry_ids(after: Any) -> List[str]:
    ids: List[str] = []
    for index, one in enumerate(check.as_list(after, "after")):
        entry_id = one if isinstance(one, str) else getattr(one, "id", one)
        check.as_text(entry_id, f"after[{index}]")
        ids.append(entry_id)
    return ids


def bindings(bind: Any) -> Mapping[str, Any]:
    given = check.as_object(bind, "bind")
    for name, value in given.items():
        place = f"bind.{name}"
        if not NAME.match(name):
            why = "must have a name of letters, digits and _ that begins with no digit"
            raise check.reject(place, why)
        binding = check.as_object(value, place, MEMBERS["Binding"])
        check.as_text(binding.get("entry"), f"{place}.entry")
        if ("pointer" in binding) == ("header" in binding):
            raise check.reject(place, "must have exactly one of pointer and header")
        if "header" in binding:
            check.as_text(binding["header"], f"{place}.header")
        else:
            check_pointer(binding["pointer"], f"{place}.pointer")
    return given


def check_pointer(pointer: Any, path: str) -> None:
    check.as_text(pointer, path, empty=True)
    if pointer and not pointer.startswith("/"):
        raise check.reject(path, f"must be empty or begin with /, got {pointer!r}"[:200])


__all__ = ["Bind", "Entries", "HasId", "OnFailure", "Options"]
