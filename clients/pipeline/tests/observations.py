"""The program of the example without any client, by the wire alone.

    observations.py sync --queue DIR --records DIR --server URL [--token T] [--once]
    observations.py token --queue DIR NEWTOKEN
    observations.py abort --queue DIR UUID
"""
import argparse
import json
import os
import pathlib
import signal
import sys

from wire import Refused, Sidecar, SidecarGone

GONE = 410
KINDS = {"photos": "photo", "sounds": "sound"}
EVENTS = ["settled", "state", "attempt", "group", "groupSettled"]
SETTLED = ("completed", "error", "cancelled")


class Steps:
    """The program's own steps, told on stdout; it kills itself after one of them where a test asks for it."""

    def __init__(self):
        self.left = int(os.environ.get("OBSERVATIONS_KILL_AFTER", 0))

    def tell(self, *words):
        print("step", *words, flush=True)
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


class Records:
    """A folder with a JSON file for each observation."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def path(self, uuid):
        return self.folder / f"{uuid}.json"

    def read(self, uuid):
        try:
            return json.loads(self.path(uuid).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None

    def unsynced(self):
        """Those that need sync, oldest first."""
        # A glob would take a folder that is not there for an empty one.
        paths = [path for path in self.folder.iterdir() if path.suffix == ".json"]
        records = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
        return sorted((one for one in records if one["needs_sync"]), key=lambda one: one["created_at"])

    def change(self, uuid, **members):
        """A whole file takes the place of the old one, so that none is ever half written."""
        record = self.read(uuid)
        if record is None:
            return
        place, new = self.path(uuid), self.folder / f".{uuid}.new"
        new.write_text(json.dumps({**record, **members}), encoding="utf-8")
        os.replace(new, place)

    def delete(self, uuid):
        self.path(uuid).unlink(missing_ok=True)


def media_of(record):
    """What is to be uploaded: kind, id of its entry, its name in URLs, file."""
    return [(kind, f"{record['uuid']}/{kind}/{number}", many, file) for many, kind in KINDS.items()
            for number, file in enumerate(record.get(many, [])) if isinstance(file, str)]


def is_complete(record):
    """Whether each entry's answer is noted, or was and the record is marked."""
    ids = [id for _, id, _, _ in media_of(record)]
    needed = {f"{record['uuid']}/observation", *ids, *(f"{id}/attach" for id in ids)}
    return not record["needs_sync"] or needed <= set(record.get("created", {}))


def pipeline(record, folder, server, headers):
    """The entries of one observation: media, then the observation, then what belongs to it."""
    uuid, known = record["uuid"], record["server_id"]
    shared = {"group": f"observation/{uuid}", "groupDeadlineMs": 300_000, "vars": {"uuid": uuid}}
    media = media_of(record)
    uploads = [{"id": id, "key": f"{kind}.create", "weight": 0.5, **shared,
                "request": {"url": f"{server}/{many}", "headers": headers, "form": [
                    {"name": "uuid", "contentType": "text/plain", "string": uuid},
                    {"name": "file", "contentType": "application/octet-stream",
                     "path": str((folder / file).resolve())}]}}
               for kind, id, many, file in media]
    observation = {
        "id": f"{uuid}/observation", "key": "observation.create" if known is None else "observation.update",
        "after": [id for _, id, _, _ in media], "lane": "observations", "weight": 1, **shared,
        "request": {"url": f"{server}/observations", "headers": headers,
                    "data": {"uuid": uuid, "note": record["note"]}}}
    if known is not None:
        url = f"{server}/observations/{known}?ignore_photos=true"
        observation["request"] |= {"method": "PUT", "url": url}
    attach = [{"id": f"{id}/attach", "key": f"{kind}.attach", "weight": 0.5, **shared,
               "bind": {"observation": {"entry": f"{uuid}/observation", "pointer": "/id"},
                        "medium": {"entry": id, "pointer": "/id"}},
               "request": {"url": f"{server}/observations/{{observation}}/{many}", "headers": headers,
                           "data": {f"{kind}_id": {"$bind": "medium"}, "uuid": id}}}
              for kind, id, many, _ in media]
    return [*uploads, observation, *attach]


