"""The client for asyncio."""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import Future
from typing import (
    Any,
    Callable,
    Dict,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    Type,
    TypeVar,
    Union,
    cast,
    overload,
)

from ._bound import Bound
from ._chunkplan import chunk_plan
from ._definition import UNSET, HeadersProvider, Made, Unset, make_spec, takes_none
from ._descriptor import as_integer
from ._errors import ClosedError
from ._kinds import AsyncBareDefinition, AsyncDefinition
from ._launch import launch_of
from ._listeners import EventListener, Subscription
from ._loop import Loop
from ._options import OnFailure, Options
from ._outcome import Meta, OutcomeError
from ._pipeline import AsyncPipeline
from ._protocol import CHUNK_MAX, CHUNK_MIN, TLS, Bandwidth, Concurrency, Descriptor, Range, Retry, Timeouts
from ._scope import filter_params, patch_params, scope_params
from ._session import Link, Session
from ._shapes import DiagnosticRecord, Enqueued, Gate, GroupExplanation, Response, Row, Stats
from ._uploads import CLOSE_S, HANDLERS_S, GroupHandler, Sink, Uploads

V = TypeVar("V")
T = TypeVar("T")


class AsyncUploadClient:
    """A queue of HTTP requests in a sidecar process, for programs with asyncio; in any event loop of it.

    The options are those of `UploadClient`. Handlers, plain or async, listeners and `on_warning` run in the
    loop of the first call. Use it as an async context manager, or await `close`.
    """

    def __init__(
        self,
        dir: "Union[str, os.PathLike[str], None]" = None,
        *,
        binary: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        background: Union[bool, int] = False,
        keep_awake: bool = False,
        virtual_clock: bool = False,
        on_warning: Optional[Sink] = None,
        sidecar: Optional[Link] = None,
    ) -> None:
        self._link = sidecar or Session(launch_of(dir, binary, env, background, keep_awake, virtual_clock))
        self._shell = Loop()
        self._uploads = Uploads(self._link, self._shell, on_warning)
        self._shell.serve(self._uploads)
        self._closed = False
        self._ended = False

    async def __aenter__(self) -> "AsyncUploadClient":
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: object, trace: object) -> None:
        await self.close()

    @overload
    def define(
        self,
        *,
        key: str,
        request: Callable[[], Descriptor],
        response: None = None,
        on_success: Optional[Callable[[Response, None, Meta], object]] = None,
        on_error: Optional[Callable[[OutcomeError, None, Meta], object]] = None,
    ) -> AsyncBareDefinition: ...

    @overload
    def define(
        self,
        *,
        key: str,
        request: Callable[[], Descriptor],
        response: Union[Callable[[Any], T], Callable[[Any, None], T]],
        on_success: Optional[Callable[[T, None, Meta], object]] = None,
        on_error: Optional[Callable[[OutcomeError, None, Meta], object]] = None,
    ) -> AsyncBareDefinition: ...

    @overload
    def define(
        self,
        *,
        key: str,
        request: Callable[[V], Descriptor],
        response: None = None,
        on_success: Optional[Callable[[Response, V, Meta], object]] = None,
        on_error: Optional[Callable[[OutcomeError, V, Meta], object]] = None,
        load_vars: Optional[Callable[[Any], V]] = None,
    ) -> AsyncDefinition[V]: ...

    @overload
    def define(
        self,
        *,
        key: str,
        request: Callable[[V], Descriptor],
        response: Union[Callable[[Any], T], Callable[[Any, V], T]],
        on_success: Optional[Callable[[T, V, Meta], object]] = None,
        on_error: Optional[Callable[[OutcomeError, V, Meta], object]] = None,
        load_vars: Optional[Callable[[Any], V]] = None,
    ) -> AsyncDefinition[V]: ...

    @overload
    def define(
        self,
        *,
        key: str,
        request: Callable[[V, Bound], Descriptor],
        response: None = None,
        on_success: Optional[Callable[[Response, V, Meta], object]] = None,
        on_error: Optional[Callable[[OutcomeError, V, Meta], object]] = None,
        load_vars: Optional[Callable[[Any], V]] = None,
    ) -> AsyncDefinition[V]: ...

    @overload
    def define(
        self,
        *,
        key: str,
        request: Callable[[V, Bound], Descriptor],
        response: Union[Callable[[Any], T], Callable[[Any, V], T]],
        on_success: Optional[Callable[[T, V, Meta], object]] = None,
        on_error: Optional[Callable[[OutcomeError, V, Meta], object]] = None,
        load_vars: Optional[Callable[[Any], V]] = None,
    ) -> AsyncDefinition[V]: ...

    def define(
        self,
        *,
        key: str,
        request: Callable[..., Any],
        response: Optional[Callable[..., Any]] = None,
        on_success: Optional[Callable[[Any, Any, Meta], object]] = None,
        on_error: Optional[Callable[[Any, Any, Meta], object]] = None,
        load_vars: Optional[Callable[[Any], Any]] = None,
    ) -> Any:
        """As `UploadClient.define`; handlers are plain or async functions, and run in the loop."""
        self._uploads.define(make_spec(key, request, response, on_success, on_error, load_vars))
        return AsyncBareDefinition(self, key) if takes_none(request) else AsyncDefinition[Any](self, key)

    def pipeline(
        self,
        *,
        group: Optional[str] = None,
        lane: Optional[str] = None,
        on_failure: Optional[OnFailure] = None,
        weight: Optional[float] = None,
        deadline_ms: Optional[int] = None,
        group_deadline_ms: Optional[int] = None,
    ) -> AsyncPipeline:
        """As `UploadClient.pipeline`."""
        defaults = Options(None, None, on_failure, lane, group, weight, deadline_ms, group_deadline_ms)
        return AsyncPipeline(self, self._uploads.make, defaults, self._enqueue_all)

    def on_group_settled(self, handler: GroupHandler) -> None:
        """As `UploadClient.on_group_settled`; the handler, plain or async, runs in the loop."""
        self._uploads.on_group_settled(handler)

    async def configure(
        self,
        *,
        headers: Union[HeadersProvider, None, Unset] = UNSET,
        lifetime_ms: Union[int, None, Unset] = UNSET,
        max_vars_bytes: Union[int, Unset] = UNSET,
        enqueue_timeout_ms: Union[float, Unset] = UNSET,
        on_warning: Union[Sink, None, Unset] = UNSET,
        retry: Union[Retry, None, Unset] = UNSET,
        concurrency: Union[Concurrency, None, Unset] = UNSET,
        bandwidth: Union[Bandwidth, None, Unset] = UNSET,
        timeouts: Union[Timeouts, None, Unset] = UNSET,
        tls: Union[TLS, None, Unset] = UNSET,
        proxy: Union[str, None, Unset] = UNSET,
        http2: Union[bool, None, Unset] = UNSET,
    ) -> None:
        """As `UploadClient.configure`."""
        options = {
            "retry": retry,
            "concurrency": concurrency,
            "bandwidth": bandwidth,
            "timeouts": timeouts,
            "tls": tls,
            "proxy": proxy,
            "http2": http2,
        }
        self._enter()
        for answer in self._uploads.configure(
            options, lifetime_ms, max_vars_bytes, enqueue_timeout_ms, headers, on_warning
        ):
            await wrapped(answer)

    async def pause(
        self,
        *,
        keys: Union[Sequence[str], Unset] = UNSET,
        groups: Union[Sequence[str], Unset] = UNSET,
    ) -> None:
        """As `UploadClient.pause`."""
        await self._call("pause", scope_params("pause", keys, groups))

    async def resume(
        self,
        *,
        keys: Union[Sequence[str], Unset] = UNSET,
        groups: Union[Sequence[str], Unset] = UNSET,
    ) -> None:
        """As `UploadClient.resume`."""
        await self._call("resume", scope_params("resume", keys, groups))

    async def cancel(self, id: str) -> None:
        """As `UploadClient.cancel`."""
        await self._call("cancel", [("id", id)])

    async def cancel_group(self, group: str) -> None:
        """As `UploadClient.cancel_group`."""
        await self._call("cancel", [("group", group)])

    async def retry(self, id: str) -> Row:
        """As `UploadClient.retry`."""
        return cast("Row", (await self._call("retry", [("id", id)]))["row"])

    async def set_wifi_only(self, wifi_only: bool) -> None:
        """As `UploadClient.set_wifi_only`."""
        await self._call("setWifiOnly", [("wifiOnly", wifi_only)])

    async def set_network(self, type: str, *, metered: bool = False) -> None:
        """As `UploadClient.set_network`."""
        await self._call("setNetwork", [("type", type), ("metered", metered)])

    async def update_headers(
        self,
        headers: Mapping[str, str],
        *,
        keys: Union[Sequence[str], Unset] = UNSET,
        origin: Optional[str] = None,
    ) -> None:
        """As `UploadClient.update_headers`."""
        await self._call("updateHeaders", patch_params(headers, keys, origin))

    async def get_requests(
        self,
        *,
        key: Optional[str] = None,
        id: Optional[str] = None,
        state: Optional[str] = None,
        group: Optional[str] = None,
    ) -> List[Row]:
        """As `UploadClient.get_requests`."""
        given = filter_params(key, id, state, group)
        rows: List[Row] = []
        cursor: List[Tuple[str, Any]] = []
        while True:
            page: Dict[str, Any] = await self._call("getRequests", [*given, *cursor])
            rows += page["requests"]
            if "nextCursor" not in page:
                return rows
            cursor = [("cursor", page["nextCursor"])]

    async def explain(self, id: str) -> List[Gate]:
        """As `UploadClient.explain`."""
        return cast("List[Gate]", (await self._call("explain", [("id", id)]))["gates"])

    async def explain_group(self, group: str) -> GroupExplanation:
        """As `UploadClient.explain_group`."""
        return cast("GroupExplanation", await self._call("explain", [("group", group)]))

    async def redeliver(self) -> None:
        """As `UploadClient.redeliver`."""
        self._enter()
        await wrapped(self._uploads.redeliver())

    async def take_diagnostics(self) -> List[DiagnosticRecord]:
        """As `UploadClient.take_diagnostics`."""
        return cast("List[DiagnosticRecord]", (await self._call("takeDiagnostics"))["records"])

    async def stats(self) -> Stats:
        """As `UploadClient.stats`."""
        return cast(Stats, await self._call("stats"))

    async def ping(self) -> int:
        """As `UploadClient.ping`."""
        return cast(int, (await self._call("ping"))["now"])

    async def advance_clock(self, ms: int) -> int:
        """As `UploadClient.advance_clock`."""
        as_integer(ms, "ms")
        return cast(int, (await self._call("advanceClock", [("ms", ms)]))["now"])

    def chunk_plan(self, size: int, *, min: int = CHUNK_MIN, max: int = CHUNK_MAX) -> List[Range]:
        """As the function `outtray.chunk_plan`."""
        return chunk_plan(size, min=min, max=max)

    def add_listener(self, event: str, listener: EventListener) -> Subscription:
        """As `UploadClient.add_listener`; listeners are called in the loop."""
        return self._uploads.listen(event, listener)

    async def close(self) -> None:
        """As `UploadClient.close`, without blocking the loop."""
        if self._ended or self._uploads.forked:
            return
        loop = self._shell.enter()
        self._uploads.stop()
        await self._shell.wait_for_handlers(HANDLERS_S)
        self._closed = True
        await loop.run_in_executor(None, self._link.close, CLOSE_S)
        self._shell.stop()
        self._ended = True

    def _enter(self) -> None:
        self._uploads.check_process()
        if self._closed:
            raise ClosedError()
        self._shell.enter()

    async def _call(self, method: str, params: Sequence[Tuple[str, Any]] = ()) -> Any:
        self._enter()
        return await wrapped(self._uploads.call(method, params))

    async def _mutate(self, key: str, vars: Any, given_id: Optional[str], options: Options) -> str:
        self._enter()
        made = self._uploads.make(key, vars, given_id, options)
        await self._accepted([made], self._uploads.enqueue(made))
        return made.id

    async def _enqueue_all(self, entries: Sequence[Made]) -> List[Enqueued]:
        self._enter()
        answer = await self._accepted(entries, self._uploads.enqueue_all(entries))
        return cast("List[Enqueued]", answer["entries"])

    async def _accepted(self, entries: Sequence[Made], answer: "Future[Any]") -> Any:
        try:
            limit = self._uploads.definitions.settings.enqueue_timeout_ms / 1000
            coming = wrapped(answer)
            await asyncio.wait({coming}, timeout=limit)
            if not coming.done():
                self._uploads.warn_late(entries, limit)
            return await coming
        finally:
            self._shell.leave(entries, answer)


def wrapped(answer: "Future[Any]") -> "asyncio.Future[Any]":
    """The answer as a future of the running loop; one that nobody waits for any more is no complaint."""
    future = asyncio.wrap_future(answer)
    future.add_done_callback(lambda done: done.cancelled() or done.exception())
    return future
