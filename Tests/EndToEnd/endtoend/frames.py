"""The lines of the sidecar's stdout, checked one by one against section 1 of the protocol."""
import json
import re

# What may never stand raw in a line: C0 controls (so also CR), DEL, U+2028, U+2029.
RAW_FORBIDDEN = re.compile("[\x00-\x1f\x7f\u2028\u2029]")


class Frame(dict):
    """One object of the stream, with the text it came in."""

    def __init__(self, raw):
        self.raw = raw
        self.text = raw.decode("utf-8")
        super().__init__(json.loads(self.text))


class BadLine(Exception):
    """A line that the protocol does not allow."""


def parse(raw):
    """Returns the Frame of a line without its LF; raises BadLine when it is none."""
    try:
        frame = Frame(raw)
    except (ValueError, TypeError) as fault:
        raise BadLine(f"{fault}: {raw[:200]!r}") from fault
    if frame.get("jsonrpc") != "2.0":
        raise BadLine(f"no jsonrpc 2.0: {raw[:200]!r}")
    if RAW_FORBIDDEN.search(frame.text):
        raise BadLine(f"a raw control character or separator: {raw[:200]!r}")
    if "method" not in frame and ("id" not in frame or ("result" in frame) == ("error" in frame)):
        raise BadLine(f"neither an event nor an answer: {raw[:200]!r}")
    return frame


class RPCError(Exception):
    """An answer that is an error; `code` is `data.code`."""

    def __init__(self, error):
        super().__init__(f"{error['code']} {error.get('data')}: {error['message']}")
        self.error = error
        self.number = error["code"]
        self.data = error.get("data") or {}
        self.code = self.data.get("code")
        self.path = self.data.get("path")
        self.message = error["message"]
