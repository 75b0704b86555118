"""Threads of the synchronous client. All are daemons: a handler that never returns must not hold the exit."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections import deque
from concurrent.futures import Future
from typing import Any, Awaitable, Callable, Deque, Mapping, Optional, Sequence, Tuple

from ._definition import Made
from ._uploads import Uploads

# A caller's next lines run before the handler: nothing tells a thread that another has left a function.
AFTER_MUTATE_S = 0.02


class Worker:
    """One thread that calls `work` after each `wake`, and when the time comes that `work` returned."""

    def __init__(self, name: str, work: Callable[[], Optional[float]]) -> None:
        self._name = name
        self._work = work
        self._lock = threading.Lock()
        self._woken = threading.Event()
        self._started = False
        self._stopped = False

    def wake(self) -> None:
        self._woken.set()
        if not self._started:
            with self._lock:
                if not self._started and not self._stopped:
                    self._started = True
                    threading.Thread(target=self._run, name=self._name, daemon=True).start()

    def stop(self) -> None:
        """Ends the thread behind the work that it has."""
        self._stopped = True
        self._woken.set()

    def _run(self) -> None:
        while True:
            self._woken.clear()
            stopped = self._stopped
            due = self._work()
            if stopped:
                return
            self._woken.wait(None if due is None else max(0.0, due - time.monotonic()))


class Pool:
    """Runs jobs in the order they come, at most `limit` at once. Threads are made when they are needed."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._changed = threading.Condition()
        self._jobs: Deque[Callable[[], None]] = deque()
        self._threads = 0
        self._idle = 0
        self._busy = threading.local()
        self._stopped = False

    def submit(self, job: Callable[[], None]) -> None:
        with self._changed:
            self._jobs.append(job)
            if self._idle < len(self._jobs) and self._threads < self._limit:
                self._threads += 1
                threading.Thread(target=self._run, name="outtray-handler", daemon=True).start()
            self._changed.notify()

    @property
    def is_here(self) -> bool:
        """Whether this thread is one of the pool's."""
        return getattr(self._busy, "yes", False)

    def stop(self, seconds: float) -> bool:
        """Ends idle threads and waits for running jobs, but for the caller's own; whether all ended."""
        with self._changed:
            self._stopped = True
            self._jobs.clear()
            self._changed.notify_all()
            mine = 1 if self.is_here else 0
            return self._changed.wait_for(lambda: self._threads <= mine, seconds)

    def _run(self) -> None:
        self._busy.yes = True
        while True:
            with self._changed:
                self._idle += 1
                self._changed.wait_for(lambda: bool(self._jobs) or self._stopped)
                self._idle -= 1
                if not self._jobs:
                    self._threads -= 1
                    self._changed.notify_all()
                    return
                job = self._jobs.popleft()
            job()


class Threads:
    """The Shell of the synchronous client: a pool for handlers, a thread for listeners, one for time."""

    def __init__(self, max_handlers: int) -> None:
        self._pool = Pool(max_handlers)
        self._teller = Worker("outtray-listeners", self._tell)
        self._timer = Worker("outtray-timer", self._tick)
        self._leaving: Deque[Tuple[float, Sequence[Made], "Future[Any]"]] = deque()

    def serve(self, uploads: Uploads) -> None:
        self._uploads = uploads

    def handle(self, event: Mapping[str, Any]) -> None:
        self._pool.submit(lambda: self._run(event))

    def wake(self) -> None:
        self._teller.wake()

    def arm(self) -> None:
        self._timer.wake()

    def leave(self, entries: Sequence[Made], answer: "Future[Any]") -> None:
        """The caller of `mutate` is about to return."""
        self._leaving.append((time.monotonic() + AFTER_MUTATE_S, entries, answer))
        self._timer.wake()

    def wait_for_handlers(self, seconds: float) -> None:
        self._pool.stop(seconds)

    def stop(self) -> None:
        self._timer.stop()
        self._teller.stop()

    def _run(self, event: Mapping[str, Any]) -> None:
        try:
            value = self._uploads.begin(event)
            if inspect.isawaitable(value):
                asyncio.run(awaited(value))
        except BaseException as error:
            self._uploads.finish(event, error)
        else:
            self._uploads.finish(event, None)

    def _tell(self) -> Optional[float]:
        self._uploads.tell()
        return None

    def _tick(self) -> Optional[float]:
        now = time.monotonic()
        while self._leaving and self._leaving[0][0] <= now:
            _, entries, answer = self._leaving.popleft()
            self._uploads.left(entries, answer)
        due = self._uploads.tick()
        leaving = self._leaving[0][0] if self._leaving else None
        return min((one for one in (due, leaving) if one is not None), default=None)


async def awaited(value: "Awaitable[Any]") -> None:
    await value
