#!/usr/bin/env python3
"""Uploads every file of a folder, each with a PUT to URL/NAME, and shows a progress bar.

    upload_folder.py FOLDER URL [--queue DIR] [--token TOKEN]

The queue is on disk: interrupt it, or pull the plug, and run the same command again. What arrived is noted
beside the queue and not sent again. With tqdm installed the bar is tqdm's. Exit status 1 when a file was
refused for good.
"""

import argparse
import hashlib
import pathlib
import sys
import threading
import urllib.parse

from outtray import UploadClient

try:
    from tqdm import tqdm
except ImportError:
    tqdm = None


class PlainBar:
    """Stands in for tqdm: one line whenever another tenth is done."""

    def __init__(self, total):
        self.total, self.n, self.shown = total, 0, -1

    def refresh(self):
        tenth = 10 * self.n // max(1, self.total)
        if tenth != self.shown:
            self.shown = tenth
            print(f"{10 * tenth:3} %  {self.n} of {self.total} bytes", flush=True)

    def close(self):
        pass


def bar_for(total):
    if tqdm is None:
        return PlainBar(total)
    return tqdm(total=total, unit="B", unit_scale=True, unit_divisor=1024)


class Upload:
    """One run: what is to be sent, how far it is, and what went wrong."""

    def __init__(self, client, folder, url, notes):
        self.client, self.url, self.notes = client, url, notes
        there = set(notes.read_text().split()) if notes.exists() else set()
        found = {self.id_of(path): path for path in sorted(folder.rglob("*")) if path.is_file()}
        self.files = {id: path for id, path in found.items() if id not in there}
        self.folder = folder
        self.left, self.failures, self.sent = set(self.files), {}, {}
        self.changed = threading.Condition()
        self.send = client.define(
            key="file", request=self.request, on_success=self.arrived, on_error=self.failed
        )

    def id_of(self, path):
        """The same file has the same id in every run; a changed file is another one."""
        about = path.stat()
        return hashlib.sha256(
            f"{path}\0{about.st_size}\0{about.st_mtime_ns}\0{self.url}".encode()
        ).hexdigest()

    def request(self, vars):
        return {
            "url": f"{self.url}/{urllib.parse.quote(vars['name'])}",
            "method": "PUT",
            "file": str(self.folder / vars["name"]),
            "headers": {"Content-Type": "application/octet-stream"},
        }

    def arrived(self, response, vars, meta):
        # A handler may see an outcome twice; noting the id twice does no harm.
        with self.notes.open("a") as notes:
            notes.write(meta["id"] + "\n")
        self.done(meta["id"])

    def failed(self, error, vars, meta):
        self.done(meta["id"], f"{vars['name']}: {error['message']}")

    def done(self, id, failure=None):
        with self.changed:
            self.left.discard(id)
            if failure:
                self.failures[id] = failure
            if id in self.files:
                self.sent[id] = self.files[id].stat().st_size
            self.changed.notify()

    def progressed(self, progress):
        with self.changed:
            if progress["id"] in self.left:
                self.sent[progress["id"]] = progress["bytesSent"]
                self.changed.notify()

    def run(self, headers):
        self.client.add_listener("progress", self.progressed)
        self.client.configure(headers=lambda: headers)
        for id, path in self.files.items():
            self.send.mutate({"name": str(path.relative_to(self.folder))}, id=id)
        bar = bar_for(sum(path.stat().st_size for path in self.files.values()))
        with self.changed:
            while self.left:
                self.changed.wait(0.5)
                bar.n = sum(self.sent.values())
                bar.refresh()
        bar.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("url")
    parser.add_argument("--queue", type=pathlib.Path, default=pathlib.Path.home() / ".upload-folder")
    parser.add_argument("--token", help="sent as a bearer token")
    given = parser.parse_args()
    if not given.folder.is_dir():
        parser.error(f"{given.folder} is no folder")
    notes = given.queue.with_name(given.queue.name + ".arrived")
    with UploadClient(given.queue) as client:
        upload = Upload(client, given.folder.resolve(), given.url.rstrip("/"), notes)
        upload.run({"Authorization": f"Bearer {given.token}"} if given.token else {})
    print(f"{len(upload.files) - len(upload.failures)} of {len(upload.files)} files sent")
    for failure in upload.failures.values():
        print(f"failed: {failure}", file=sys.stderr)
    return 1 if upload.failures else 0


if __name__ == "__main__":
    sys.exit(main())
