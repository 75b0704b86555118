"""Acceptance of a file of 10 GB by move and by reference, beside a small one: no byte of it is touched."""
import os
import statistics
import time

import measure
from workshop import HELD

NAME = "accept_file"
LARGE, SMALL = 10 * 10**9, 100_000
# Files that one sample is the median of.
CALLS = 20


def measured(workshop):
    files = {"large": workshop.file(LARGE, sparse=True), "small": workshop.file(SMALL)}
    with workshop.serve(workshop.fresh()) as serving:
        serving.call("pause", {"keys": [HELD]})
        taken = measure.rounds({
            f"{size}, {staging}": lambda size=size, staging=staging: accepted(
                workshop, serving, files[size], staging)
            for staging in ("move", "reference") for size in files}, workshop.pairs)
    for staging in ("move", "reference"):
        yield measure.compare(
            f"accept of 10 GB by {staging}", "µs", taken, f"large, {staging}", f"small, {staging}",
            measure.at_most(1.2), peer_name="100 kB")


def accepted(workshop, serving, file, staging):
    took, cpu = [], serving.cpu
    for number in range(CALLS):
        path = file
        if staging == "move":
            path = workshop.fresh("moved")
            os.link(file, path)
        params = {"id": f"file {number}", "key": HELD, "request": {
            "url": "http://127.0.0.1:9/", "method": "PUT", "file": str(path), "staging": staging}}
        began = time.perf_counter()
        serving.call("enqueue", params)
        took.append(time.perf_counter() - began)
        serving.call("cancel", {"id": params["id"]})
    return measure.Sample(statistics.median(took) * 1e6, (serving.cpu - cpu) / CALLS)
