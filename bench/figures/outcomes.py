"""Outcomes delivered and acknowledged per second, from a full journal, beside persist-queue's
SQLiteAckQueue and its get and ack."""
import time

import measure
import sidecar
from figures.memory import with_outcomes

NAME = "outcomes"
COUNT = 20_000
WINDOWS = (64, 1024)


def measured(workshop):
    count = workshop.scaled(COUNT)

    def ours(window):
        directory = with_outcomes(workshop, count)
        with workshop.serve(directory) as serving:
            serving.call("takeDiagnostics")
            subscribe = sidecar.line("all", "subscribe", {"events": ["settled"], "window": window})
            cpu, began = serving.cpu, time.perf_counter()
            assert len(list(serving.settle([subscribe], count))) == count
            return measure.Sample(count / (time.perf_counter() - began), (serving.cpu - cpu) / count)

    def persist_queue():
        told = workshop.python("ack_persist_queue.py", workshop.fresh(), workshop.scaled(1000))
        return measure.Sample(told["count"] / told["seconds"], told["cpu"] / told["count"])

    contenders = {window: lambda window=window: ours(window) for window in WINDOWS}
    taken = measure.rounds({**contenders, "persist-queue": persist_queue}, workshop.pairs)
    for window in WINDOWS:
        yield measure.compare(f"outcomes acknowledged, window {window}", "/s", taken, window, "persist-queue")
