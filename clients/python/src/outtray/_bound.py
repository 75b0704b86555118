"""Values from earlier answers, in the places where a request uses them."""

from __future__ import annotations

from typing import Dict, Iterable

from ._errors import InvalidError


class BoundValue:
    """One value of `bind`. In a url or header write `f"{bound.name}"`, in data the value itself.

    It is known only when the request is sent: percent-encoded in a url, any JSON value in data, exactly as
    the server wrote it.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __str__(self) -> str:
        return f"{{{self._name}}}"

    def in_data(self) -> Dict[str, str]:
        """What stands for it in JSON."""
        return {"$bind": self._name}


class Bound:
    """What `request` gets as its second argument: `bound.name`, or `bound["name"]`, for each name in `bind`.

    Any other name raises InvalidError.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._values = {name: BoundValue(name) for name in names}

    def __getattr__(self, name: str) -> BoundValue:
        if name.startswith("__"):
            raise AttributeError(name)  # Asked by Python itself, for a copy say.
        return self[name]

    def __getitem__(self, name: str) -> BoundValue:
        if name not in self._values:
            raise InvalidError(f"bind.{name} is missing, and request uses it", f"bind.{name}")
        return self._values[name]


__all__ = ["Bound", "BoundValue"]
