"""Who listens to the events of a queue."""

from __future__ import annotations

import inspect
import threading
from typing import Any, Callable, List, Mapping, Optional, Tuple

from ._errors import InvalidError

EventListener = Callable[[Any], object]
SHOWN = ("state", "progress", "attempt", "group")


class Subscription:
    """What `add_listener` returns."""

    def __init__(self, remove: Callable[[], None]) -> None:
        self._remove: Optional[Callable[[], None]] = remove

    def remove(self) -> None:
        """Ends the listening; a second time does nothing."""
        if self._remove is not None:
            self._remove()
            self._remove = None


class Listeners:
    """The listeners of one client. Every method may be called from any thread."""

    def __init__(self, warn: Callable[[str, object], None]) -> None:
        self._warn = warn
        self._lock = threading.Lock()
        self._all: List[Tuple[str, EventListener, object]] = []

    def add(self, name: str, function: EventListener) -> Subscription:
        if inspect.iscoroutinefunction(function):
            raise InvalidError("add_listener: a listener is a plain function", "listener")
        if name not in SHOWN:
            raise InvalidError(f"add_listener: no event {name!r}; there are {', '.join(SHOWN)}", "event")
        # The third makes the entry its own: a function that is added twice is called twice.
        entry = (name, function, object())
        with self._lock:
            self._all.append(entry)
        return Subscription(lambda: self._forget(entry))

    @property
    def want_any(self) -> bool:
        return bool(self._all)

    def want(self, name: str) -> bool:
        with self._lock:
            return any(wanted == name for wanted, _, _ in self._all)

    def tell(self, name: str, params: Mapping[str, Any]) -> None:
        """Calls those that want the event, each with a dictionary of its own."""
        with self._lock:
            functions = [function for wanted, function, _ in self._all if wanted == name]
        for function in functions:
            try:
                function(dict(params))
            except BaseException as error:
                if (
                    not isinstance(error, Exception)
                    and threading.current_thread() is threading.main_thread()
                ):
                    raise  # An interrupt, or an exit that the loop's program wants.
                self._warn(f"a listener for {name} failed: {error}", error)

    def _forget(self, entry: Tuple[str, EventListener, object]) -> None:
        with self._lock:
            self._all.remove(entry)
