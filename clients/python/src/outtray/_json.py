"""JSON text for the wire, made once and sent as it is."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Iterable, Mapping, Tuple, cast

from ._bound import BoundValue
from ._errors import InvalidError


class Text(str):
    """Text that is JSON already, to be put into a frame without another look."""


def _fields(value: Any) -> Any:
    """What stands for a value that json does not know: the fields of a data class, or a bound name."""
    if isinstance(value, BoundValue):
        return value.in_data()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, Any]", value))
    raise TypeError(f"an object of type {type(value).__name__}")


def text_of(value: Any, what: str) -> Text:
    """`value` as JSON text; InvalidError that names `what` when there is none for it."""
    try:
        text = json.dumps(
            value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_fields
        )
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidError(
            f"{what} is not JSON-serializable: it holds half of a surrogate pair", what
        ) from None
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidError(f"{what} is not JSON-serializable: {error}", what) from error
    return Text(text)


def list_text(items: Iterable[Text]) -> Text:
    """A JSON array of texts that go in as they stand."""
    return Text("[" + ",".join(items) + "]")


def object_text(members: Iterable[Tuple[str, Any]]) -> Text:
    """A JSON object; a member that is Text goes in as it stands."""
    texts = [
        f"{json.dumps(name)}:{value if isinstance(value, Text) else text_of(value, name)}"
        for name, value in members
    ]
    return Text("{" + ",".join(texts) + "}")
