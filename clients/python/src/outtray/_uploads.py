"""What both clients share. Never blocks; calls no code of the user but `request` and the headers provider.

A client brings what differs, its `Shell`: where handlers run, and where listeners and warnings are called.
"""

from __future__ import annotations

import functools
import logging
import os
import threading
import time
from concurrent.futures import Future
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    List,
    Mapping,
    Optional,
    Protocol,
    Sequence,
    Tuple,
    Union,
    cast,
)

from . import _definition as definition
from ._backlog import Backlog
from ._definition import Definitions, HeadersProvider, Made, Spec, Unset
from ._delivery import Acknowledge, Delivery, Handle, Order, Show, Warn, is_of_group
from ._errors import ForkedError, InvalidError, OuttrayError, SidecarExited
from ._json import Text, list_text, object_text
from ._listeners import SHOWN, EventListener, Listeners, Subscription
from ._options import Options
from ._outcome import GroupOutcome, group_outcome_of
from ._session import Link

Sink = Callable[[str, object], None]
GroupHandler = Callable[[GroupOutcome], object]
GONE = ("E_CLOSED", "E_SIDECAR_EXITED")
# Of each subscription, since a later one would bring back what was released. Others are asked for when
# somebody wants them: they cost the sidecar work.
ALWAYS = ("state", "progress", "attempt", "settled", "groupSettled")
SUBSCRIBE_AGAIN_S = (1.0, 60.0)
# How long close waits for handlers, and for the process before it sends a signal.
HANDLERS_S = 5.0
CLOSE_S = 7.0
log = logging.getLogger("outtray")


class Shell(Protocol):
    """What a client does in its own way."""

    def handle(self, event: Mapping[str, Any]) -> None:
        """Runs `Uploads.begin(event)` and what it returns, then `Uploads.finish`."""

    def wake(self) -> None:
        """Makes `Uploads.tell` be called soon, where user code may run."""

    def arm(self) -> None:
        """Makes `Uploads.tick` be called soon."""


