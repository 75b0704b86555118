"""The app's own records: a folder with a JSON file for each observation."""

import json
import os
import pathlib

MEMBERS = ("uuid", "created_at", "server_id", "needs_sync", "note", "errors")


class Records:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()

    def read(self, uuid):
        """The observation, or None when it was deleted."""
        try:
            return load(self._place(uuid))
        except FileNotFoundError:
            return None

    def unsynced(self):
        """Those that need sync, oldest first."""
        # A glob would take a folder that is not there for an empty one.
        records = [load(place) for place in self.folder.iterdir() if place.match("[!.]*.json")]
        return sorted((one for one in records if one["needs_sync"]), key=lambda one: one["created_at"])

    def write(self, record):
        """Puts a whole file in the place of the old one, so that a crash leaves the one or the other."""
        half = self.folder / f".{record['uuid']}.new"
        half.write_text(json.dumps(record, indent=1), encoding="utf-8")
        os.replace(half, self._place(record["uuid"]))

    def delete(self, uuid):
        self._place(uuid).unlink(missing_ok=True)

    def file(self, name):
        """Where a file of an observation is."""
        return self.folder / name

    def _place(self, uuid):
        return self.folder / f"{uuid}.json"


def load(place):
    """A record. ValueError names the file of one that is none."""
    try:
        record = json.loads(place.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from error
    lacks = [name for name in MEMBERS if name not in record]
    if lacks:
        raise ValueError(f"{place}: {lacks[0]} is missing")
    return record
