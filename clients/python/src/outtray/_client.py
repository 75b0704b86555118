"""The synchronous client."""

from __future__ import annotations

import inspect
import os
import threading
from concurrent.futures import TimeoutError as FutureTimeout
from typing import (
    Any,
    Callable,
    Dict,
    Generic,
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

from ._chunkplan import chunk_plan
from ._definition import UNSET, HeadersProvider, Unset, make_spec, scope_params, takes_none
from ._descriptor import as_integer
from ._errors import ClosedError, InvalidError
from ._launch import launch_of
from ._outcome import Meta, OutcomeError
from ._protocol import CHUNK_MAX, CHUNK_MIN, TLS, Concurrency, Descriptor, Range, Retry, Timeouts
from ._session import Link, Session
from ._shapes import DiagnosticRecord, Gate, Response, Row, Stats
from ._threads import Threads
from ._uploads import EventListener, Sink, Subscription, Uploads

V = TypeVar("V")
T = TypeVar("T")
HANDLERS_S = 5.0
CLOSE_S = 7.0


class Definition(Generic[V]):
    """One kind of request, made by `UploadClient.define`."""

    def __init__(self, client: "UploadClient", key: str) -> None:
        self.key = key
        self._client = client

    def mutate(self, vars: V, *, id: Optional[str] = None) -> str:
        """Enqueues one request and returns its id once entry and body are on disk, whatever the network.

        `vars` is an object, a list or None, at most 1 MiB as JSON unless `configure` says otherwise. A data
        class goes with its fields. `id` makes a repeated call safe; without it a UUID is made.

        Raises InvalidError for what cannot be sent, and CallError with the code `E_FILE_MISSING`, `E_RUNNING`
        (same id, other body, and it is running) or `E_STORAGE`. After SidecarExited the same call with the
        same id is safe.
        """
        return self._client._mutate(self.key, vars, id)  # pyright: ignore[reportPrivateUsage]


class BareDefinition:
    """A kind of request whose `request` takes no vars."""

    def __init__(self, client: "UploadClient", key: str) -> None:
        self.key = key
        self._client = client

    def mutate(self, vars: None = None, *, id: Optional[str] = None) -> str:
        """As `Definition.mutate`; None is stored as vars."""
        return self._client._mutate(self.key, vars, id)  # pyright: ignore[reportPrivateUsage]


class UploadClient:
    """A queue of HTTP requests in a sidecar process, for programs with threads.

    `dir` is the queue's directory; it is made when missing, its parent must exist. The program is `binary`,
    else OUTTRAY_BINARY, else the one in this package, else `outtray` on PATH; `env` is its whole environment.
    `background` says what it does when this program ends: False stops and keeps all, True goes on until
    nothing is to be sent, a number of seconds goes on at most so long. `keep_awake` keeps the machine from
    going to sleep while requests are sent; where logind does not allow it, a diagnostic says so.
    `virtual_clock` is for tests: the sidecar's clock stands still, and `advance_clock` alone moves it. It
    starts with the first call that needs it, and again, at most 5 times in 3 minutes, with the first call
    after it died.

    Handlers run on up to `max_handlers` threads, one at a time for an id; listeners and `on_warning` on one
    other thread. Use it as a context manager, or call `close`. Any thread may use it, but no child after a
    fork: ForkedError says so.
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
        max_handlers: int = 4,
        sidecar: Optional[Link] = None,
    ) -> None:
        as_integer(max_handlers, "max_handlers", 1)
        self._link = sidecar or Session(launch_of(dir, binary, env, background, keep_awake, virtual_clock))
        self._threads = Threads(max_handlers)
        self._uploads = Uploads(self._link, self._threads, on_warning)
        self._threads.serve(self._uploads)
        self._closing = threading.Lock()
        self._closed = False
        self._ended = False

    def __enter__(self) -> "UploadClient":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: object, trace: object) -> None:
        self.close()

    @overload
    def define(
        self,
        *,
        key: str,
        request: Callable[[], Descriptor],
        response: None = None,
        on_success: Optional[Callable[[Response, None, Meta], object]] = None,
        on_error: Optional[Callable[[OutcomeError, None, Meta], object]] = None,
    ) -> BareDefinition: ...

    @overload
    def define(
        self,
        *,
        key: str,
        request: Callable[[], Descriptor],
        response: Union[Callable[[Any], T], Callable[[Any, None], T]],
        on_success: Optional[Callable[[T, None, Meta], object]] = None,
        on_error: Optional[Callable[[OutcomeError, None, Meta], object]] = None,
    ) -> BareDefinition: ...

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
    ) -> Definition[V]: ...

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
    ) -> Definition[V]: ...

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
        """Defines one kind of request under `key`, which is stored with every entry; rename it with care.

        `request(vars)` returns the Descriptor; it runs once, at `mutate`. `response(raw)` or
        `response(raw, vars)` makes of the answer's JSON what `on_success` gets; else that is the Response.
        `on_success(value, vars, meta)` and `on_error(error, vars, meta)` run when the entry has settled,
        maybe in a later run of the program, maybe more than once; plain or async. The outcome is acknowledged
        when they return, and released when they raise. `load_vars` makes of the stored JSON what they get as
        vars.

        A key that is defined again is replaced, with a warning. Raises InvalidError for an empty key and for
        what is no function.
        """
        self._uploads.define(make_spec(key, request, response, on_success, on_error, load_vars))
        return BareDefinition(self, key) if takes_none(request) else Definition[Any](self, key)

    def configure(
        self,
        *,
        headers: Union[HeadersProvider, None, Unset] = UNSET,
        lifetime_ms: Union[int, None, Unset] = UNSET,
        max_vars_bytes: Union[int, Unset] = UNSET,
        enqueue_timeout_ms: Union[float, Unset] = UNSET,
        on_warning: Union[Sink, None, Unset] = UNSET,
        retry: Union[Retry, None, Unset] = UNSET,
        concurrency: Union[Concurrency, None, Unset] = UNSET,
        timeouts: Union[Timeouts, None, Unset] = UNSET,
        tls: Union[TLS, None, Unset] = UNSET,
        proxy: Union[str, None, Unset] = UNSET,
        http2: Union[bool, None, Unset] = UNSET,
    ) -> None:
        """Call it once at the start, after every `define`: outcomes that wait are delivered from here on.

        A later call changes what it names and replays nothing. `headers()` is asked at each `mutate` and lies
        under the descriptor's. `lifetime_ms` is the distance of the default expiresAt (14 days),
        `max_vars_bytes` the cap on vars (1 MiB), `enqueue_timeout_ms` when a slow enqueue is warned about
        (10 s), `on_warning(message, detail)` the sink of warnings in place of the logger `outtray`. The
        others are stored by the sidecar for the whole queue; None returns one to its default.

        Raises InvalidError that names the option, StartError when there is no sidecar to start.
        """
        options = {
            "retry": retry,
            "concurrency": concurrency,
            "timeouts": timeouts,
            "tls": tls,
            "proxy": proxy,
            "http2": http2,
        }
        self._check_open()
        for answer in self._uploads.configure(
            options, lifetime_ms, max_vars_bytes, enqueue_timeout_ms, headers, on_warning
        ):
            answer.result()

    def pause(self, *, keys: Union[Sequence[str], Unset] = UNSET) -> None:
        """Holds back the whole queue, or the entries of `keys`, present and future; [] changes nothing."""
        self._call("pause", scope_params("pause", keys))

    def resume(self, *, keys: Union[Sequence[str], Unset] = UNSET) -> None:
        """Takes back a pause of the same scope; an entry that the other scope pauses stays paused."""
        self._call("resume", scope_params("resume", keys))

    def cancel(self, id: str) -> None:
        """Settles a live entry as cancelled, and forgets a settled one; an unknown id is no error."""
        self._call("cancel", [("id", id)])

    def retry(self, id: str) -> Row:
        """Tries an entry now, and gives its row (rule D44).

        Ends its backoff, lets it go once when it waits after 401 or 403, reopens it after an error; what runs
        or is due is left alone, and pauses and Wi-Fi still hold it back. `InvalidError` for an id that is
        unknown, completed or cancelled.
        """
        return cast("Row", self._call("retry", [("id", id)])["row"])

    def set_wifi_only(self, wifi_only: bool) -> None:
        """Whether entries without `wifiOnly` of their own wait for an unmetered network; stored."""
        self._call("setWifiOnly", [("wifiOnly", wifi_only)])

    def set_network(self, type: str, *, metered: bool = False) -> None:
        """Says what the network is: auto, wifi, ethernet, cellular or none; lasts as long as this client."""
        self._call("setNetwork", [("type", type), ("metered", metered)])

    def update_headers(
        self,
        headers: Mapping[str, str],
        *,
        keys: Union[Sequence[str], Unset] = UNSET,
        origin: Optional[str] = None,
    ) -> None:
        """Merges `headers` into entries not yet forgotten and wakes those that wait after 401 or 403.

        `keys` and `origin` limit it to entries of these keys, and of URLs of that origin.
        """
        params: List[Tuple[str, Any]] = [("headers", headers), *scope_params("update_headers", keys)]
        self._call("updateHeaders", params if origin is None else [*params, ("origin", origin)])

    def get_requests(
        self, *, key: Optional[str] = None, id: Optional[str] = None, state: Optional[str] = None
    ) -> List[Row]:
        """Every entry not yet forgotten, or those that fit all that is given, in order of creation."""
        given = [
            (name, value)
            for name, value in (("key", key), ("id", id), ("state", state))
            if value is not None
        ]
        rows: List[Row] = []
        cursor: List[Tuple[str, Any]] = []
        while True:
            page: Dict[str, Any] = self._call("getRequests", [*given, *cursor])
            rows += page["requests"]
            if "nextCursor" not in page:
                return rows
            cursor = [("cursor", page["nextCursor"])]

    def explain(self, id: str) -> List[Gate]:
        """Everything that holds this entry back now."""
        return cast("List[Gate]", self._call("explain", [("id", id)])["gates"])

    def redeliver(self) -> None:
        """Brings back the outcomes that were released: their handler failed, or their key was not defined."""
        self._check_open()
        self._uploads.redeliver().result()

    def take_diagnostics(self) -> List[DiagnosticRecord]:
        """The sidecar's records since the last call, oldest first, and clears them."""
        return cast("List[DiagnosticRecord]", self._call("takeDiagnostics")["records"])

    def stats(self) -> Stats:
        """Counters of the sidecar, and gauges of now."""
        return cast(Stats, self._call("stats"))

    def ping(self) -> int:
        """The sidecar's clock, epoch milliseconds."""
        return cast(int, self._call("ping")["now"])

    def advance_clock(self, ms: int) -> int:
        """With `virtual_clock`: moves the clock by so many milliseconds, and gives it.

        Returns once all that is due by then has begun or settled. CallError `E_METHOD` without the option.
        """
        as_integer(ms, "ms")
        return cast(int, self._call("advanceClock", [("ms", ms)])["now"])

    def chunk_plan(self, size: int, *, min: int = CHUNK_MIN, max: int = CHUNK_MAX) -> List[Range]:
        """As the function `outtray.chunk_plan`."""
        return chunk_plan(size, min=min, max=max)

    def add_listener(self, event: str, listener: EventListener) -> Subscription:
        """Calls `listener` with each `state` (a Row), `progress` (a Progress) or `attempt` (an Attempt).

        A Row with `reason: unhandled-key` shows an outcome whose key has no definition. Listeners are called
        one after the other on a thread of their own; `remove()` of what is returned ends it.
        """
        if inspect.iscoroutinefunction(listener):
            raise InvalidError("add_listener: a listener is a plain function", "listener")
        return self._uploads.listen(event, listener)

    def close(self) -> None:
        """Ends the sidecar; accepted work stays on disk.

        Waits for running handlers at most 5 s, for the process at most 12 s, and leaves none behind but one
        in the background. A second call does nothing, and neither does one in a child after a fork.
        """
        if self._uploads.forked:
            return
        with self._closing:
            if self._ended:
                return
            self._uploads.stop()
            self._threads.wait_for_handlers(HANDLERS_S)
            self._closed = True
            self._link.close(CLOSE_S)
            self._threads.stop()
            self._ended = True

    def _check_open(self) -> None:
        self._uploads.check_process()
        if self._closed:
            raise ClosedError()

    def _call(self, method: str, params: Sequence[Tuple[str, Any]] = ()) -> Any:
        self._check_open()
        return self._uploads.call(method, params).result()

    def _mutate(self, key: str, vars: Any, given_id: Optional[str]) -> str:
        self._check_open()
        entry_id, answer = self._uploads.enqueue(key, vars, given_id)
        try:
            limit = self._uploads.definitions.settings.enqueue_timeout_ms / 1000
            limit = min(limit, threading.TIMEOUT_MAX)
            try:
                answer.result(limit)
            except FutureTimeout:
                if not answer.done():
                    self._uploads.warn(
                        f"enqueue of {entry_id} has no answer after {limit:g} s; still waiting"
                    )
                answer.result()
        finally:
            self._threads.leave(entry_id, answer)
        return entry_id
