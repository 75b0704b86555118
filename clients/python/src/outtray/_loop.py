"""Where the asyncio client runs what is the user's."""

from __future__ import annotations

import asyncio
import inspect
from concurrent.futures import Future
from typing import Any, Callable, Mapping, Optional, Sequence, Set

from ._definition import Made
from ._errors import OuttrayError
from ._uploads import Uploads

# Turns between an answer and its handler: enough for a caller that awaits through a task or gather.
TURNS_AFTER_MUTATE = 4


class Loop:
    """The Shell of the asyncio client: everything of the user's runs in the loop of the first call."""

    def __init__(self) -> None:
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._timer: Optional[asyncio.TimerHandle] = None
        self._handlers: Set["asyncio.Task[None]"] = set()
        self._telling = False

    def serve(self, uploads: Uploads) -> None:
        self._uploads = uploads

    def enter(self) -> asyncio.AbstractEventLoop:
        """The running loop, which must be that of the first call."""
        running = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = running
            self.wake()  # What came before there was a loop.
        elif self._loop is not running:
            raise OuttrayError(
                "E_LOOP", "this client belongs to another event loop, that of its first call"
            )
        return running

    def handle(self, event: Mapping[str, Any]) -> None:
        self._in_loop(lambda: self._begin(event))

    def wake(self) -> None:
        if self._loop is not None and not self._telling:
            self._telling = True
            self._in_loop(self._tell)

    def arm(self) -> None:
        self._in_loop(self._tick)

    def leave(
        self, entries: Sequence[Made], answer: "Future[Any]", turns: int = TURNS_AFTER_MUTATE
    ) -> None:
        """The caller of `mutate` is about to go on."""
        if turns:
            self._in_loop(lambda: self.leave(entries, answer, turns - 1))
        else:
            self._uploads.left(entries, answer)

    async def wait_for_handlers(self, seconds: float) -> None:
        others = {task for task in self._handlers if task is not asyncio.current_task()}
        if others:
            await asyncio.wait(others, timeout=seconds)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _in_loop(self, function: Callable[[], None]) -> None:
        if self._loop is None:
            return
        try:
            self._loop.call_soon_threadsafe(function)
        except RuntimeError:
            pass  # The loop is closed: nobody is there to hear, and outcomes come again.

    def _begin(self, event: Mapping[str, Any]) -> None:
        task = asyncio.get_running_loop().create_task(self._run(event))
        self._handlers.add(task)
        task.add_done_callback(self._handlers.discard)

    async def _run(self, event: Mapping[str, Any]) -> None:
        try:
            value = self._uploads.begin(event)
            if inspect.isawaitable(value):
                await value
        except BaseException as error:
            self._uploads.finish(event, error)
            if not isinstance(error, Exception):
                raise
        else:
            self._uploads.finish(event, None)

    def _tell(self) -> None:
        self._telling = False
        self._uploads.tell()

    def _tick(self) -> None:
        self.stop()
        due = self._uploads.tick()
        if due is not None and self._loop is not None:
            self._timer = self._loop.call_later(max(0.0, due - self._uploads.now()), self._tick)
