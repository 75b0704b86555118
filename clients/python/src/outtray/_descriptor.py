"""What a request may look like, checked before anything is sent."""

from __future__ import annotations

import math
import os
import urllib.parse
from typing import Any, Collection, Dict, List, Mapping, Optional, Sequence, cast

from ._errors import InvalidError
from ._protocol import MAX_INTEGER, MEMBERS

METHODS = ("POST", "PUT", "PATCH", "DELETE", "GET")
BODIES = ("data", "form", "file")
NEVER_TRANSIENT = (401, 403, 408, 429)


def distance(left: str, right: str) -> int:
    """How many letters must change, come or go to make one word of the other."""
    row = list(range(len(right) + 1))
    for index, letter in enumerate(left, 1):
        before, row[0] = row[0], index
        for column, other in enumerate(right, 1):
            changed = before + (letter != other)
            before, row[column] = row[column], min(row[column] + 1, row[column - 1] + 1, changed)
    return row[-1]


def nearest(name: str, known: Sequence[str]) -> Optional[str]:
    """The known name that `name` was probably meant to be."""
    away, best = min((distance(name.lower(), one.lower()), one) for one in known)
    return best if away <= 2 else None


def reject(path: str, why: str) -> InvalidError:
    return InvalidError(f"{path} {why}", path)


def as_object(value: Any, path: str, known: Optional[Sequence[str]] = None) -> Dict[str, Any]:
    """`value` if it is a mapping with text keys, and only those in `known`."""
    whole = value
    if not isinstance(whole, Mapping):
        raise reject(path, f"must be an object, got {type(cast(object, value)).__name__}")
    members: Dict[Any, Any] = dict(value)
    for name in members:
        if not isinstance(name, str):
            raise reject(path, f"has a member whose name is no text: {name!r}")
        if known is not None and name not in known:
            meant = nearest(name, known)
            hint = f"; did you mean {meant}?" if meant else ""
            raise InvalidError(f"{path}: unknown field {name}{hint}", f"{path}.{name}")
    return cast("Dict[str, Any]", members)


def as_list(value: Any, path: str) -> List[Any]:
    whole = value
    if isinstance(whole, (str, bytes)) or not isinstance(whole, Sequence):
        raise reject(path, f"must be a list, got {type(cast(object, value)).__name__}")
    items: List[Any] = list(value)
    return items


def as_text(value: Any, path: str, empty: bool = False) -> None:
    if not isinstance(value, str) or not (value or empty):
        raise reject(path, f"must be a {'' if empty else 'non-empty '}text, got {value!r}"[:200])


def as_integer(value: Any, path: str, least: int = 0, most: Optional[int] = None) -> None:
    if type(value) is not int or value < least or (most is not None and value > most):
        limits = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise reject(path, f"must be an integer {limits}, got {value!r}")


def as_positive(value: Any, path: str) -> None:
    """A finite number above 0."""
    number = value if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan
    if not math.isfinite(number) or number <= 0:
        raise reject(path, f"must be a finite number above 0, got {value!r}")


def as_path(value: Any, path: str) -> str:
    """A path as the wire takes it; a name that is no UTF-8 becomes a file:// URL, which can hold any byte."""
    if isinstance(value, os.PathLike):
        value = os.fspath(cast("os.PathLike[str]", value))
    as_text(value, path)
    try:
        cast(str, value).encode("utf-8")
    except UnicodeEncodeError:
        return "file://" + urllib.parse.quote(os.fsencode(value))
    return cast(str, value)


def check_headers(value: Any, path: str) -> Dict[str, str]:
    headers = as_object(value, path)
    for name, text in headers.items():
        if not isinstance(text, str):
            raise reject(f"{path}.{name}", f"must be a text, got {type(text).__name__}")
    return cast("Dict[str, str]", headers)


def check_retry(value: Any, path: str) -> None:
    retry = as_object(value, path, MEMBERS["Retry"])
    if "backoff" in retry:
        backoff = as_object(retry["backoff"], f"{path}.backoff", MEMBERS["Backoff"])
        for name in MEMBERS["Backoff"]:
            if name not in backoff:
                raise reject(f"{path}.backoff", f"must be complete; {name} is missing")
        as_integer(backoff["baseMs"], f"{path}.backoff.baseMs", 1)
        as_integer(backoff["maxMs"], f"{path}.backoff.maxMs", 1)
        jitter = backoff["jitter"]
        if isinstance(jitter, bool) or not isinstance(jitter, (int, float)) or not 0 <= jitter <= 1:
            raise reject(f"{path}.backoff.jitter", f"must be a number from 0 to 1, got {jitter!r}")
    if "terminalHttp" in retry:
        terminal = as_object(retry["terminalHttp"], f"{path}.terminalHttp", MEMBERS["TerminalHttp"])
        if "exempt" not in terminal:
            raise reject(f"{path}.terminalHttp", "must be complete; exempt is missing")
        for index, status in enumerate(as_list(terminal["exempt"], f"{path}.terminalHttp.exempt")):
            as_integer(status, f"{path}.terminalHttp.exempt[{index}]", 400, 499)
    for index, rule in enumerate(as_list(retry.get("transient", []), f"{path}.transient")):
        check_transient(rule, f"{path}.transient[{index}]")


