"""The app's own records: a folder with a JSON file for each observation."""

import json
import os
import pathlib


class Records:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()

    def read(self, uuid):
        """The observation, or None when it was deleted."""
        try:
            return json.loads(self._place(uuid).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None

    def unsynced(self):
        """Those that need sync, oldest first."""
        records = [
            json.loads(place.read_text(encoding="utf-8")) for place in self.folder.glob("[!.]*.json")
        ]
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
