"""Which entries a call is about."""

from __future__ import annotations

from typing import Any, List, Mapping, Optional, Tuple

from . import _descriptor as check
from ._definition import UNSET, Unset
from ._errors import InvalidError


def scope_params(where: str, keys: Any, groups: Any = UNSET) -> List[Tuple[str, Any]]:
    """The params of pause, resume and updateHeaders that say which entries; without any all of them."""
    params: List[Tuple[str, Any]] = []
    for option, given in (("keys", keys), ("groups", groups)):
        if isinstance(given, Unset):
            continue
        try:
            names = check.as_list(given, option)
            for index, name in enumerate(names):
                check.as_text(name, f"{option}[{index}]")
        except InvalidError as error:
            raise InvalidError(f"{where}: {error}", error.path) from None
        params.append((option, names))
    return params


def patch_params(headers: Mapping[str, str], keys: Any, origin: Optional[str]) -> List[Tuple[str, Any]]:
    """The params of updateHeaders."""
    params: List[Tuple[str, Any]] = [("headers", headers), *scope_params("update_headers", keys)]
    return params if origin is None else [*params, ("origin", origin)]


def filter_params(
    key: Optional[str], id: Optional[str], state: Optional[str], group: Optional[str]
) -> List[Tuple[str, Any]]:
    """The params of getRequests that are given."""
    filters = (("key", key), ("id", id), ("state", state), ("group", group))
    return [(name, value) for name, value in filters if value is not None]
