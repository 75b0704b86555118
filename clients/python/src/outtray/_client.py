"""The synchronous client."""

from __future__ import annotations

import os
import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import (
    Any,
    Callable,
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
from ._definition import UNSET, HeadersProvider, Made, Unset, make_spec, takes_none
from ._descriptor import as_integer
from ._errors import ClosedError
from ._kinds import BareDefinition, Definition
from ._launch import launch_of
from ._listeners import EventListener, Subscription
from ._options import OnFailure, Options
from ._outcome import Meta, OutcomeError
from ._pipeline import Pipeline
from ._protocol import TLS, Bandwidth, Concurrency, Descriptor, Retry, Timeouts
from ._session import Link, Session
from ._shapes import Enqueued, Response
from ._steering import Steering
from ._threads import Threads
from ._uploads import CLOSE_S, HANDLERS_S, GroupHandler, Sink, Uploads

V = TypeVar("V")
T = TypeVar("T")


class UploadClient(Steering):
    """A queue of HTTP requests in a sidecar process, for programs with threads.

    `dir` is the queue's directory; it is made when missing, its parent must exist. The program is `binary`,
    else OUTTRAY_BINARY, else the one in this package, else `outtray` on PATH; `env` is its whole
    environment. `background` says what it does after `close`, and when this program ends: False stops and
    keeps all, True goes on until nothing is to be sent, a number of seconds goes on at most so long.
    `keep_awake` keeps the machine from going to sleep while requests are sent; where logind does not allow
    it, a diagnostic says so. `virtual_clock` is for tests: the sidecar's clock stands still, and
    `advance_clock` alone moves it. It starts with the first call that needs it, and again, at most 5 times
    in 3 minutes, with the first call after it died.

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
    ) -> Definition[V]: ...

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

        `request(vars)` or `request(vars, bound)` returns the Descriptor; it runs once, at `mutate`. `bound`
        has what `bind` names: write `f"{bound.name}"` in a url or header, `bound.name` in data.
        `response(raw)` or `response(raw, vars)` makes of the answer's JSON what `on_success` gets; else that
        is the Response.
        `on_success(value, vars, meta)` and `on_error(error, vars, meta)` run when the entry has settled,
        maybe in a later run of the program, maybe more than once; plain or async. The outcome is acknowledged
        when they return, and released when they raise. `load_vars` makes of the stored JSON what they get as
        vars.

        A key that is defined again is replaced, with a warning. Raises InvalidError for an empty key and for
        what is no function.
        """
        self._uploads.define(make_spec(key, request, response, on_success, on_error, load_vars))
        return BareDefinition(self, key) if takes_none(request) else Definition[Any](self, key)

    def pipeline(
        self,
        *,
        group: Optional[str] = None,
        lane: Optional[str] = None,
        on_failure: Optional[OnFailure] = None,
        weight: Optional[float] = None,
        deadline_ms: Optional[int] = None,
        group_deadline_ms: Optional[int] = None,
    ) -> Pipeline:
        """Begins a pipeline: requests that depend on each other and are enqueued together.

        The options count for each step that does not say otherwise; they are those of `mutate`. Nothing is
        sent before `enqueue` of what is returned. Raises InvalidError that names the option.
        """
        defaults = Options(None, None, on_failure, lane, group, weight, deadline_ms, group_deadline_ms)
        return Pipeline(self, self._uploads.make, defaults, self._enqueue_all)

    def on_group_settled(self, handler: GroupHandler) -> None:
        """Hears of each group whose members have all settled, also one of an earlier run (rule D48).

        `handler(outcome)` gets a GroupOutcome, which holds no answers. It is delivered like an outcome: one
        at a time for a group and after the handlers of its members, acknowledged when the handler returns,
        released with a warning when it raises, maybe more than once. A group that nobody acknowledges keeps
        its rows. There is one handler; a further one takes its place, with a warning. Call it before
        `configure`: an outcome of a group that comes while there is no handler is acknowledged in silence, so
        that groups can be used without one.
        """
        self._uploads.on_group_settled(handler)

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
        bandwidth: Union[Bandwidth, None, Unset] = UNSET,
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
            "bandwidth": bandwidth,
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

    def redeliver(self) -> None:
        """Brings back the outcomes that were released: their handler failed, or their key was not defined."""
        self._check_open()
        self._uploads.redeliver().result()

    def add_listener(self, event: str, listener: EventListener) -> Subscription:
        """Calls `listener` with each `state` (a Row), `progress` (a Progress), `attempt` (an Attempt) or
        `group` (a GroupStatus, at most one for each group and 250 ms, and the last always).

        A Row with `reason: unhandled-key` shows an outcome whose key has no definition. Listeners are called
        one after the other on a thread of their own; `remove()` of what is returned ends it.
        """
        return self._uploads.listen(event, listener)

    def close(self) -> None:
        """Ends the sidecar; accepted work stays on disk.

        Waits for running handlers at most 5 s, for the process at most 12 s, and leaves none behind, but for
        one that serves other hosts too: it goes on for them without a signal, and this returns 1.5 s after
        it has let this host go. With `background` the sidecar gets no signal: once the calls that were made
        are answered, within about 2 s, this returns and the sidecar goes on alone; one that has nothing to do
        is reaped. A second call does nothing, and neither does one in a child after a fork.
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

    def _mutate(self, key: str, vars: Any, given_id: Optional[str], options: Options) -> str:
        self._check_open()
        made = self._uploads.make(key, vars, given_id, options)
        self._accepted([made], self._uploads.enqueue(made))
        return made.id

    def _enqueue_all(self, entries: Sequence[Made]) -> List[Enqueued]:
        self._check_open()
        answer = self._accepted(entries, self._uploads.enqueue_all(entries))
        return cast("List[Enqueued]", answer["entries"])

    def _accepted(self, entries: Sequence[Made], answer: "Future[Any]") -> Any:
        try:
            limit = self._uploads.definitions.settings.enqueue_timeout_ms / 1000
            limit = min(limit, threading.TIMEOUT_MAX)
            try:
                return answer.result(limit)
            except FutureTimeout:
                if not answer.done():
                    self._uploads.warn_late(entries, limit)
                return answer.result()
        finally:
            self._threads.leave(entries, answer)
