"""getRequests of 100,000 rows, all pages, beside SQLite that makes the same JSON of the same rows."""
import json
import sqlite3
import time

import measure
import sidecar

NAME = "rows"
COUNT = 100_000
FIELDS = ("id", "key", "vars", "state", "bytesSent", "totalBytes", "attempts", "updatedAt")


def measured(workshop):
    count = workshop.scaled(COUNT)
    directory = workshop.queue(count)
    with workshop.serve(directory) as serving:
        database = sqlite3.connect(workshop.fresh("rows"))
        read(serving, lambda rows: None)
        database.execute(f"CREATE TABLE rows (number INTEGER PRIMARY KEY, {', '.join(FIELDS)})")
        read(serving, lambda rows: database.executemany(
            f"INSERT INTO rows ({', '.join(FIELDS)}) VALUES ({', '.join('?' * len(FIELDS))})",
            [[json.dumps(row[f]) if f == "vars" else row[f] for f in FIELDS] for row in rows]))
        database.commit()

        def ours():
            cpu, began, seen = serving.cpu, time.perf_counter(), []
            read(serving, lambda rows: seen.append(len(rows)))
            took = time.perf_counter() - began
            assert sum(seen) == count, sum(seen)
            return measure.Sample(count / took, (serving.cpu - cpu) / count)

        def sqlite():
            members = ", ".join(f"'{f}', {'json(vars)' if f == 'vars' else f}" for f in FIELDS)
            cpu, began, seen = time.process_time(), time.perf_counter(), 0
            for text, in database.execute(f"SELECT json_object({members}) FROM rows ORDER BY number"):
                seen += bool(json.loads(text))
            assert seen == count
            return measure.Sample(
                count / (time.perf_counter() - began), (time.process_time() - cpu) / count)

        taken = measure.rounds({"outtray": ours, "SQLite, json_object": sqlite}, workshop.pairs)
        yield measure.compare(
            f"getRequests of {count} rows", "rows/s", taken, "outtray", "SQLite, json_object")


def read(serving, with_rows):
    cursor = {}
    while True:
        page = serving.call("getRequests", cursor)
        with_rows(page["requests"])
        if "nextCursor" not in page:
            return
        cursor = {"cursor": page["nextCursor"]}
