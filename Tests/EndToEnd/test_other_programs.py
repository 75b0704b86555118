"""Another program at the database: it waits, and is waited for."""
import contextlib
import sqlite3
import threading

from endtoend import deadline
from endtoend.requests import descriptor


def connect(directory, **options):
    return sqlite3.connect(directory / "queue.db", isolation_level=None, **options)


def test_a_store_01_a_hundred_calls_beside_another_writer(start, server, directory):
    """A-STORE-01: transactions of 200 ms from outside hold each call up and refuse none."""
    sidecar = start()
    sidecar.call("pause")
    stops = threading.Event()
    begun = []

    def write():
        with contextlib.closing(connect(directory, timeout=30)) as other:
            while not stops.is_set():
                other.execute("BEGIN IMMEDIATE")
                other.execute("INSERT OR REPLACE INTO setting VALUES ('another', '1')")
                begun.append(len(begun))
                stops.wait(0.2)
                other.execute("COMMIT")
                stops.wait(0.02)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for group in range(10):
            before = len(begun)
            deadline.until("the other one writes", lambda: len(begun) > before)
            calls = [sidecar.send("enqueue", {
                "id": f"{group}-{n}", "key": "k", "request": descriptor(server.url("/x"), data=n)})
                for n in range(10)]
            for call in calls:
                assert "result" in sidecar.answer(call, 30)
    finally:
        stops.set()
        writer.join()
    assert len(sidecar.rows()) == 100
    records = sidecar.call("takeDiagnostics")["records"]
    assert [record["level"] for record in records] == ["info"]


def test_a_store_02_the_log_is_short_again_after_a_long_reader(start, server, directory):
    """A-STORE-02: after an outside reader with a snapshot, and one more change, the log is under 16 MB."""
    sidecar = start()
    sidecar.call("pause")

    def change(ids):
        for id in ids:
            sidecar.send("enqueue", {"id": id, "key": "k", "request": descriptor(
                server.url("/x"), data="x" * 60_000)}, id=id)
        for id in ids:
            sidecar.result(id, 60)

    change(["first"])
    log = directory / "queue.db-wal"
    with contextlib.closing(connect(directory)) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM entry").fetchone() == (1,)
        change([str(n) for n in range(400)])
        assert log.stat().st_size > 16 << 20
        reader.execute("COMMIT")
    change(["last"])
    deadline.until("the log is short", lambda: log.stat().st_size <= 16 << 20)
    # No read of the sidecar's is left open: another one can empty the log.
    with contextlib.closing(connect(directory)) as other:
        deadline.until("the log can be emptied",
                       lambda: other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0)
