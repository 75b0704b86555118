"""Events between the reader and the listeners: a listener that never returns costs bounded memory."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any, Callable, Deque, List, Mapping, Tuple

from ._protocol import MERGED_IDS

Event = Tuple[str, Mapping[str, Any]]


class Backlog:
    """Holds at most `limit` events. Beyond that the newest state and progress of an id, and the newest of a
    group, replace older ones; what cannot be merged is lost, and the loss is told: states by reading all
    rows, attempts by a warning."""

    def __init__(self, limit: int = MERGED_IDS) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._events: Deque[Event] = deque()
        self._calls: Deque[Callable[[], None]] = deque()
        self._lost_states = False
        self._lost_attempts = 0

    def push(self, name: str, params: Mapping[str, Any]) -> None:
        with self._lock:
            if len(self._events) < self._limit:
                self._events.append((name, params))
            elif name == "attempt":
                self._lost_attempts += 1
            elif not self._merge(name, params) and name == "state":
                self._lost_states = True

    def call(self, function: Callable[[], None]) -> None:
        """Runs `function` where the listeners run, before what was pushed."""
        with self._lock:
            if len(self._calls) < self._limit:
                self._calls.append(function)

    def take(self) -> Tuple[List[Callable[[], None]], List[Event], bool, int]:
        """Functions to run, events to hand on, whether states were lost, how many attempts were."""
        with self._lock:
            taken = (list(self._calls), list(self._events), self._lost_states, self._lost_attempts)
            self._calls.clear()
            self._events.clear()
            self._lost_states, self._lost_attempts = False, 0
            return taken

    def _merge(self, name: str, params: Mapping[str, Any]) -> bool:
        """Puts the newer value in the place of the last one of the id, or of the group."""
        whose = (params.get("id"), params.get("group"))
        for index in range(len(self._events) - 1, -1, -1):
            held, older = self._events[index]
            if held == name and (older.get("id"), older.get("group")) == whose:
                self._events[index] = (name, params)
                return True
        return False
