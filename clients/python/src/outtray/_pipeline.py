"""Requests that depend on each other, enqueued together."""

from __future__ import annotations

from typing import Any, Awaitable, Callable, Dict, List, Optional, Sequence, TypeVar, overload

from ._definition import Made
from ._errors import InvalidError
from ._kinds import Kind
from ._options import Bind, Entries, OnFailure, Options, check_pointer
from ._protocol import Binding
from ._shapes import Enqueued

V = TypeVar("V")
Make = Callable[[str, Any, Optional[str], Options], Made]


class Step:
    """One request of a pipeline. `id` is that of its entry, also before it is enqueued."""

    def __init__(self, id: str) -> None:
        self.id = id

    def pointer(self, pointer: str) -> Binding:
        """For `bind`: the value at this JSON Pointer (RFC 6901) in its answer's body; "" is all of it."""
        check_pointer(pointer, "pointer")
        return {"entry": self.id, "pointer": pointer}

    def header(self, name: str) -> Binding:
        """For `bind`: this header of its answer, in any case."""
        if not isinstance(name, str) or not name:
            raise InvalidError(f"header: name must be a non-empty text, got {name!r}", "name")
        return {"entry": self.id, "header": name}


class Steps:
    """What the pipelines of both clients share: the steps that were added."""

    def __init__(self, owner: object, make: Make, defaults: Options) -> None:
        defaults.params()  # Whatever is wrong is the call's fault that gave it, not the first step's.
        self._owner = owner
        self._make = make
        self._defaults = defaults
        self._made: Dict[Step, Made] = {}
        self._enqueued = False

    @property
    def steps(self) -> List[Step]:
        """The steps in the order they were added."""
        return list(self._made)

    @overload
    def add(
        self,
        definition: Kind[None],
        vars: None = None,
        *,
        id: Optional[str] = None,
        after: Optional[Entries] = None,
        bind: Optional[Bind] = None,
        on_failure: Optional[OnFailure] = None,
        lane: Optional[str] = None,
        group: Optional[str] = None,
        weight: Optional[float] = None,
        deadline_ms: Optional[int] = None,
        group_deadline_ms: Optional[int] = None,
    ) -> Step: ...

    @overload
    def add(
        self,
        definition: Kind[V],
        vars: V,
        *,
        id: Optional[str] = None,
        after: Optional[Entries] = None,
        bind: Optional[Bind] = None,
        on_failure: Optional[OnFailure] = None,
        lane: Optional[str] = None,
        group: Optional[str] = None,
        weight: Optional[float] = None,
        deadline_ms: Optional[int] = None,
        group_deadline_ms: Optional[int] = None,
    ) -> Step: ...

    def add(
        self,
        definition: Kind[Any],
        vars: Any = None,
        *,
        id: Optional[str] = None,
        after: Optional[Entries] = None,
        bind: Optional[Bind] = None,
        on_failure: Optional[OnFailure] = None,
        lane: Optional[str] = None,
        group: Optional[str] = None,
        weight: Optional[float] = None,
        deadline_ms: Optional[int] = None,
        group_deadline_ms: Optional[int] = None,
    ) -> Step:
        """Adds one request, and returns the step that stands for it. Nothing is sent before `enqueue`.

        The options are those of `mutate`; what is not given is as the pipeline says. `request` runs and is
        checked at once. `after` takes steps and ids, `bind` what `step.pointer` and `step.header` give.

        Raises InvalidError for a definition of another client, an id that another step has, after `enqueue`,
        and for what `mutate` refuses.
        """
        whole: object = definition
        if not isinstance(whole, Kind) or definition.owner is not self._owner:
            why = "pipeline.add: definition must be what define of this client gave"
            raise InvalidError(why, "definition")
        if self._enqueued:
            raise InvalidError("pipeline.add: the pipeline is enqueued; begin another one")
        given = Options(after, bind, on_failure, lane, group, weight, deadline_ms, group_deadline_ms)
        made = self._make(definition.key, vars, id, given.over(self._defaults))
        if any(other.id == made.id for other in self._made.values()):
            raise InvalidError(f"pipeline.add: id is that of another step: {made.id}", "id")
        step = Step(made.id)
        self._made[step] = made
        return step

    def _all(self) -> List[Made]:
        """What is to be sent; no step can be added from then on."""
        if not self._made:
            raise InvalidError("pipeline.enqueue: there is no step")
        self._enqueued = True
        return list(self._made.values())

    def _by_step(self, answers: Sequence[Enqueued]) -> Dict[Step, Enqueued]:
        return dict(zip(self._made, answers))


class Pipeline(Steps):
    """Requests that are enqueued together, all of them or none; made by `UploadClient.pipeline`."""

    def __init__(
        self,
        owner: object,
        make: Make,
        defaults: Options,
        send: Callable[[Sequence[Made]], Sequence[Enqueued]],
    ) -> None:
        super().__init__(owner, make, defaults)
        self._send = send

    def enqueue(self) -> Dict[Step, Enqueued]:
        """Takes all steps into the queue by one call; returns when all are on disk, with what became of each.

        The handlers run afterwards, as for any outcome. The steps keep their ids, so that repeating it is
        always safe, after SidecarExited too.

        Raises InvalidError when there is no step, and what `mutate` raises; `path` begins with `entries[2]`
        for the third of `steps`.
        """
        return self._by_step(self._send(self._all()))


class AsyncPipeline(Steps):
    """Requests that are enqueued together, all of them or none; made by `AsyncUploadClient.pipeline`."""

    def __init__(
        self,
        owner: object,
        make: Make,
        defaults: Options,
        send: Callable[[Sequence[Made]], Awaitable[Sequence[Enqueued]]],
    ) -> None:
        super().__init__(owner, make, defaults)
        self._send = send

    async def enqueue(self) -> Dict[Step, Enqueued]:
        """As `Pipeline.enqueue`. Cancelling the task does not take the requests back."""
        return self._by_step(await self._send(self._all()))


__all__ = ["AsyncPipeline", "Pipeline", "Step"]
