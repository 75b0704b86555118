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
| ack, acked | `eventIds`: asked, answered |
| ended | `status` of a sidecar, `said`: how many lines it wrote |
| fault | `text`: something that may not be |
"""
import json
import os
import pathlib
import time
import typing


class Ledger:
    """Written by one host; a line that was written outlives it. A kill may cut the last one."""

    def __init__(self, path, host):
        self.host = host
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def write(self, what, **members):
        line = json.dumps({"what": what, "at": time.monotonic(), "host": self.host, **members})
        os.write(self._file, line.encode() + b"\n")


class Doubt(typing.NamedTuple):
    """A stretch of time in which a disk said what was not so, and the names of the hosts that lived when it
    began."""

    begin: float
    end: float
    hosts: frozenset = frozenset()

    def covers(self, line):
        return self.begin <= line["at"] <= self.end


def without(lines, doubt):
    """The lines as if nobody could rely on what was said in a doubt: outcomes and answers of then are left
    out. An entry that was accepted then, or whose enqueue was under way and never accepted, is left out
    altogether. Also the ids of those entries.

    An outcome that was told then, and that its host asked to be forgotten, may have been: `over` stays of it.
    """
    entries = {line["id"] for line in lines if line["what"] == "accepted" and doubt.covers(line)}
    entries |= _under_way(lines, doubt) - {line["id"] for line in lines if line["what"] == "accepted"}
    asked = {event for line in lines if line["what"] in ("ack", "acked") and doubt.covers(line)
             for event in line["eventIds"]}
    kept = []
    for line in lines:
        if line.get("id") in entries:
            continue
        if doubt.covers(line) and line["what"] in ("accepted", "outcome", "acked", "cancelled"):
            if line["what"] == "outcome" and line["eventId"] in asked:
                kept.append({**line, "what": "over"})
        else:
            kept.append(line)
    return kept, entries


def _under_way(lines, doubt):
    """Ids that were asked for in a doubt, or before it on a connection that lasted until then."""
    ended = {line["host"]: line["at"] for line in lines
             if line["what"] == "ended" and line["at"] < doubt.begin}
    return {line["id"] for line in lines if line["what"] == "ask" and (
        doubt.covers(line) or line["host"] in doubt.hosts
        and ended.get(line["host"], -1) < line["at"] < doubt.begin)}


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