class Uploads:
    """The state of one client. Every method may be called from any thread."""

    def __init__(
        self,
        link: Link,
        shell: Shell,
        on_warning: Optional[Sink],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.definitions = Definitions(self.warn)
        self._link = link
        self._shell = shell
        self._sink = on_warning
        self._clock = clock
        self._lock = threading.RLock()
        self._delivery = Delivery(self.definitions.has, clock)
        self._backlog = Backlog()
        self._listeners = Listeners(self._give_warning)
        self._group_handler: Optional[GroupHandler] = None
        self._more_events: Tuple[str, ...] = ()
        self._configured = False
        self._pid = os.getpid()
        self._network: Optional[Text] = None
        self._subscribe_at: Optional[float] = None
        self._subscribe_wait = SUBSCRIBE_AGAIN_S[0]
        link.attach(self)

    # The link's listener, on the link's thread.

    def event(self, method: str, params: Any) -> None:
        if method == "settled":
            self._carry_out(lambda: self._delivery.settled(params))
        elif method == "groupSettled":
            self._carry_out(lambda: self._delivery.group_settled(params))
        elif method == "resync":
            self._walk(None)
        elif method in SHOWN and isinstance(params, dict):
            self._show(method, cast("Mapping[str, Any]", params))

    def ended(self, error: SidecarExited) -> None:
        with self._lock:
            self._delivery.disconnected()

    def warn(self, message: str, detail: object = None) -> None:
        self._backlog.call(lambda: self._give_warning(message, detail))
        self._shell.wake()

    def greetings(self) -> List[Tuple[str, Text]]:
        calls = [] if self._network is None else [("setNetwork", self._network)]
        return calls + ([("subscribe", subscription(self._more_events))] if self._configured else [])

    # For the clients.

    def check_process(self) -> None:
        """ForkedError in a child; before any lock, which another thread may have held at the fork."""
        if self.forked:
            raise ForkedError(self._pid, os.getpid())

    @property
    def forked(self) -> bool:
        """Whether this process is a child of the one that made the client."""
        return os.getpid() != self._pid

    def define(self, spec: Spec) -> None:
        with self._lock:
            self.definitions.add(spec)

    def on_group_settled(self, handler: GroupHandler) -> None:
        if not callable(handler):
            why = f"on_group_settled: handler must be a function, got {type(handler).__name__}"
            raise InvalidError(why, "handler")
        if self._group_handler is not None:
            self.warn("on_group_settled was called again; the newer handler counts")
        with self._lock:
            self._group_handler = handler
            self._delivery.takes_groups = True

    def make(self, key: str, vars: Any, given_id: Optional[str], options: Options) -> Made:
        return self.definitions.enqueue(key, vars, given_id, options)

    def enqueue(self, made: Made) -> "Future[Any]":
        """Sends one enqueue; `left` must follow when its caller has the answer or has gone."""
        return self._enqueue("enqueue", made.params, [made])

    def enqueue_all(self, entries: Sequence[Made]) -> "Future[Any]":
        """The same for many, which are taken together."""
        params = object_text([("entries", list_text(one.params for one in entries))])
        return self._enqueue("enqueueAll", params, entries)

    def left(self, entries: Sequence[Made], answer: "Future[Any]") -> None:
        """The caller of `enqueue` is about to have the answer, or gave up waiting for it."""
        answer.add_done_callback(lambda _: self._mutates_ended(entries))

    def warn_late(self, entries: Sequence[Made], seconds: float) -> None:
        what = entries[0].id if len(entries) == 1 else f"{len(entries)} steps"
        self.warn(f"enqueue of {what} has no answer after {seconds:g} s; still waiting")

    def call(self, method: str, params: Iterable[Tuple[str, Any]] = ()) -> "Future[Any]":
        text = object_text(params)
        answer = self._link.call(method, text)
        if method == "setNetwork":
            # An override lasts as long as its connection, so a new sidecar is told again.
            self._network = text
        return answer

    def configure(
        self,
        options: Mapping[str, Any],
        lifetime_ms: Union[int, None, Unset],
        max_vars_bytes: Union[int, Unset],
        enqueue_timeout_ms: Union[float, Unset],
        headers: Union[HeadersProvider, None, Unset],
        on_warning: Union[Sink, None, Unset],
    ) -> List["Future[Any]"]:
        """Takes the settings; the answers to wait for."""
        wire = definition.wire_settings({"lifetimeMs": lifetime_ms, **options})
        self.definitions.settings.change(lifetime_ms, max_vars_bytes, enqueue_timeout_ms, headers)
        if not isinstance(on_warning, Unset):
            self._sink = on_warning
        answers = [self._link.call("configure", object_text(wire))] if wire else []
        return answers if self._configured else answers + [self.subscribe()]

    def redeliver(self) -> "Future[Any]":
        if not self._configured:
            raise OuttrayError("E_NOT_CONFIGURED", "redeliver: call configure() first")
        return self.subscribe()

    def subscribe(self) -> "Future[Any]":
        """Subscribes, for the first time or for what was released; tries again by itself when refused."""
        answer = self._link.call("subscribe", subscription(self._more_events))
        self._configured = True
        done: "Future[Any]" = Future()

        def answered(answer: "Future[Any]") -> None:
            error = answer.exception()
            if error is None:
                self._subscribe_wait = SUBSCRIBE_AGAIN_S[0]
            elif not isinstance(error, SidecarExited):
                self._subscribe_at = self._clock() + self._subscribe_wait
                self._subscribe_wait = min(2 * self._subscribe_wait, SUBSCRIBE_AGAIN_S[1])
                self._shell.arm()
                self.warn(f"outcomes cannot be read: {error}; trying again", error)
            done.set_result(None)

        answer.add_done_callback(answered)
        return done

    def _subscribe_again(self) -> None:
        try:
            self.subscribe()
        except OuttrayError as error:
            self.warn(f"outcomes cannot be read: {error}", error)

    def listen(self, name: str, function: EventListener) -> Subscription:
        subscription = self._listeners.add(name, function)
        if name not in ALWAYS:
            self._include(name)
        return subscription

    def begin(self, event: Mapping[str, Any]) -> object:
        """Calls the handler; what it returns may have to be awaited."""
        if is_of_group(event):
            handler = self._group_handler
            return None if handler is None else handler(group_outcome_of(event))
        return self.definitions.reading(event["key"]).begin(event)

    def finish(self, event: Mapping[str, Any], error: Optional[BaseException]) -> None:
        delivery = self._delivery
        self._carry_out(lambda: delivery.handled(event) if error is None else delivery.failed(event, error))

    def tick(self) -> Optional[float]:
        """Does what is due; when the next tick is due, by the clock."""
        self._carry_out(self._delivery.slow)
        if self._subscribe_at is not None and self._subscribe_at <= self._clock():
            self._subscribe_at = None
            self._subscribe_again()
        with self._lock:
            dues = [self._delivery.slow_at, self._subscribe_at]
        return min((due for due in dues if due is not None), default=None)

    def tell(self) -> None:
        """Calls listeners and the warning sink about all that came."""
        calls, events, lost_states, lost_attempts = self._backlog.take()
        for function in calls:
            function()
        for name, params in events:
            self._listeners.tell(name, params)
        if lost_attempts:
            self.warn(f"{lost_attempts} attempt events were lost to slow listeners")
        if lost_states:
            self._walk(None)

    def now(self) -> float:
        """The clock that dues are told by."""
        return self._clock()

    def stop(self) -> None:
        """No handler begins any more."""
        with self._lock:
            self._delivery.stop()

    @property
    def running(self) -> int:
        with self._lock:
            return self._delivery.running

    def _include(self, event: str) -> None:
        """Asks for an event that is not part of every subscription."""
        with self._lock:
            if event in self._more_events:
                return
            self._more_events += (event,)
            late = self._configured
        if late:
            self._subscribe_again()

    def _enqueue(self, method: str, params: Text, entries: Sequence[Made]) -> "Future[Any]":
        with self._lock:
            for one in entries:
                self._delivery.mutate_began(one.id, one.group)
        try:
            return self._link.call(method, params)
        except BaseException:
            self._mutates_ended(entries)
            raise

    def _mutates_ended(self, entries: Sequence[Made]) -> None:
        for one in entries:
            self._carry_out(functools.partial(self._delivery.mutate_ended, one.id, one.group))

    def _carry_out(self, decide: Callable[[], List[Order]]) -> None:
        with self._lock:
            orders = decide()
        for order in orders:
            if isinstance(order, Handle):
                self._shell.handle(order.event)
                self._shell.arm()  # A handler that may become slow is watched.
            elif isinstance(order, Warn):
                self.warn(order.message, order.detail)
            elif isinstance(order, Show):
                self._show("state", order.row)
            elif isinstance(order, Acknowledge):
                self._report("ackEvents", order.event_id)
            else:
                self._report("releaseEvents", order.event_id)

    def _report(self, method: str, event_id: str) -> None:
        def answered(answer: "Future[Any]") -> None:
            error = answer.exception()
            if error is not None and getattr(error, "code", "") not in GONE:
                self.warn(f"{method} failed for {event_id}: {error}", error)

        params = object_text([("eventIds", [event_id])])
        # Nobody is there to be told: the outcome comes again from the next sidecar, and is answered then.
        self._link.call(method, params, start=False).add_done_callback(answered)

    def _walk(self, cursor: Optional[str]) -> None:
        """Rows in place of the state events that were lost."""
        if not self._listeners.want("state"):
            return

        def answered(answer: "Future[Any]") -> None:
            error = answer.exception()
            if error is not None:
                if getattr(error, "code", "") not in GONE:
                    self.warn(f"state events were lost and the rows cannot be read: {error}", error)
                return
            page: Dict[str, Any] = answer.result()
            for row in page["requests"]:
                self._show("state", row)
            if "nextCursor" in page:
                self._walk(page["nextCursor"])

        params = object_text([] if cursor is None else [("cursor", cursor)])
        self._link.call("getRequests", params, start=False).add_done_callback(answered)

    def _show(self, name: str, params: Mapping[str, Any]) -> None:
        if self._listeners.want_any:
            self._backlog.push(name, params)
            self._shell.wake()

    def _give_warning(self, message: str, detail: object) -> None:
        try:
            if self._sink is not None:
                self._sink(message, detail)
                return
        except Exception as error:
            log.warning("on_warning failed: %s", error, exc_info=error)
        log.warning("%s", message)


def subscription(more: Sequence[str] = ()) -> Text:
    """The params of subscribe."""
    return object_text([("events", [*ALWAYS, *more])])
