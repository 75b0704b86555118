"""What the entries of the fake wait for: other entries, values from their answers, their turn in a lane."""

from __future__ import annotations

import copy
import json
import re
import urllib.parse
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from ._errors import InvalidError

SETTLED = ("completed", "error", "cancelled")
BOUND = re.compile(r"\{([^{}]*)\}")
Entry = Mapping[str, Any]
Rows = Mapping[str, Mapping[str, Any]]


class NotThere(Exception):
    """An answer does not have what was asked of it."""


@dataclass
class Link:
    """One entry, as it was enqueued, and what it still waits for."""

    entry: Entry
    order: int
    unmet: Set[str]
    values: Dict[str, Any] = field(default_factory=lambda: {})


def named_in(entry: Entry) -> List[Tuple[str, str]]:
    """The entries that an enqueue names, each with the path at which it does."""
    after = [(f"after[{index}]", id) for index, id in enumerate(entry.get("after", ()))]
    return after + [(f"bind.{name}.entry", one["entry"]) for name, one in entry.get("bind", {}).items()]


def predecessors(entry: Entry) -> List[str]:
    return list(dict.fromkeys(id for _, id in named_in(entry)))


class FakeLinks:
    def __init__(self) -> None:
        self._links: Dict[str, Link] = {}
        self._answers: Dict[str, Mapping[str, Any]] = {}
        self._order = 0

    def check(self, entries: Sequence[Entry], places: Sequence[str], rows: Rows) -> None:
        """InvalidError for what cannot be linked, before any of it is taken. A place stands before a path."""
        given = {entry["id"]: entry for entry in entries}
        seen: Set[str] = set()
        for entry, place in zip(entries, places):
            if entry["id"] in seen:
                raise refusal(f"{place}id", "is the id of another entry as well")
            seen.add(entry["id"])
            check_names(entry, place)
            for path, other in named_in(entry):
                if other not in given and other not in rows:
                    raise refusal(f"{place}{path}", "names no entry")
                if other == entry["id"]:
                    raise refusal(f"{place}{path}", "must not name the entry itself")
                if self._reaches(other, entry["id"], given):
                    raise refusal(f"{place}after", f"must not make a circle: {other} waits for it")
            for name, binding in entry.get("bind", {}).items():
                other = binding["entry"]
                completed = rows.get(other, {}).get("state") == "completed"
                if completed and other not in self._answers and name not in self._taken(entry["id"]):
                    raise refusal(f"{place}bind.{name}", "names an entry whose answer was acknowledged")

    def add(self, entry: Entry, rows: Rows) -> Optional[str]:
        """Takes an entry; why it settles at once, if it does."""
        before = self._links.get(entry["id"])
        live = before is not None and rows[entry["id"]]["state"] not in SETTLED
        if before is None or not live:
            self._order += 1
        order = before.order if before is not None and live else self._order
        link = Link(entry, order, set(predecessors(entry)), dict(self._taken(entry["id"])) if live else {})
        self._links[entry["id"]] = link
        whys = [self._ended(link, id, rows[id]["state"]) for id in predecessors(entry)]
        return next((why for why in whys if why), None)

    def reopen(self, id: str) -> None:
        """An entry lives again, at the end of its lane."""
        if id in self._links:
            self._order += 1
            self._links[id].order = self._order

    def settled(self, event: Mapping[str, Any], rows: Rows) -> List[Tuple[str, str]]:
        """An entry has settled; those that end by it, each with the reason."""
        id, state = event["id"], event["state"]
        if state == "completed":
            self._answers[id] = event["response"]
        waiting = [
            link
            for link in self._links.values()
            if id in link.unmet and rows[link.entry["id"]]["state"] not in SETTLED
        ]
        whys = [(link.entry["id"], self._ended(link, id, state)) for link in waiting]
        return [(other, why) for other, why in whys if why]

    def acknowledged(self, id: str) -> None:
        """Nobody can take a value from its answer any more."""
        self._answers.pop(id, None)

    def needs(self, id: str) -> bool:
        """Whether an entry that is there was enqueued to wait for this one (D42)."""
        return any(id in predecessors(link.entry) for link in self._links.values())

    def forget(self, id: str) -> None:
        self._links.pop(id, None)
        self._answers.pop(id, None)

    def gates(self, id: str, rows: Rows) -> List[Dict[str, Any]]:
        link = self._links.get(id)
        if link is None or rows[id]["state"] in SETTLED:
            return []
        gates: List[Dict[str, Any]] = []
        if link.unmet:
            gates.append({"gate": "dependency", "detail": f"waits for {', '.join(sorted(link.unmet))}"})
        lane = link.entry.get("lane")
        for other, row in rows.items():
            ahead = self._links.get(other)
            if lane is None or ahead is None or ahead.order >= link.order or row["state"] in SETTLED:
                continue
            if ahead.entry.get("lane") == lane:
                gates.append({"gate": "lane", "detail": f"{other} is in front of it in the lane {lane}"})
                break
        return gates

    def has(self, id: str) -> bool:
        return id in self._links

    def request_of(self, id: str) -> Dict[str, Any]:
        """The request with the values in their places. KeyError for an unknown id."""
        link = self._links[id]
        request: Dict[str, Any] = copy.deepcopy(dict(link.entry["request"]))
        if not link.entry.get("bind"):
            return request
        values = link.values
        if "url" in request:
            request["url"] = in_url(request["url"], values, request.get("boundOrigin", False))
        for part in request.get("parts", ()):
            part["url"] = in_url(part["url"], values, False)
        for holder in (request, *request.get("parts", ())):
            if "headers" in holder:
                headers = holder["headers"].items()
                holder["headers"] = {name: in_text(text, values) for name, text in headers}
        if "data" in request:
            request["data"] = in_data(request["data"], values)
        return request

    def _taken(self, id: str) -> Mapping[str, Any]:
        return self._links[id].values if id in self._links else {}

    def _reaches(self, start: str, goal: str, given: Mapping[str, Entry]) -> bool:
        """Whether an entry waits for another one, over any number of steps."""
        seen: Set[str] = set()
        waiting = [start]
        while waiting:
            id = waiting.pop()
            if id == goal:
                return True
            if id in seen:
                continue
            seen.add(id)
            waiting += predecessors(given[id]) if id in given else self._unmet(id)
        return False

    def _unmet(self, id: str) -> Set[str]:
        return self._links[id].unmet if id in self._links else set()

    def _ended(self, link: Link, id: str, state: str) -> Optional[str]:
        """One that it waits for stands so; why this entry ends by it, if it does."""
        if state == "completed":
            link.unmet.discard(id)
            return self._take(link, id)
        if state not in SETTLED or link.entry.get("onFailure") != "settle":
            return None
        return f"{id} {'settled with an error' if state == 'error' else 'was cancelled'}"

    def _take(self, link: Link, id: str) -> Optional[str]:
        for name, binding in link.entry.get("bind", {}).items():
            if binding["entry"] != id or (id not in self._answers and name in link.values):
                continue
            try:
                link.values[name] = value_in(self._answers[id], binding)
            except NotThere as missing:
                return f"bind.{name}: the answer of {id} has no {missing}"
        return None


