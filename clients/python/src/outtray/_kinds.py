"""What `define` gives back: kinds of requests that can be enqueued."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Optional, TypeVar

from ._options import Bind, Entries, OnFailure, Options

if TYPE_CHECKING:
    from ._asyncio import AsyncUploadClient
    from ._client import UploadClient

V = TypeVar("V")
# The clients' own methods behind these; nobody else may call them.
# pyright: reportPrivateUsage=false


class Kind(Generic[V]):
    """One kind of request, of any client."""

    def __init__(self, client: object, key: str) -> None:
        self.key = key
        self.owner = client


class Definition(Kind[V]):
    """One kind of request, made by `UploadClient.define`."""

    def __init__(self, client: "UploadClient", key: str) -> None:
        super().__init__(client, key)
        self._client = client

    def mutate(
        self,
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
    ) -> str:
        """Enqueues one request and returns its id once entry and body are on disk, whatever the network.

        `vars` is an object, a list or None, at most 1 MiB as JSON unless `configure` says otherwise. A data
        class goes with its fields. `id` makes a repeated call safe; without it a UUID is made.

        - `after` names entries that must have completed before, by ids or by what has one, at most 1,000
          (rule D45). When one of them fails or is cancelled, `on_failure="wait"` (the default) goes on
          waiting, since that one can be enqueued again; `"settle"` ends this one at once, with `dependency`.
        - `bind` takes values from answers of earlier entries, which count as in `after` (rule D46): at most
          64 of `{"name": {"entry": id, "pointer": "/id"}}`, or `"header"` in place of `"pointer"`. `request`
          gets them as its second argument.
        - `lane`: entries of one lane run one at a time, in the order they were accepted (rule D47).
        - `group` names entries that belong together, 1 to 256 bytes (rule D48); `weight`, above 0 to 1e9, is
          what this one counts for in its progress, without it the bytes of its body.
        - `deadline_ms` after its first attempt the entry settles with `expired`; `group_deadline_ms` is the
          same for the group, from the first attempt of any member on (rule D49).

        Raises InvalidError for what cannot be sent, and CallError with the code `E_FILE_MISSING`, `E_RUNNING`
        (same id, other body, and it is running) or `E_STORAGE`. After SidecarExited the same call with the
        same id is safe.
        """
        options = Options(after, bind, on_failure, lane, group, weight, deadline_ms, group_deadline_ms)
        return self._client._mutate(self.key, vars, id, options)


class BareDefinition(Kind[None]):
    """A kind of request whose `request` takes no vars."""

    def __init__(self, client: "UploadClient", key: str) -> None:
        super().__init__(client, key)
        self._client = client

    def mutate(
        self,
        vars: None = None,
        *,
        id: Optional[str] = None,
        after: Optional[Entries] = None,
        on_failure: Optional[OnFailure] = None,
        lane: Optional[str] = None,
        group: Optional[str] = None,
        weight: Optional[float] = None,
        deadline_ms: Optional[int] = None,
        group_deadline_ms: Optional[int] = None,
    ) -> str:
        """As `Definition.mutate`; None is stored as vars."""
        options = Options(after, None, on_failure, lane, group, weight, deadline_ms, group_deadline_ms)
        return self._client._mutate(self.key, vars, id, options)


class AsyncDefinition(Kind[V]):
    """One kind of request, made by `AsyncUploadClient.define`."""

    def __init__(self, client: "AsyncUploadClient", key: str) -> None:
        super().__init__(client, key)
        self._client = client

    async def mutate(
        self,
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
    ) -> str:
        """As `Definition.mutate`. Cancelling the task does not take the request back; `cancel` does."""
        options = Options(after, bind, on_failure, lane, group, weight, deadline_ms, group_deadline_ms)
        return await self._client._mutate(self.key, vars, id, options)


class AsyncBareDefinition(Kind[None]):
    """A kind of request whose `request` takes no vars."""

    def __init__(self, client: "AsyncUploadClient", key: str) -> None:
        super().__init__(client, key)
        self._client = client

    async def mutate(
        self,
        vars: None = None,
        *,
        id: Optional[str] = None,
        after: Optional[Entries] = None,
        on_failure: Optional[OnFailure] = None,
        lane: Optional[str] = None,
        group: Optional[str] = None,
        weight: Optional[float] = None,
        deadline_ms: Optional[int] = None,
        group_deadline_ms: Optional[int] = None,
    ) -> str:
        """As `AsyncDefinition.mutate`; None is stored as vars."""
        options = Options(after, None, on_failure, lane, group, weight, deadline_ms, group_deadline_ms)
        return await self._client._mutate(self.key, vars, id, options)


__all__ = ["AsyncBareDefinition", "AsyncDefinition", "BareDefinition", "Definition", "Kind"]