class Sync:
    def __init__(self, options):
        self.options, self.records, self.steps = options, Records(options.records), Steps()
        self.enqueued, self.settled, self.progress, self.shown = {}, set(), {}, -1.0
        self.headers = {"Authorization": f"Bearer {options.token}"} if options.token else {}

    def run(self):
        self.steps.tell("started")
        while True:
            sidecar = Sidecar(self.options.queue)
            try:
                self.go_on(sidecar)
                return sidecar.leave()
            except SidecarGone:
                sidecar.process.wait()

    def go_on(self, sidecar):
        """Where an earlier run, or an earlier sidecar of this one, came to its end."""
        if self.headers:
            sidecar.call("updateHeaders", headers=self.headers)
        if not self.options.once:
            sidecar.call("subscribe", events=EVENTS)
        for record in self.records.unsynced():
            uuid = record["uuid"]
            if uuid in self.enqueued:
                continue
            entries = pipeline(record, self.records.folder, self.options.server, self.headers)
            sidecar.call("enqueueAll", entries=entries)
            self.enqueued[uuid] = sum(entry["weight"] for entry in entries)
            self.steps.tell("enqueued", uuid)
        while not self.options.once and self.is_something_left(sidecar):
            event = sidecar.event(None)
            self.HEAR[event[0]](self, sidecar, event[1])

    def is_something_left(self, sidecar):
        """Also the outcomes of an earlier run, which may have marked its record and not come further."""
        return (set(self.enqueued) - self.settled
                or sidecar.call("stats")["outcomes"]["unacknowledged"] > 0)

    def outcome(self, sidecar, outcome):
        uuid = outcome["vars"]["uuid"]
        self.steps.tell("outcome", outcome["id"])
        record = self.records.read(uuid)
        if outcome["kind"] == "completed" and record:
            # The group's outcome has no answers in it, and this one is acknowledged before that comes.
            server_id = json.loads(outcome["response"]["body"])["id"]
            self.records.change(uuid, created={**record.get("created", {}), outcome["id"]: server_id})
        if outcome["kind"] == "error":
            self.failed(sidecar, uuid, outcome["error"])
        sidecar.call("ackEvents", eventIds=[outcome["eventId"]])

    def failed(self, sidecar, uuid, error):
        if error.get("response", {}).get("status") == GONE:
            say(json.loads(error["response"]["body"])["error"])
            self.records.delete(uuid)
            # Where this was the last of the group, the group is forgotten, and no outcome of it comes.
            self.settled.add(uuid)
            sidecar.call("cancel", group=f"observation/{uuid}")
        elif record := self.records.read(uuid):
            say(f"{uuid}: {error['message']}")
            self.records.change(uuid, errors=[*record["errors"], error["message"]])

    def group_outcome(self, sidecar, outcome):
        uuid = outcome["group"].removeprefix("observation/")
        self.steps.tell("group", uuid)
        rows = sidecar.call("getRequests", group=outcome["group"])["requests"]
        if any(row["state"] not in SETTLED for row in rows):
            # An earlier run left it unfinished, and this one has enqueued it anew: it settles once more.
            sidecar.call("ackEvents", eventIds=[outcome["eventId"]])
            return
        record = self.records.read(uuid)
        marked = record is not None and is_complete(record)
        if marked:
            server_id = record.get("created", {}).get(f"{uuid}/observation", record["server_id"])
            self.records.change(uuid, needs_sync=False, server_id=server_id)
            self.steps.tell("marked", uuid)
        # Before the calls: where only their answers are lost this outcome does not come again.
        self.settled.add(uuid)
        self.show(outcome["group"], 1)
        if not marked:
            # What was aborted, or deleted elsewhere, begins from nothing next time: forget what ended before.
            sidecar.call("cancel", group=outcome["group"])
        sidecar.call("ackEvents", eventIds=[outcome["eventId"]])

    def group(self, sidecar, event):
        self.show(event["group"], event["progress"])

    def show(self, group, progress):
        """All groups together, each as heavy as its entries."""
        self.progress[group.removeprefix("observation/")] = progress
        whole = sum(self.enqueued.values()) or 1
        done = sum(weight * self.progress.get(uuid, 0) for uuid, weight in self.enqueued.items()) / whole
        if done >= self.shown + 0.01 or done == 1 != self.shown:
            self.shown = done
            say(f"progress {done:.2f}")

    def state(self, sidecar, row):
        if row["state"] == "awaiting-auth":
            say("sign in again: observations token --queue DIR NEWTOKEN")

    def attempt(self, sidecar, attempt):
        if attempt.get("errorKind") == "network":
            say("waiting for the network")

    HEAR = {"settled": outcome, "groupSettled": group_outcome, "group": group, "state": state,
            "attempt": attempt}


def say(text):
    print(text, file=sys.stderr, flush=True)


def once(options, method, **params):
    """One call, for the commands that only change something."""
    sidecar = Sidecar(options.queue)
    sidecar.call(method, **params)
    sidecar.leave()


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    sync, token, abort = map(commands.add_parser, ("sync", "token", "abort"))
    for command in (sync, token, abort):
        command.add_argument("--queue", required=True)
    for name in ("--records", "--server"):
        sync.add_argument(name, required=True)
    sync.add_argument("--token")
    sync.add_argument("--once", action="store_true")
    token.add_argument("newtoken")
    abort.add_argument("uuid")
    options = parser.parse_args()
    try:
        if options.command == "sync":
            Sync(options).run()
        elif options.command == "token":
            once(options, "updateHeaders", headers={"Authorization": f"Bearer {options.newtoken}"})
        else:
            once(options, "cancel", group=f"observation/{options.uuid}")
    except Refused as refusal:
        say(f"{refusal.code}: {refusal}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
