"""What can go wrong. Programs switch on `code`."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, cast


class OuttrayError(Exception):
    """Any failure of this package.

    `code` is the sidecar's `data.code` (`E_RUNNING`, `E_FILE_MISSING`, `E_STORAGE`, ...) or one of the
    client's own. The message names the field in question, never a header value, a query string or body bytes.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class InvalidError(OuttrayError, ValueError):
    """Input that was refused before it was sent, or by the sidecar (`E_INVALID`); nothing changed.

    `path` says where, such as `request.headers.Host`; it is None when the input has no parts.
    """

    def __init__(self, message: str, path: Optional[str] = None) -> None:
        super().__init__("E_INVALID", message)
        self.path = path


class CallError(OuttrayError):
    """The sidecar answered a call with an error.

    `method` is the method of the wire, `number` the JSON-RPC code, `data` the error's data as it came.
    """

    def __init__(self, method: str, number: int, message: str, data: Mapping[str, Any]) -> None:
        super().__init__(str(data.get("code", "E_UNKNOWN")), f"{method}: {message}")
        self.method = method
        self.number = number
        self.data: Dict[str, Any] = dict(data)
        self.path: Optional[str] = data.get("path")


class SidecarExited(OuttrayError):
    """The sidecar was gone before it answered (`E_SIDECAR_EXITED`).

    Accepted work is on disk. A `mutate` may be repeated under the same id; the next call starts a sidecar.
    `status` is the exit status or None, `signal` its number or None, `stderr` the last 64 KiB of it. Both are
    None when the process goes on for other hosts, and has let this one go.
    """

    def __init__(self, status: Optional[int], signal: Optional[int], stderr: str) -> None:
        how = f"was ended by signal {signal}" if signal else f"exited with status {status}"
        if status is None and not signal:
            how = "has let this host go"
        last = stderr.rstrip().rsplit("\n", 1)[-1]
        super().__init__("E_SIDECAR_EXITED", f"the sidecar {how}" + (f": {last}" if last else ""))
        self.status = status
        self.signal = signal
        self.stderr = stderr


class StartError(OuttrayError):
    """The sidecar could not be started; the message says what is missing and who named it.

    `code` is `E_BINARY_MISSING`, `E_DIR_UNUSABLE`, `E_LOADER_MISSING` (the file is there, but built for
    another system) or `E_SPAWN`.
    """


class ClosedError(OuttrayError):
    """The client is closed (`E_CLOSED`)."""

    def __init__(self) -> None:
        super().__init__("E_CLOSED", "this client is closed")


class ForkedError(OuttrayError):
    """The client was made before a fork and is used in the child (`E_FORKED`).

    The pipes to the sidecar belong to the parent. Make a client after the fork.
    """

    def __init__(self, made_in: int, used_in: int) -> None:
        super().__init__(
            "E_FORKED",
            f"this client was made in process {made_in} and is used after a fork, "
            f"in process {used_in}: the sidecar's pipes are the parent's; make a client here",
        )


def error_of(method: str, error: Mapping[str, Any]) -> OuttrayError:
    """The exception for the `error` member of an answer."""
    data = error.get("data")
    known = cast("Mapping[str, Any]", data if isinstance(data, dict) else {})
    number, message = error.get("code", 0), str(error.get("message", ""))
    if known.get("code") == "E_INVALID":
        return InvalidError(f"{method}: {message}", known.get("path"))
    return CallError(method, number, message, known)
