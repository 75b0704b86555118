"""Frames: calls to bytes, bytes to answers and events. No I/O, so that any cut of the stream can be tried."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Dict, Generic, List, Tuple, TypeVar, Union, cast

from ._errors import OuttrayError
from ._json import Text
from ._protocol import MAX_LINE

Waiter = TypeVar("Waiter")


@dataclass(frozen=True)
class Answer(Generic[Waiter]):
    """A call came to an end: its waiter, its method, and the message with `result` or `error`."""

    waiter: Waiter
    id: int
    method: str
    message: Dict[str, Any]


@dataclass(frozen=True)
class Event:
    """A notification, of a known name or not."""

    method: str
    params: Any


@dataclass(frozen=True)
class Noise:
    """A line that is no message for this client."""

    line: bytes
    why: str


class Connection(Generic[Waiter]):
    """One stream in each direction. A waiter is whatever the caller wants back with the answer."""

    def __init__(self) -> None:
        # The sidecar's own limit comes with the answer to initialize.
        self.max_line = MAX_LINE
        self._waiting: Dict[int, Tuple[str, Waiter]] = {}
        self._next_id = 1
        self._pieces: List[bytes] = []

    def call(self, method: str, params: Text, waiter: Waiter) -> bytes:
        """The frame of a new call. Raises OuttrayError `E_LINE_TOO_LONG`; then no answer is expected."""
        call_id = self._next_id
        head = f'{{"jsonrpc":"2.0","id":{call_id},"method":"{method}","params":'
        frame = f"{head}{params}}}\n".encode("utf-8")
        if len(frame) - 1 > self.max_line:
            raise OuttrayError(
                "E_LINE_TOO_LONG",
                f"{method}: a line of {len(frame) - 1} bytes; the sidecar reads at most {self.max_line}",
            )
        self._next_id += 1
        self._waiting[call_id] = (method, waiter)
        return frame

    def receive(self, chunk: bytes) -> List[Union[Answer[Waiter], Event, Noise]]:
        """What the next bytes of the stream complete, in order."""
        first, *others = chunk.split(b"\n")
        # Pieces are joined once, at their LF: joining at each chunk costs the square of a line's length.
        self._pieces.append(first)
        if not others:
            return []
        lines = [b"".join(self._pieces), *others[:-1]]
        self._pieces = [others[-1]]
        return [self._read(line) for line in lines if line.strip(b" \t\r")]

    def end(self) -> List[Tuple[str, Waiter]]:
        """The calls that no answer came for; the connection is over."""
        waiting = list(self._waiting.values())
        self._waiting = {}
        return waiting

    def _read(self, line: bytes) -> Union[Answer[Waiter], Event, Noise]:
        try:
            message = json.loads(line.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            return Noise(line, "not UTF-8" if isinstance(error, UnicodeDecodeError) else "not JSON")
        if not isinstance(message, dict):
            return Noise(line, "not an object")
        frame = cast("Dict[str, Any]", message)
        method, call_id = frame.get("method"), frame.get("id")
        if isinstance(method, str):
            return Event(method, frame.get("params", {}))
        if "result" not in frame and "error" not in frame:
            return Noise(line, "neither an answer nor an event")
        # type() and not isinstance(): True is an int and would be call 1.
        if type(call_id) is not int or call_id not in self._waiting:
            return Noise(line, "answers no call of ours")
        called, waiter = self._waiting.pop(call_id)
        return Answer(waiter, call_id, called, frame)