def check_transient(value: Any, path: str) -> None:
    rule = as_object(value, path, MEMBERS["TransientRule"])
    as_integer(rule.get("status"), f"{path}.status", 400, 499)
    if rule["status"] in NEVER_TRANSIENT:
        raise reject(f"{path}.status", f"must not be {rule['status']}: that status has a rule of its own")
    if "bodyIncludes" in rule:
        as_text(rule["bodyIncludes"], f"{path}.bodyIncludes")
    if "maxRetries" in rule:
        as_integer(rule["maxRetries"], f"{path}.maxRetries")


def check_accept(value: Any, path: str) -> None:
    for index, item in enumerate(as_list(value, path)):
        rule = as_object(item, f"{path}[{index}]", MEMBERS["AcceptRule"])
        as_integer(rule.get("status"), f"{path}[{index}].status", 100, 599)
        if "bodyIncludes" in rule:
            as_text(rule["bodyIncludes"], f"{path}[{index}].bodyIncludes")


def check_form(value: Any, path: str) -> List[Dict[str, Any]]:
    fields = as_list(value, path)
    checked: List[Dict[str, Any]] = []
    if not fields:
        raise reject(path, "must have at least one field")
    for index, item in enumerate(fields):
        place = f"{path}[{index}]"
        field = as_object(item, place, MEMBERS["FormField"])
        as_text(field.get("name"), f"{place}.name")
        as_text(field.get("contentType"), f"{place}.contentType")
        if ("string" in field) == ("path" in field):
            raise reject(place, "must have exactly one of string and path")
        if "string" in field:
            as_text(field["string"], f"{place}.string", empty=True)
        else:
            field["path"] = as_path(field["path"], f"{place}.path")
        if "fileName" in field:
            as_text(field["fileName"], f"{place}.fileName")
        checked.append(field)
    return checked


def check_parts(value: Any, path: str) -> None:
    parts = as_list(value, path)
    if not parts:
        raise reject(path, "must have at least one part")
    end = 0
    for index, item in enumerate(parts):
        place = f"{path}[{index}]"
        part = as_object(item, place, MEMBERS["Part"])
        as_text(part.get("url"), f"{place}.url")
        if "headers" in part:
            check_headers(part["headers"], f"{place}.headers")
        span = as_object(part.get("range"), f"{place}.range", MEMBERS["Range"])
        as_integer(span.get("start"), f"{place}.range.start")
        # One range of no bytes is how an empty file is cut (D9).
        as_integer(span.get("end"), f"{place}.range.end", 0 if len(parts) == 1 else span["start"] + 1)
        if span["start"] != end:
            why = f"must be {end}, where the part before ends, got {span['start']}"
            raise reject(f"{place}.range.start", why)
        end = span["end"]


def check_descriptor(value: Any) -> Dict[str, Any]:
    """The descriptor, if it can be sent; InvalidError that names the field if not."""
    request = as_object(value, "request", MEMBERS["Descriptor"])
    bodies = [name for name in BODIES if name in request]
    method = request.get("method", "POST")
    if len(bodies) > 1:
        raise reject("request", f"must have one kind of body, has {' and '.join(bodies)}")
    if method not in METHODS:
        raise reject("request.method", f"must be one of {', '.join(METHODS)}, got {method!r}")
    if method == "GET" and bodies:
        raise reject(f"request.{bodies[0]}", "must not be set: a GET has no body")
    if "parts" in request:
        if "file" not in request:
            raise reject("request.parts", "needs file")
        check_parts(request["parts"], "request.parts")
    elif "url" not in request:
        raise reject("request.url", "is missing")
    if "url" in request:
        as_text(request["url"], "request.url")
    if "headers" in request:
        check_headers(request["headers"], "request.headers")
    if "file" in request:
        request["file"] = as_path(request["file"], "request.file")
    if "form" in request:
        request["form"] = check_form(request["form"], "request.form")
    check_settings(request)
    return request


def check_bound(request: Mapping[str, Any], names: Collection[str]) -> None:
    """A bound value that was percent-encoded would go out as text."""
    places = [("request.url", request.get("url", ""))]
    for index, part in enumerate(request.get("parts", ())):
        places.append((f"request.parts[{index}].url", part["url"]))
    for path, url in places:
        for name in names:
            if f"%7B{name}%7D" in url.replace("%7b", "%7B").replace("%7d", "%7D"):
                raise reject(
                    path, f"has {name} percent-encoded; its value will be, so write the name as it is"
                )


def check_settings(request: Mapping[str, Any]) -> None:
    """The members that say how and when, not what."""
    if "accept" in request:
        check_accept(request["accept"], "request.accept")
    if "retry" in request:
        check_retry(request["retry"], "request.retry")
    if "expiresAt" in request:
        as_integer(request["expiresAt"], "request.expiresAt", 1, MAX_INTEGER)
    if not isinstance(request.get("wifiOnly", True), bool):
        raise reject("request.wifiOnly", f"must be true or false, got {request['wifiOnly']!r}")
    if not isinstance(request.get("boundOrigin", True), bool):
        raise reject("request.boundOrigin", f"must be true or false, got {request['boundOrigin']!r}")
    if request.get("priority", "normal") not in ("high", "normal"):
        raise reject("request.priority", f"must be high or normal, got {request['priority']!r}")
    if request.get("staging", "copy") not in ("copy", "move", "reference"):
        raise reject("request.staging", f"must be copy, move or reference, got {request['staging']!r}")
    if request.get("idempotencyKey", False) is not False:
        as_text(request["idempotencyKey"], "request.idempotencyKey")
    timeouts = as_object(request.get("timeouts", {}), "request.timeouts", MEMBERS["TimeoutLayer"])
    for name, value in timeouts.items():
        as_integer(value, f"request.timeouts.{name}", 1)