def refusal(path: str, why: str) -> InvalidError:
    return InvalidError(f"enqueue: {path}: {why}", path)


def value_in(answer: Mapping[str, Any], binding: Mapping[str, Any]) -> Any:
    if "header" in binding:
        headers = {name.lower(): text for name, text in answer.get("headers", {}).items()}
        if binding["header"].lower() not in headers:
            raise NotThere(binding["header"])
        return headers[binding["header"].lower()]
    pointer: str = binding["pointer"]
    try:
        value = json.loads(answer.get("body", ""))
        for name in pointer.split("/")[1:]:
            name = name.replace("~1", "/").replace("~0", "~")
            value = value[int(name)] if isinstance(value, list) and name.isdigit() else value[name]
    except (ValueError, LookupError, TypeError):
        raise NotThere(pointer or "JSON") from None
    return value


def text_of_value(value: Any) -> str:
    """How a value stands in a url or a header."""
    return value if isinstance(value, str) else json.dumps(value)


def in_text(text: str, values: Mapping[str, Any]) -> str:
    return BOUND.sub(lambda found: text_of_value(values.get(found[1])), text)


def in_url(url: str, values: Mapping[str, Any], whole: bool) -> str:
    if whole:
        return in_text(url, values)
    encoded = {name: urllib.parse.quote(text_of_value(value), safe="") for name, value in values.items()}
    return in_text(url, encoded)


def in_data(data: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(data, list):
        return [in_data(one, values) for one in data]
    if not isinstance(data, dict):
        return data
    if "$bind" in data:
        return copy.deepcopy(values.get(data["$bind"]))
    return {name: in_data(one, values) for name, one in data.items()}


def check_names(entry: Entry, place: str) -> None:
    """Every name in a request is one that `bind` gives; without `bind` all of it is plain text."""
    if "bind" not in entry:
        return
    request = entry["request"]
    texts = [("url", request.get("url", ""))]
    texts += [(f"headers.{name}", text) for name, text in request.get("headers", {}).items()]
    texts += [(f"parts[{index}].url", part["url"]) for index, part in enumerate(request.get("parts", ()))]
    for path, text in texts:
        for name in BOUND.findall(text):
            if name not in entry["bind"]:
                raise refusal(f"{place}request.{path}", f"holds {{{name}}}, which bind does not name")
    check_data(request.get("data"), entry["bind"], f"{place}request.data")


def check_data(data: Any, bind: Mapping[str, Any], path: str) -> None:
    if isinstance(data, list):
        for index, one in enumerate(data):
            check_data(one, bind, f"{path}[{index}]")
    elif isinstance(data, dict):
        if "$bind" in data and (len(data) > 1 or data["$bind"] not in bind):
            raise refusal(path, "must have $bind alone, with a name of bind")
        for name, one in data.items():
            check_data(one, bind, f"{path}.{name}")
