"""One sidecar after another: started when a call needs it, and missed when it is gone."""

from __future__ import annotations

import functools
import threading
import time
from collections import deque
from concurrent.futures import Future
from typing import Any, Callable, Deque, List, Optional, Protocol, Tuple

from ._connection import Answer, Connection, Event, Noise
from ._errors import ClosedError, OuttrayError, SidecarExited, error_of
from ._json import Text, object_text
from ._process import Launch, SidecarProcess
from ._protocol import PROTOCOL_VERSION
from ._version import VERSION

# A sidecar that dies at every start must not be started for ever.
MOST_STARTS = 5
STARTS_WITHIN_S = 180.0
SELF = Text(f'{{"name":"outtray-python","version":"{VERSION}"}}')


class Listener(Protocol):
    """What a link tells, on a thread of its own; nothing here may block."""

    def event(self, method: str, params: Any) -> None: ...

    def ended(self, error: SidecarExited) -> None: ...

    def warn(self, message: str, detail: object = None) -> None: ...

    def greetings(self) -> List[Tuple[str, Text]]:
        """Calls that each new sidecar must have first, such as subscribe."""
        ...


class Link(Protocol):
    """The seam between client and sidecar: methods in, events out. The fake of `testing` is one too."""

    def attach(self, listener: Listener) -> None: ...

    def call(self, method: str, params: Text, start: bool = True) -> "Future[Any]":
        """The answer's result, or its error. Without `start` a sidecar that is not there is not started."""
        ...

    def close(self, seconds: float) -> None: ...


class Waiting:
    """One call: what to send again if it must be, and whom to tell."""

    def __init__(self, method: str, params: Text) -> None:
        self.method = method
        self.params = params
        self.future: "Future[Any]" = Future()
        self.future.set_running_or_notify_cancel()
        self.repeated = False

    def fail(self, error: BaseException) -> None:
        self.future.set_exception(error)


class Session:
    """The link to real processes. Safe to use from any thread."""

    def __init__(self, launch: Launch, clock: Callable[[], float] = time.monotonic) -> None:
        self._launch = launch
        self._clock = clock
        self._lock = threading.RLock()
        self._listener: Optional[Listener] = None
        self._process: Optional[SidecarProcess] = None
        self._connection: Connection[Waiting] = Connection()
        self._starts: Deque[float] = deque()
        self._last_exit: Optional[OuttrayError] = None
        self._again: List[Waiting] = []
        self._refusal: Optional[OuttrayError] = None
        self._closed = False

    def attach(self, listener: Listener) -> None:
        self._listener = listener

    def call(self, method: str, params: Text, start: bool = True) -> "Future[Any]":
        waiting = Waiting(method, params)
        with self._lock:
            if self._closed or (self._process is None and not start):
                waiting.fail(ClosedError())
            else:
                self._send(waiting)
        return waiting.future

    def close(self, seconds: float) -> None:
        """Ends the sidecar and reaps it, or lets it go on for others or in the background. Bounded."""
        with self._lock:
            self._closed = True
            process, connection = self._process, self._connection
        if process is None:
            return
        if self._launch.leaves:
            process.leave(seconds)
        else:
            process.close(seconds)
        with self._lock:
            lost = connection.end()
        for _, waiting in lost:
            waiting.fail(ClosedError())

    def _send(self, waiting: Waiting) -> None:
        if self._process is None:
            self._start()
        self._write(waiting)

    def _write(self, waiting: Waiting) -> None:
        try:
            frame = self._connection.call(waiting.method, waiting.params, waiting)
        except OuttrayError as error:
            waiting.fail(error)
            return
        if self._process is not None:
            self._process.write(frame)

    def _start(self) -> None:
        if self._refusal is not None:
            raise self._refusal
        now = self._clock()
        while self._starts and self._starts[0] <= now - STARTS_WITHIN_S:
            self._starts.popleft()
        if len(self._starts) >= MOST_STARTS and self._last_exit is not None:
            raise self._last_exit
        self._starts.append(now)
        connection: Connection[Waiting] = Connection()
        self._process = SidecarProcess(
            self._launch,
            lambda chunk: self._received(connection, chunk),
            lambda error: self._ended(connection, error),
        )
        self._connection = connection
        hello = Waiting(
            "initialize", object_text([("protocolVersion", PROTOCOL_VERSION), ("client", SELF)])
        )
        hello.future.add_done_callback(lambda done: self._greeted(connection, done))
        self._write(hello)
        for method, params in self._listener.greetings() if self._listener else []:
            greeting = Waiting(method, params)
            greeting.future.add_done_callback(functools.partial(self._told, method))
            self._write(greeting)

    def _greeted(self, connection: Connection[Waiting], answer: "Future[Any]") -> None:
        error = answer.exception()
        if error is None:
            connection.max_line = answer.result()["limits"]["maxLine"]
        elif isinstance(error, OuttrayError) and error.code not in ("E_SIDECAR_EXITED", "E_CLOSED"):
            # Of another protocol version: whatever it answers may mean something else.
            with self._lock:
                self._refusal = error
                if self._process is not None:
                    self._process.end_input()
            self._warn(f"the sidecar refuses this client: {error}", error)

    def _told(self, method: str, answer: "Future[Any]") -> None:
        error = answer.exception()
        if error is not None and not isinstance(error, SidecarExited):
            self._warn(f"{method} failed at the start of a sidecar: {error}", error)

    def _warn(self, message: str, detail: object = None) -> None:
        if self._listener is not None and not self._closed:
            self._listener.warn(message, detail)

    def _received(self, connection: Connection[Waiting], chunk: bytes) -> None:
        with self._lock:
            heard = connection.receive(chunk)
        for one in heard:
            if isinstance(one, Event):
                if self._listener is not None:
                    self._listener.event(one.method, one.params)
            elif isinstance(one, Noise):
                self._warn(f"a line from the sidecar was skipped: {one.why}", one.line[:1000])
            else:
                self._settle(one)

    def _settle(self, answer: Answer[Waiting]) -> None:
        waiting = answer.waiter
        if "error" not in answer.message:
            waiting.future.set_result(answer.message["result"])
            return
        error = error_of(answer.method, answer.message["error"])
        with self._lock:
            if error.code == "E_SHUTDOWN" and not waiting.repeated and not self._closed and self._process:
                # Nothing was kept of it, so the next sidecar gets it as soon as this one has left.
                waiting.repeated = True
                self._again.append(waiting)
                self._process.end_input()
                return
        waiting.fail(error)

    def _ended(self, connection: Connection[Waiting], error: SidecarExited) -> None:
        with self._lock:
            self._process = None
            self._last_exit = error
            lost = [waiting for _, waiting in connection.end()]
            again, self._again = self._again, []
            closed = self._closed
        if self._listener is not None:
            self._listener.ended(error)
        if not closed and not again:
            self._warn(f"{error}; the next call starts it again", error)
        for waiting in lost:
            waiting.fail(ClosedError() if closed else error)
        for waiting in again:
            with self._lock:
                try:
                    if self._closed:
                        raise ClosedError()
                    self._send(waiting)
                except OuttrayError as reason:
                    waiting.fail(reason)
