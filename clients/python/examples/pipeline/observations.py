#!/usr/bin/env python3
"""Syncs observations with their photos and sounds, through crashes, dead networks and expired tokens.

    observations.py sync --queue DIR --records DIR --server URL [--token TOKEN] [--once]
    observations.py token --queue DIR NEWTOKEN
    observations.py abort --queue DIR UUID

DIR of --records holds UUID.json for each observation. `sync` goes on until nothing is left; with --once it
ends when all is enqueued and leaves the rest to the sidecar. clients/pipeline tells the whole story.
"""

import argparse
import sys

from records import Records
from sync import Sync, authorization, group_of, persist

from outtray import OuttrayError, UploadClient


def sync(given):
    Sync(given.queue, Records(given.records), given.server, given.token).run(given.once)


def token(given):
    # The sidecar may serve another process as well; this one is attached to it for one call.
    with UploadClient(given.queue, background=True) as uploads:
        persist(lambda: uploads.update_headers(authorization(given.newtoken)))


def abort(given):
    with UploadClient(given.queue, background=True) as uploads:
        persist(lambda: uploads.cancel_group(group_of(given.uuid)))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    commands = parser.add_subparsers(required=True)
    for run in (sync, token, abort):
        command = commands.add_parser(run.__name__)
        command.set_defaults(run=run)
        command.add_argument("--queue", required=True)
        if run is sync:
            command.add_argument("--records", required=True)
            command.add_argument("--server", required=True)
            command.add_argument("--token")
            command.add_argument("--once", action="store_true")
        else:
            command.add_argument("newtoken" if run is token else "uuid")
    given = parser.parse_args()
    try:
        given.run(given)
    except (OuttrayError, OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
