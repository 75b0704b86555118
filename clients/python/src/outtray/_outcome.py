"""From an outcome to the user's handler."""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, List, Mapping, Optional, TypedDict, cast

from . import _shapes as shapes
from ._shapes import SettledCounts


class _Meta(TypedDict):
    id: str
    key: str
    at: int
    attempts: int
    deliveries: int


class Meta(_Meta, total=False):
    """What a handler learns about its outcome.

    `at` is when the entry settled, epoch milliseconds; `attempts` those of this generation; `deliveries` how
    often the outcome was sent to a host, from 1; `requestId` the X-Request-Id of the last attempt; `group`
    that of the entry, when it is in one.
    """

    requestId: str
    group: str


class OutcomeError(shapes.OutcomeError, total=False):
    """Why an entry settled with an error, or why its answer could not be read."""

    partIndex: int  # Index of the part that decided, from 0; only with parts.


class GroupOutcome(TypedDict):
    """How a group ended; the handler of `on_group_settled` gets it. It holds no answers.

    `at` is when the last member settled, epoch milliseconds; `generation` which life of the group this is,
    from 1; `deliveries` how often it was sent to a host; `counts` has its members by how they ended, those of
    earlier lives whose rows have gone too; `failed` the ids of those that ended with an error, the first 100.
    """

    group: str
    at: int
    generation: int
    deliveries: int
    counts: SettledCounts
    failed: List[str]


Settle = Callable[[Any, Any, Meta], object]


class Reading:
    """How one definition reads its outcomes; the callbacks take exactly these arguments."""

    def __init__(
        self,
        response: Optional[Callable[[Any, Any], Any]],
        on_success: Optional[Settle],
        on_error: Optional[Settle],
        load_vars: Optional[Callable[[Any], Any]],
    ) -> None:
        self._response = response
        self._on_success = on_success
        self._on_error = on_error
        self._load_vars = load_vars

    def begin(self, event: Mapping[str, Any]) -> object:
        """Calls the handler that `event` asks for, and returns what it returns: an awaitable may be in it."""
        vars = event.get("vars")
        if self._load_vars is not None and vars is not None:
            vars = self._load_vars(vars)
        meta = meta_of(event)
        if event["kind"] == "error":
            part = {"partIndex": event["partIndex"]} if "partIndex" in event else {}
            return self._failed({**event["error"], **part}, vars, meta)
        response: Dict[str, Any] = event["response"]
        if self._response is None:
            return self._on_success(response, vars, meta) if self._on_success else None
        if response.get("bodyTruncated"):
            message = "the answer is longer than what was kept of it"
            return self._failed(
                {"errorKind": "truncated", "message": message, "response": response}, vars, meta
            )
        try:
            value = self._response(parsed(response), vars)
        except Exception as error:
            failure = {
                "errorKind": "unknown",
                "message": str(error) or type(error).__name__,
                "response": response,
            }
            return self._failed(failure, vars, meta)
        return self._on_success(value, vars, meta) if self._on_success else None

    def _failed(self, error: Mapping[str, Any], vars: Any, meta: Meta) -> object:
        return self._on_error(error, vars, meta) if self._on_error else None


def parsed(response: Mapping[str, Any]) -> Any:
    """The JSON of an answer; None for one without a body."""
    if "bodyBase64" in response:
        raise ValueError("the answer is not JSON: its bytes are no UTF-8")
    body = response.get("body", "")
    try:
        return json.loads(body) if body else None
    except ValueError as error:
        raise ValueError(f"the answer is not JSON: {error}") from None


def meta_of(event: Mapping[str, Any]) -> Meta:
    meta: Meta = {
        "id": event["id"],
        "key": event["key"],
        "at": event.get("at", 0),
        "attempts": event.get("attempts", 0),
        "deliveries": event.get("deliveries", 1),
    }
    if "requestId" in event:
        meta["requestId"] = event["requestId"]
    if "group" in event:
        meta["group"] = event["group"]
    return meta


def group_outcome_of(event: Mapping[str, Any]) -> GroupOutcome:
    outcome = {name: value for name, value in event.items() if name != "eventId"}
    return cast("GroupOutcome", outcome)


__all__ = ["GroupOutcome", "Meta", "OutcomeError", "Reading", "Settle"]
