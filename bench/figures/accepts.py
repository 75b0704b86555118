"""Durable accepts per second, with 1, 64 and 1,024 enqueues unanswered, beside one-row transactions of
SQLite itself (WAL, FULL; the same lines, in C) and puts of persist-queue's SQLiteAckQueue."""
import measure

NAME = "accepts"
WINDOWS = {1: 1000, 64: 20_000, 1024: 40_000}
TARGETS = {64: measure.at_least(10), 1024: measure.at_least(20)}
PEERS = ("SQLite", "persist-queue")


def measured(workshop):
    def ours(window, count):
        return rate(workshop.host(
            window, 1, workshop.lines(count), workshop.binary, "serve", "--dir", workshop.fresh()))

    def sqlite():
        return rate(workshop.told(
            workshop.program("commits"), workshop.fresh("database"), workshop.lines(workshop.scaled(1000))))

    def persist_queue():
        return rate(workshop.python("put_persist_queue.py", workshop.fresh(), workshop.scaled(500)))

    contenders = {"SQLite": sqlite, "persist-queue": persist_queue}
    for window, count in WINDOWS.items():
        contenders[window] = lambda window=window, count=workshop.scaled(count): ours(window, count)
    taken = measure.rounds(contenders, workshop.pairs)
    for peer in PEERS:
        for window in WINDOWS:
            yield measure.compare(
                f"accepts, {window} in flight", "/s", taken, window, peer,
                TARGETS.get(window) if peer == "SQLite" else None)


def rate(told):
    return measure.Sample(told["count"] / told["seconds"], told["cpu"] / told["count"])
