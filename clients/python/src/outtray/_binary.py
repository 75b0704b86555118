"""Where the sidecar's executable is, and why it could not be started."""

from __future__ import annotations

import os
import shutil
import struct
from pathlib import Path
from typing import Mapping, Optional, Tuple

from ._errors import StartError

BUNDLED = Path(__file__).resolve().parent / "bin" / "outtray"


def find_binary(option: Optional[str], environment: Mapping[str, str]) -> Tuple[str, str]:
    """The executable, and what named it: the option, OUTTRAY_BINARY, this package, then PATH."""
    if option:
        return option, "the option binary"
    if environment.get("OUTTRAY_BINARY"):
        return environment["OUTTRAY_BINARY"], "OUTTRAY_BINARY"
    if os.access(BUNDLED, os.X_OK):
        return str(BUNDLED), "this package"
    found = shutil.which("outtray", path=environment.get("PATH"))
    if found:
        return found, "PATH"
    raise StartError(
        "E_BINARY_MISSING",
        "no sidecar found: give the option binary, set OUTTRAY_BINARY, install "
        "the wheel that carries it, or put outtray on PATH",
    )


def explain(error: OSError, file: str, source: str) -> StartError:
    """Says what a failed start lacked: the system's error is the same for a file and for its loader."""
    if isinstance(error, FileNotFoundError):
        if not os.path.exists(file):
            return StartError("E_BINARY_MISSING", f"{file} (from {source}) does not exist")
        loader = loader_of(file)
        why = f"{loader} is missing" if loader else "what it needs to run is missing"
        return StartError(
            "E_LOADER_MISSING", f"{file} (from {source}) is there, but {why}: built for another system?"
        )
    return StartError("E_SPAWN", f"cannot run {file} (from {source}): {error.strerror or error}")


def loader_of(file: str) -> Optional[str]:
    """The interpreter that an executable names: of an ELF file its loader, of a script its first line."""
    with open(file, "rb") as binary:
        head = binary.read(1 << 16)
    if head[:2] == b"#!":
        return head[2:].split(b"\n")[0].split()[0].decode("utf-8", "replace")
    if head[:5] != b"\x7fELF\x02" or head[5:6] != b"\x01":
        return None
    offset, size, count = (*struct.unpack_from("<Q", head, 32), *struct.unpack_from("<HH", head, 54))
    for index in range(count):
        kind, _, start, _, _, length = struct.unpack_from("<IIQQQQ", head, offset + index * size)
        if kind == 3:  # PT_INTERP
            return head[start : start + length].rstrip(b"\0").decode("utf-8", "replace")
    return None
