"""What one asks of the queue and does with it, in the synchronous client."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union, cast

from ._chunkplan import chunk_plan
from ._definition import UNSET, Unset
from ._descriptor import as_integer
from ._protocol import CHUNK_MAX, CHUNK_MIN, Range
from ._scope import filter_params, patch_params, scope_params
from ._shapes import DiagnosticRecord, Gate, GroupExplanation, Row, Stats


class Steering:
    """The calls that `UploadClient` takes from here."""

    def _call(self, method: str, params: Sequence[Tuple[str, Any]] = ()) -> Any:
        raise NotImplementedError

    def pause(
        self,
        *,
        keys: Union[Sequence[str], Unset] = UNSET,
        groups: Union[Sequence[str], Unset] = UNSET,
    ) -> None:
        """Holds back the whole queue, or what has one of `keys` or `groups`, present and future."""
        self._call("pause", scope_params("pause", keys, groups))

    def resume(
        self,
        *,
        keys: Union[Sequence[str], Unset] = UNSET,
        groups: Union[Sequence[str], Unset] = UNSET,
    ) -> None:
        """Takes back a pause of the same scope; an entry that the other scope pauses stays paused."""
        self._call("resume", scope_params("resume", keys, groups))

    def cancel(self, id: str) -> None:
        """Settles a live entry as cancelled, and forgets a settled one; an unknown id is no error."""
        self._call("cancel", [("id", id)])

    def cancel_group(self, group: str) -> None:
        """Settles the live members of a group as cancelled; forgets a group that has none (rule D48)."""
        self._call("cancel", [("group", group)])

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
        self._call("updateHeaders", patch_params(headers, keys, origin))

    def get_requests(
        self,
        *,
        key: Optional[str] = None,
        id: Optional[str] = None,
        state: Optional[str] = None,
        group: Optional[str] = None,
    ) -> List[Row]:
        """Every entry not yet forgotten, or those that fit all that is given, in order of creation."""
        given = filter_params(key, id, state, group)
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

    def explain_group(self, group: str) -> GroupExplanation:
        """How a group stands, and what holds back its live members, the first 100 of them."""
        return cast("GroupExplanation", self._call("explain", [("group", group)]))

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
