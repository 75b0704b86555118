"""What a host does in the course of a day, all of it, in an order that is always the same."""
import json
import os
import threading

from endtoend import deadline, rawserver
from endtoend.commands import Commands
from endtoend.frames import RPCError
from endtoend.requests import NEVER, enqueue

KEY = "soak"
EVENTS = ("state", "progress", "attempt", "settled", "group", "groupSettled")


class Day:
    """One day of the host of `sidecar`: everything that it begins is ended and acknowledged at its end. Each
    day has a server of its own, and so an origin of its own."""

    def __init__(self, sidecar, binary, folder, number):
        self.sidecar = sidecar
        self.command = Commands(binary, sidecar.directory)
        self.folder = folder
        self.name = f"day{number}"
        self.server = rawserver.RawServer()
        self.expected = {}

    def live(self):
        self.sidecar.subscribe(*EVENTS, keys=[KEY], window=1024)
        try:
            self.files()
            self.failures()
            self.credentials()
            self.pauses()
            self.cancels()
            self.chain()
            self.mistakes()
            self.commands()
            self.settle()
        finally:
            self.server.close()
        self.server.check()

    def add(self, name, path, comes_to="completed", **fields):
        id = f"{self.name}/{name}"
        self.expected[id] = comes_to
        enqueue(self.sidecar, self.server.url(path), id=id, key=KEY, **fields)
        return id

    def until(self, id, holds):
        """Waits until something holds of the row of `id`."""
        deadline.until(f"{id} as it should be", lambda: holds(self.sidecar.row(id)))

    def source(self, name, size):
        path = self.folder / f"{self.name}-{name}"
        path.write_bytes(os.urandom(size))
        return str(path)

    def files(self):
        self.server.on("/large", rawserver.reply(201, body=bytes(300_000)))
        self.add("inline", "/", data={"filling": "x" * 200_000})
        self.add("vars", "/", vars={"filling": "x" * 200_000}, data=1)
        self.add("answer", "/large", data=1)
        kept = self.source("kept", 400_000)
        self.add("reference", "/", method="PUT", file=kept, staging="reference")
        self.add("copy", "/", method="PUT", file=kept)
        self.add("move", "/", method="PUT", file=self.source("moved", 400_000), staging="move")
        self.add("form", "/", form=[
            {"name": "file", "contentType": "image/png", "path": kept},
            {"name": "text", "contentType": "text/plain", "string": "words"}])
        ranges = self.sidecar.call("chunkPlan", size=400_000, min=1, max=100_000)["ranges"]
        self.parts(self.source("parted", 400_000), ranges)

    def parts(self, path, ranges):
        self.expected[f"{self.name}/parts"] = "completed"
        parts = [{"url": self.server.url("/part"), "range": range} for range in ranges]
        self.sidecar.call("enqueue", id=f"{self.name}/parts", key=KEY,
                          request={"method": "PUT", "file": path, "parts": parts})

    def failures(self):
        down = self.server.on("/down", *[rawserver.reply(503)] * 2, rawserver.reply(201))
        id = self.add("down", "/down", data={"to": down}, retry={"backoff": NEVER})
        for attempt in (1, 2):
            failed = ("queued", attempt)
            self.until(id, lambda row, failed=failed: (row["state"], row["attempts"]) == failed)
            self.sidecar.call("explain", id=id)
            self.sidecar.call("retry", id=id)
        self.server.on("/gone", rawserver.reply(410, body=b"{}"))
        self.add("gone", "/gone", "error", data=1)
        self.server.on("/cut", rawserver.hang_up(), rawserver.hang_up(0), rawserver.reply(201))
        self.add("cut", "/cut", data=1)

    def credentials(self):
        self.server.on("/private", rawserver.reply(401), rawserver.reply(201))
        id = self.add("private", "/private", data=1)
        # The headers of another host may have let it go by then.
        self.until(id, lambda row: row["state"] in ("awaiting-auth", "completed"))
        self.sidecar.call("updateHeaders", headers={"X-Token": self.name}, keys=[KEY])

    def pauses(self):
        self.sidecar.call("pause", keys=[KEY])
        self.sidecar.call("setNetwork", type="cellular", metered=True)
        ids = [self.add(f"paused{number}", "/", data=number, wifiOnly=True) for number in range(20)]
        missing = set(ids) - {row["id"] for row in self.sidecar.rows(state="paused", key=KEY)}
        assert not missing, f"not paused: {missing}"
        for number in ids[:3]:
            self.sidecar.call("explain", id=number)
        self.sidecar.call("resume", keys=[KEY])
        self.sidecar.call("explain", id=ids[-1])
        self.sidecar.call("setNetwork", type="auto")
        self.sidecar.call("setNetwork", type="ethernet")

    def cancels(self):
        hold = threading.Event()
        self.server.on("/held", rawserver.hold(hold))
        id = self.add("held", "/held", "cancelled", data={"filling": "x" * 100_000})
        self.server.wait_requests(1, "/held")
        self.sidecar.call("cancel", id=id)
        hold.set()

    def chain(self):
        """Entries that come after others and take what they need from their answers, in a lane of a group."""
        self.server.on("/first", rawserver.reply(201, [("Location", "/there")], b'{"id":7}'))
        ids = [f"{self.name}/chain{number}" for number in range(4)]
        self.expected.update(dict.fromkeys(ids, "completed"))
        entries = [{"id": id, "key": KEY, "group": self.name, "request": {"url": self.server.url("/first")}}
                   for id in ids]
        for before, entry in zip(ids, entries[1:]):
            entry["bind"] = {"id": {"entry": before, "pointer": "/id"}}
            entry["lane"] = "one at a time"
            entry["request"]["data"] = {"id": {"$bind": "id"}}
        self.sidecar.call("enqueueAll", entries=entries)
        self.sidecar.call("explain", group=self.name)
        done = self.sidecar.event("groupSettled", group=self.name)
        assert done["counts"]["completed"] == len(ids), done
        self.sidecar.ack(done)

    def mistakes(self):
        """Each is refused, and changes nothing."""
        for method, params in (("enqueue", {"key": KEY, "request": {"url": "ftp://x/"}}), ("no", {}),
                               ("enqueue", {"key": KEY, "request": {
                                   "url": self.server.url(), "file": str(self.folder / "missing")}}),
                               ("retry", {"id": "nobody's"}), ("getRequests", {"limit": 0})):
            try:
                self.sidecar.call(method, **params)
            except RPCError:
                continue
            raise AssertionError(f"{method} {params} was not refused")

    def commands(self):
        """People look in and change something; each comes as a visitor and leaves."""
        id = f"{self.name}/added"
        self.expected[id] = "completed"
        self.command("add", self.server.url("/"), "--key", KEY, "--id", id, "--data", json.dumps(self.name))
        self.command("pause", KEY)
        self.command("ls")
        self.command("stats")
        self.command("resume", KEY)
        self.sidecar.call("configure", lifetimeMs=86_400_000, proxy="")
        self.sidecar.call("configure", lifetimeMs=None, proxy=None)
        for method in ("takeDiagnostics", "rpc.discover", "ping", "stats"):
            self.sidecar.call(method)

    def settle(self):
        for id, kind in self.expected.items():
            outcome = self.sidecar.settled(id)
            assert outcome["kind"] == kind, outcome
            self.sidecar.ack(outcome)
            if kind == "error":
                self.sidecar.call("cancel", id=id)
        told = {outcome["id"] for outcome in self.sidecar.take_events("settled")}
        assert told == set(self.expected), f"told of {told ^ set(self.expected)}"
        for path in self.folder.glob(f"{self.name}-*"):
            path.unlink()
