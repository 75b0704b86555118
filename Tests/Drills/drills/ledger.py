"""What a host knows, line by line on disk, so that it is there though the host is killed.

Each line is an object with `what`, `at` (the machine's monotonic clock, one for all processes) and `host`.

| what | and |
|---|---|
| sidecar, child | `pid`, as it was started; a child that holds its pipes |
| ask | `id`, `bodies` (part to hash), `moves` (the path of a file that is to be taken), `source` (its hash) |
| accepted, refused | `id`, `disposition`; `code` |
| cancel, cancelled | `id`: asked, answered |
| seen | `id`, `attempts`, `requestId` of an attempt event or of a row |
| outcome | `id`, and what `settled` holds of `eventId kind attempts deliveries requestId status` |
| acked | `eventIds`: answered |
| ended | `status` of a sidecar, `said`: how many lines it wrote |
| fault | `text`: something that may not be |
"""
import json
import os
import pathlib
import time


class Ledger:
    """Written by one host; a line that was written outlives it. A kill may cut the last one."""

    def __init__(self, path, host):
        self.host = host
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def write(self, what, **members):
        line = json.dumps({"what": what, "at": time.monotonic(), "host": self.host, **members})
        os.write(self._file, line.encode() + b"\n")


def without(lines, begin, end):
    """The lines as if nobody could rely on what was said in between. An enqueue that was accepted then is
    left out altogether, as is one that was asked for then and never accepted; so are outcomes and
    acknowledgements of that time. Also the ids of those enqueues."""
    def is_between(line):
        return begin <= line["at"] <= end

    def is_meant(line):
        return is_between(line) and line["what"] in ("accepted", "outcome", "acked", "cancelled")
    accepted = [line for line in lines if line["what"] == "accepted"]
    entries = {line["id"] for line in accepted if is_between(line)}
    entries |= {line["id"] for line in lines if is_between(line) and line["what"] == "ask"} - {
        line["id"] for line in accepted}
    return [line for line in lines if not is_meant(line) and line.get("id") not in entries], entries


def of_outcome(event):
    """What the ledger keeps of a `settled` event."""
    response = event.get("response") or event.get("error", {}).get("response") or {}
    return {"status": response.get("status"),
            **{name: event.get(name)
               for name in ("id", "eventId", "kind", "attempts", "deliveries", "requestId")}}


def read(folder):
    """The lines of every ledger in the folder, by time."""
    lines = []
    for path in sorted(pathlib.Path(folder).glob("*.ledger")):
        whole = path.read_bytes().split(b"\n")[:-1]
        lines += [{**json.loads(line), "line": number} for number, line in enumerate(whole)]
    return sorted(lines, key=lambda line: (line["at"], line["line"]))
