"""Definitions, settings, and what `mutate` makes of them."""

from __future__ import annotations

import inspect
import time
import uuid
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Tuple, Union

from . import _descriptor as check
from ._bound import Bound
from ._errors import InvalidError
from ._json import Text, object_text, text_of
from ._options import Options
from ._outcome import Reading, Settle
from ._protocol import LIFETIME_MS, MAX_INTEGER

MAX_VARS_BYTES = 1_048_576
ENQUEUE_TIMEOUT_MS = 10_000
HeadersProvider = Callable[[], Mapping[str, str]]


class Unset:
    """The default of an option for which None means something else."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET = Unset()


def positional(function: Callable[..., Any]) -> Tuple[int, bool]:
    """How many arguments a function needs by position, and whether it takes any number."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1, False  # A built-in without a signature.
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = sum(one.kind in kinds and one.default is inspect.Parameter.empty for one in parameters)
    return needed, any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in parameters)


def takes_none(function: Callable[..., Any]) -> bool:
    """Whether a function declares no parameter at all."""
    try:
        return not inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


@dataclass(frozen=True)
class Spec:
    """One definition."""

    key: str
    request: Callable[[Any, Bound], Any]
    reading: Reading


class Made(NamedTuple):
    """One enqueue, ready to be sent."""

    id: str
    group: Optional[str]
    params: Text


class NoArgument:
    """A request that takes neither vars nor bound values."""

    def __init__(self, ask: Callable[[], Any]) -> None:
        self._ask = ask

    def __call__(self, vars: Any, bound: Bound) -> Any:
        return self._ask()


class OneArgument:
    """A request that takes no bound values, or a parser that takes no vars."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def __call__(self, first: Any, second: Any) -> Any:
        return self._function(first)


def make_spec(
    key: str,
    request: Callable[..., Any],
    response: Optional[Callable[..., Any]],
    on_success: Optional[Settle],
    on_error: Optional[Settle],
    load_vars: Optional[Callable[[Any], Any]],
) -> Spec:
    check.as_text(key, "key")
    for name, function in (
        ("request", request),
        ("response", response),
        ("on_success", on_success),
        ("on_error", on_error),
        ("load_vars", load_vars),
    ):
        if not callable(function) and (function is not None or name == "request"):
            raise InvalidError(f"define: {name} must be a function, got {type(function).__name__}", name)
    ask: Callable[[Any, Bound], Any] = request
    if takes_none(request):
        ask = NoArgument(request)
    elif positional(request)[0] < 2:
        ask = OneArgument(request)
    parse = response
    if response is not None:
        needed, any_number = positional(response)
        if needed < 2 and not any_number:
            parse = OneArgument(response)
    return Spec(key, ask, Reading(parse, on_success, on_error, load_vars))


@dataclass
class Settings:
    """What `configure` set on this client."""

    # None until this client sets one: then that of the sidecar counts.
    lifetime_ms: Optional[int] = None
    max_vars_bytes: int = MAX_VARS_BYTES
    enqueue_timeout_ms: float = ENQUEUE_TIMEOUT_MS
    headers: Optional[HeadersProvider] = None

    def change(
        self,
        lifetime_ms: Union[int, None, Unset],
        max_vars_bytes: Union[int, Unset],
        enqueue_timeout_ms: Union[float, Unset],
        headers: Union[HeadersProvider, None, Unset],
    ) -> None:
        """Takes the options that are set; InvalidError that names one, and then none is taken."""
        if not isinstance(lifetime_ms, Unset) and lifetime_ms is not None:
            check.as_positive(lifetime_ms, "lifetime_ms")
            check.as_integer(lifetime_ms, "lifetime_ms", 1, MAX_INTEGER)
        if not isinstance(max_vars_bytes, Unset):
            check.as_positive(max_vars_bytes, "max_vars_bytes")
        if not isinstance(enqueue_timeout_ms, Unset):
            check.as_positive(enqueue_timeout_ms, "enqueue_timeout_ms")
        if not isinstance(headers, Unset) and headers is not None and not callable(headers):
            raise InvalidError(f"headers must be a function, got {type(headers).__name__}", "headers")
        if not isinstance(lifetime_ms, Unset):
            self.lifetime_ms = LIFETIME_MS if lifetime_ms is None else lifetime_ms
        if not isinstance(max_vars_bytes, Unset):
            self.max_vars_bytes = max_vars_bytes
        if not isinstance(enqueue_timeout_ms, Unset):
            self.enqueue_timeout_ms = enqueue_timeout_ms
        if not isinstance(headers, Unset):
            self.headers = headers


def wire_settings(options: Mapping[str, Any]) -> List[Tuple[str, Any]]:
    """The members of the wire's `configure`, from options by their wire names."""
    given = [(name, value) for name, value in options.items() if not isinstance(value, Unset)]
    for name, value in given:
        if name == "retry" and value is not None:
            check.check_retry(value, "retry")
    return given


def merged(below: Mapping[str, str], above: Mapping[str, str]) -> Dict[str, str]:
    """Headers of both; of two names that differ only in case the upper one stays, spelling included."""
    taken = {name.lower() for name in above}
    return {**{name: value for name, value in below.items() if name.lower() not in taken}, **above}


def vars_text(vars: Any, limit: int) -> Text:
    """`vars` as JSON text of at most `limit` bytes that is an object, an array or null."""
    if isinstance(vars, (str, bytes, bool, int, float)) or callable(vars):
        raise InvalidError(f"vars must be an object, a list or None, got {type(vars).__name__}", "vars")
    text = text_of(vars, "vars")
    if text[0] not in "{[n":
        raise InvalidError(f"vars must be an object, a list or None, got {type(vars).__name__}", "vars")
    size = len(text.encode("utf-8"))
    if size > limit:
        raise InvalidError(f"vars has {size} bytes as JSON; at most {limit} are allowed", "vars")
    return text


def entry_id(given: Optional[str]) -> str:
    if given is None:
        return str(uuid.uuid4())
    check.as_text(given, "id")
    return given


class Definitions:
    """The definitions of one client, and its settings."""

    def __init__(self, warn: Callable[[str, object], None], now: Callable[[], float] = time.time) -> None:
        self.settings = Settings()
        self._specs: Dict[str, Spec] = {}
        self._warn = warn
        self._now = now

    def add(self, spec: Spec) -> None:
        if spec.key in self._specs:
            self._warn(f"{spec.key} is defined again; the newer definition counts", None)
        self._specs[spec.key] = spec

    def has(self, key: str) -> bool:
        return key in self._specs

    def reading(self, key: str) -> Reading:
        return self._specs[key].reading

    def enqueue(self, key: str, vars: Any, given_id: Optional[str], options: Options) -> Made:
        """The params of one enqueue. Calls `request` once, and the headers provider once."""
        settings = self.settings
        vars_json = vars_text(vars, settings.max_vars_bytes)
        made_id = entry_id(given_id)
        more = options.params()
        request = check.check_descriptor(self._specs[key].request(vars, Bound(options.bind or ())))
        check.check_bound(request, options.bind or ())
        below = check.check_headers(settings.headers(), "headers") if settings.headers else {}
        request["headers"] = merged(below, request.get("headers", {}))
        if settings.lifetime_ms is not None:
            request.setdefault("expiresAt", int(self._now() * 1000) + settings.lifetime_ms)
        what = [("key", key), ("vars", vars_json), ("request", object_text(request.items()))]
        return Made(made_id, options.group, object_text([("id", made_id), *what, *more]))
