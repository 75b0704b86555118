"""The published contract, and what of a conversation does not stand in it."""
import json
import pathlib
import sys

PROTOCOL = pathlib.Path(__file__).resolve().parents[3] / "protocol"
sys.path.insert(0, str(PROTOCOL))

from validate import Validator  # noqa: E402  (protocol/ is a folder of scripts, no package)

VALIDATOR = Validator(json.loads((PROTOCOL / "openrpc.json").read_text(encoding="utf-8")))


class Requests:
    """The methods by the ids of the requests that called them; tests may send anything under any id."""

    # Of a line that is longer only the end of it is looked at, which is no request.
    LONGEST = 1 << 24

    def __init__(self):
        self._methods = {}
        self._rest = b""

    def feed(self, data):
        """Takes note of the requests among the lines that were sent, wherever the writes were cut."""
        *lines, rest = (self._rest + bytes(data)).split(b"\n")
        self._rest = rest if len(rest) <= Requests.LONGEST else b""
        for line in lines:
            self._note(line)

    def _note(self, line):
        try:
            message = json.loads(line)
            key, method = json.dumps(message["id"]), message["method"]
        except (ValueError, TypeError, KeyError, RecursionError):
            return
        if method in VALIDATOR.methods:
            self._methods.setdefault(key, set()).add(method)

    def of(self, id):
        return self._methods.get(json.dumps(id), set())


def problems(frame, requests):
    """What of a line of the sidecar's is not in the document. An answer to what was no request of the
    document has nothing to be held against."""
    if "method" in frame:
        return VALIDATOR.check_event(dict(frame))
    methods = requests.of(frame["id"])
    found = [VALIDATOR.check_response(method, dict(frame)) for method in sorted(methods)]
    return [] if not found or [] in found else found[0]
