"""Cutting a file into ranges."""

from __future__ import annotations

from typing import List

from ._errors import InvalidError
from ._protocol import CHUNK_MAX, CHUNK_MIN, MAX_INTEGER, MAX_RANGES, Range


def chunk_plan(size: int, *, min: int = CHUNK_MIN, max: int = CHUNK_MAX) -> List[Range]:
    """Splits `size` bytes into contiguous ranges, ends exclusive: `{"start": 0, "end": 20971520}` and so on.

    Ranges of `max` bytes (20 MiB); a rest smaller than `min` (8 MiB) goes into the range before it. The same
    numbers always give the same plan, so the count you tell a server and the `parts` you send agree.
    A size of 0 is the one range {0, 0} (D9). At most 100 000 ranges.

    Raises InvalidError when `size` is no integer from 0 to 2^53-1, `min` is under 1, or `max` is under `min`.
    """
    for name, value, least in (("size", size, 0), ("min", min, 1), ("max", max, 1)):
        if type(value) is not int or not least <= value <= MAX_INTEGER:
            why = f"chunk_plan: {name} must be an integer from {least} to 2^53-1, got {value!r}"
            raise InvalidError(why, name)
    if max < min:
        raise InvalidError(f"chunk_plan: max ({max}) is smaller than min ({min})", "max")
    full, rest = divmod(size, max)
    if full + 1 > MAX_RANGES:
        raise InvalidError(f"chunk_plan: more than {MAX_RANGES} ranges; raise max", "max")
    ranges: List[Range] = [{"start": index * max, "end": (index + 1) * max} for index in range(full)]
    if rest and rest < min and ranges:
        ranges[-1]["end"] = size
    elif rest or not ranges:
        ranges.append({"start": full * max, "end": size})
    return ranges
