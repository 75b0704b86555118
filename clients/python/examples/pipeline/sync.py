"""Brings the observations of a folder to a server, each with its photos and sounds."""

import json
import threading

from steps import step
from toolbar import Toolbar

from outtray import SidecarExited, UploadClient

GONE = 410
DEADLINE_MS = 300_000
SETTLED = ("completed", "error", "cancelled")
KINDS = {"photo": "photos", "sound": "sounds"}
GROUP = "observation/"


def group_of(uuid):
    return GROUP + uuid


def authorization(token):
    return {"Authorization": f"Bearer {token}"}


def persist(call):
    """Repeats a call whose sidecar died before it answered. Every call here may be repeated."""
    while True:
        try:
            return call()
        except SidecarExited:
            pass


class Sync:
    def __init__(self, queue, records, server, token):
        self.records, self.server, self.token = records, server, token
        self.headers = authorization(token) if token else {}
        self.toolbar = Toolbar()
        # The observations of this run that are not through, and why the run cannot go on.
        self.left, self.failure = set(), None
        self.moved = threading.Event()
        # In the background: when this program is gone the sidecar finishes what it has. One handler at a
        # time, since each reads a record and writes it.
        self.uploads = UploadClient(queue, background=True, max_handlers=1, on_warning=self.warned)
        self.kinds = {}
        self.define()
        self.uploads.on_group_settled(self.or_fail(self.group_settled))
        self.uploads.add_listener("group", lambda now: self.toolbar.move(now["group"], now["progress"]))
        self.uploads.add_listener("state", self.state_changed)
        self.uploads.add_listener("attempt", self.attempted)

    def run(self, once):
        """Enqueues all that needs sync, then hears of it and of earlier runs until nothing is left."""
        step("started")
        with self.uploads:
            if self.token:
                persist(lambda: self.uploads.update_headers(self.headers))
            pipelines = {record["uuid"]: self.pipeline_of(record) for record in self.records.unsynced()}
            for uuid, pipeline in pipelines.items():
                self.left.add(uuid)
                persist(pipeline.enqueue)
                step("enqueued", uuid)
            if not once:
                # Not before: what completed under an earlier run is not sent again as long as the outcome of
                # its group is there, and a record that was read as unsynced above must not be marked, and its
                # group forgotten, before it is enqueued.
                persist(self.uploads.configure)
                # What has been refused by then has no listener that was told.
                for row in persist(lambda: self.uploads.get_requests(state="awaiting-auth")):
                    self.state_changed(row)
                self.wait_for_end()

    def wait_for_end(self):
        """Also for what an earlier run was told and did not live to acknowledge."""
        while True:
            self.moved.clear()
            # Asking also brings back a sidecar that died.
            outcomes = persist(self.uploads.stats)["outcomes"]["unacknowledged"]
            if self.failure:
                raise self.failure
            if not self.left and outcomes == 0:
                return
            self.moved.wait(0.1)

    def define(self):
        """The kinds of requests. Their keys are kept with every entry; their handlers serve later runs."""
        for kind, many in KINDS.items():
            self.add_kind(f"{kind}.create", self.upload_of(many))
            self.add_kind(f"{kind}.attach", self.attachment_of(kind, many))
        self.add_kind("observation.create", self.creation)
        self.add_kind("observation.update", self.update)

    def upload_of(self, many):
        def request(vars):
            path = self.records.file(vars["file"])
            return {
                "url": f"{self.server}/{many}",
                "form": [
                    {"name": "uuid", "contentType": "text/plain", "string": vars["name"]},
                    {"name": "file", "contentType": "application/octet-stream", "path": path},
                ],
                "headers": self.headers,
            }

        return request

    def attachment_of(self, kind, many):
        def request(vars, bound):
            return {
                "url": f"{self.server}/observations/{bound.observation}/{many}",
                "data": {f"{kind}_id": bound.medium, "uuid": vars["name"]},
                "headers": self.headers,
            }

        return request

    def creation(self, vars):
        return {
            "url": f"{self.server}/observations",
            "data": {"uuid": vars["uuid"], "note": vars["note"]},
            "headers": self.headers,
        }

    def update(self, vars):
        return {
            "url": f"{self.server}/observations/{vars['server_id']}?ignore_photos=true",
            "method": "PUT",
            "data": {"uuid": vars["uuid"], "note": vars["note"]},
            "headers": self.headers,
        }

    def add_kind(self, key, request):
        self.kinds[key] = self.uploads.define(
            key=key,
            request=request,
            response=lambda answer: answer["id"],
            on_success=self.or_fail(self.succeeded),
            on_error=self.or_fail(self.failed),
        )

    def pipeline_of(self, record):
        """Media side by side, then the observation, then each medium attached to it."""
        uuid, known = record["uuid"], record["server_id"]
        group = group_of(uuid)
        pipeline = self.uploads.pipeline(group=group, group_deadline_ms=DEADLINE_MS)
        media = []
        for kind, name, file in media_of(record):
            vars = {"uuid": uuid, "name": name, "file": file}
            created = pipeline.add(self.kinds[f"{kind}.create"], vars, id=name, weight=0.5)
            media.append((kind, name, created))
        observation = pipeline.add(
            self.kinds["observation.create" if known is None else "observation.update"],
            {"uuid": uuid, "note": record["note"], "server_id": known},
            id=f"{uuid}/observation",
            weight=1,
            after=[created for _, _, created in media],
            # One observation at a time, the oldest first; media of all of them go up meanwhile.
            lane="observations",
        )
        for kind, name, created in media:
            pipeline.add(
                self.kinds[f"{kind}.attach"],
                {"uuid": uuid, "name": name},
                id=f"{name}/attach",
                weight=0.5,
                bind={"observation": observation.pointer("/id"), "medium": created.pointer("/id")},
            )
        self.toolbar.add(group, 1 + len(media))
        return pipeline

    # Handlers. Each may run twice for one outcome, and comes to the same.

    def succeeded(self, server_id, vars, meta):
        step("outcome", meta["id"])
        record = self.records.read(vars["uuid"])
        if record:
            # The outcome of the group has no answers in it, and this one is acknowledged before: keep its id.
            self.records.write({**record, "created": {**record.get("created", {}), meta["id"]: server_id}})

    def failed(self, error, vars, meta):
        uuid = vars["uuid"]
        step("outcome", meta["id"])
        response = error.get("response", {})
        if response.get("status") == GONE:
            self.toolbar.say(json.loads(response["body"])["error"])
            self.records.delete(uuid)
            persist(lambda: self.uploads.cancel_group(group_of(uuid)))
            # Where this was the last of the group, the group is forgotten, and no outcome of it comes.
            self.left.discard(uuid)
            return
        # The rest waits: mended and synced anew this entry goes again, or `abort` cancels the group.
        text = f"{meta['id']}: {error['message']}"
        self.toolbar.say(text)
        record = self.records.read(uuid)
        if record and text not in record["errors"]:
            self.records.write({**record, "errors": [*record["errors"], text]})

    def group_settled(self, outcome):
        """Marks the record, or forgets a group without a good end, so that the next sync begins anew."""
        group, counts = outcome["group"], outcome["counts"]
        uuid = group[len(GROUP) :]
        step("group", uuid)
        rows = persist(lambda: self.uploads.get_requests(group=group))
        if any(row["state"] not in SETTLED for row in rows):
            return  # It was enqueued anew since, and will settle once more.
        record = self.records.read(uuid)
        complete = record is not None and is_complete(record)
        if record and not complete and counts["error"] == counts["cancelled"] == 0:
            # A handler that notes an id has failed. This outcome is released too, and both come again.
            raise LookupError(f"the ids of {uuid} on the server are not all in its record")
        if record:
            self.records.write(marked(record, complete))
        if complete:
            step("marked", uuid)
        else:
            persist(lambda: self.uploads.cancel_group(group))
        self.toolbar.move(group, 1)
        self.left.discard(uuid)
        self.moved.set()

    def or_fail(self, handler):
        """A handler that fails ends the run; its outcome is kept, and the next run hears it again."""

        def handle(*arguments):
            try:
                handler(*arguments)
            except Exception as error:
                self.failure = error
                self.moved.set()
                raise

        return handle

    def state_changed(self, row):
        if row["state"] == "awaiting-auth":
            self.toolbar.say("sign in again: observations token --queue DIR NEWTOKEN")

    def attempted(self, attempt):
        if attempt.get("errorKind") == "network":
            self.toolbar.say("waiting for the network")

    def warned(self, message, detail):
        self.toolbar.say(message)
        self.moved.set()


def media_of(record):
    """Kind, name and file of each medium; what was synced before is written with its id on the server."""
    return [
        (kind, f"{record['uuid']}/{kind}/{number}", file)
        for kind, many in KINDS.items()
        for number, file in enumerate(record.get(many, []))
        if isinstance(file, str)
    ]


def is_complete(record):
    """Whether all that an observation needs is noted, or was and the record is marked."""
    names = [name for _, name, _ in media_of(record)]
    needed = {f"{record['uuid']}/observation", *names, *(f"{name}/attach" for name in names)}
    return not record["needs_sync"] or needed <= set(record.get("created", {}))


def marked(record, complete):
    """The record as it is when its group has ended. What is on the server is not created again next time."""
    created = record.get("created", {})
    ours = {name: value for name, value in record.items() if name != "created"}
    ours["server_id"] = created.get(f"{record['uuid']}/observation", record["server_id"])
    for kind, name, file in media_of(record):
        if f"{name}/attach" in created:
            synced = {"file": file, "server_id": created[name]}
            many = ours[KINDS[kind]]
            ours[KINDS[kind]] = [synced if one == file else one for one in many]
    return {**ours, "needs_sync": False, "errors": []} if complete else ours
