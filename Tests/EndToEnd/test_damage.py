"""A queue directory that is not as it was left: damaged, emptied, foreign, newer."""
import contextlib
import os
import shutil
import sqlite3
import threading

import pytest

from endtoend import deadline, rawserver
from endtoend.frames import RPCError
from endtoend.requests import descriptor, enqueue

PAGE = 4096


def fill(start, server, directory, tmp_path):
    """A queue with a paused entry that has a staged body, left by a SIGKILL; returns the folder of bodies."""
    source = tmp_path / "source"
    source.write_bytes(os.urandom(200_000))
    sidecar = start()
    sidecar.call("pause")
    enqueue(sidecar, server.url("/x"), id="kept", method="PUT", file=str(source))
    sidecar.kill()
    folder, = directory.glob("bodies-*")
    return folder


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def without_log(directory):
    """Copies the log into the database, as a clean end may have done."""
    with contextlib.closing(sqlite3.connect(directory / "queue.db")) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def errors(sidecar):
    return [record for record in sidecar.call("takeDiagnostics")["records"] if record["level"] != "info"]


def last_line(sidecar):
    return sidecar.stderr().splitlines()[-1]


# What a start finds

@pytest.mark.parametrize("first, last", [(0, 1), (1, 4)], ids=["header", "pages behind it"])
def test_a_store_05_a_damaged_database_is_set_aside(start, server, directory, tmp_path, first, last):
    """A-STORE-05, D37: kept under a new name, its bodies untouched, one error told, and the queue works."""
    folder = fill(start, server, directory, tmp_path)
    bodies = contents(folder)
    without_log(directory)
    with open(directory / "queue.db", "r+b") as database:
        database.seek(first * PAGE)
        database.write(b"\x5a" * PAGE * (last - first))
    damaged = (directory / "queue.db").read_bytes()

    sidecar = start()
    sidecar.subscribe()
    assert sidecar.rows() == []
    aside, = directory.glob("queue.db.damaged-*[0-9]")
    assert aside.read_bytes() == damaged
    assert contents(folder) == bodies
    record, = errors(sidecar)
    assert record["level"] == "error" and aside.name in record["message"]
    enqueue(sidecar, server.url("/new"), id="new")
    assert sidecar.settled("new")["kind"] == "completed"
    assert sidecar.close() == 0
    again = start()
    assert errors(again) == [] and contents(folder) == bodies


@pytest.mark.parametrize("lost", ["emptied", "missing", "emptied beside its log", "missing beside its log"])
def test_a_store_06_no_body_is_deleted_when_its_database_is_gone(start, server, directory, tmp_path, lost):
    """A-STORE-06, D37: the folder stays, over several starts; a log that is left is kept under a new name."""
    folder = fill(start, server, directory, tmp_path)
    bodies = contents(folder)
    if "beside" not in lost:
        without_log(directory)
        for name in ("queue.db-wal", "queue.db-shm"):
            (directory / name).unlink(missing_ok=True)
    log = (directory / "queue.db-wal").read_bytes() if "beside" in lost else None
    (directory / "queue.db").unlink()
    if "emptied" in lost:
        (directory / "queue.db").touch()

    for run in range(2):
        sidecar = start()
        sidecar.subscribe()
        assert sidecar.row("kept") is None
        enqueue(sidecar, server.url("/new"), id=f"new{run}")
        sidecar.ack(sidecar.settled(f"new{run}"))
        assert contents(folder) == bodies
        assert len(errors(sidecar)) == (1 if log and run == 0 else 0)
        assert sidecar.close() == 0
    assert contents(folder) == bodies
    if log:
        assert log in [path.read_bytes() for path in directory.glob("queue.db.damaged-*-wal")]


def test_d37_a_lost_log_does_not_stop_the_start(start, server, directory, tmp_path):
    """D37: the index of the log is made anew; without the log the database is what was copied into it."""
    fill(start, server, directory, tmp_path)
    (directory / "queue.db-shm").unlink()
    sidecar = start()
    assert sidecar.row("kept")["state"] == "paused"
    sidecar.kill()
    without_log(directory)
    before = shutil.copytree(directory, tmp_path / "before", ignore=shutil.ignore_patterns("socket"))
    sidecar = start()
    enqueue(sidecar, server.url("/x"), id="later")
    sidecar.kill()
    for name in ("queue.db-wal", "queue.db-shm"):
        (directory / name).unlink()
    sidecar = start()
    assert sidecar.row("kept")["state"] == "paused"
    sidecar.kill()
    # An older database under a newer log.
    shutil.copy(before / "queue.db", directory / "queue.db")
    sidecar = start()
    sidecar.call("getRequests")
    enqueue(sidecar, server.url("/x"), id="after")
    assert sidecar.close() == 0


def test_d39_a_newer_database_is_refused_and_not_touched(start, server, directory, tmp_path):
    """D39: exit 73, the reason is the last line of stderr, no byte has changed."""
    folder = fill(start, server, directory, tmp_path)
    without_log(directory)
    with contextlib.closing(sqlite3.connect(directory / "queue.db")) as database:
        database.execute("PRAGMA user_version = 99")
    without_log(directory)
    before = (directory / "queue.db").read_bytes(), contents(folder)
    sidecar = start()
    assert sidecar.wait_exit() == 73
    assert "newer version" in last_line(sidecar) and "99" in last_line(sidecar)
    assert ((directory / "queue.db").read_bytes(), contents(folder)) == before


def test_d37_the_database_of_another_program_is_refused_and_not_touched(start, directory):
    """D37: exit 73, the reason is the last line of stderr, no byte has changed."""
    directory.mkdir()
    with contextlib.closing(sqlite3.connect(directory / "queue.db")) as database:
        database.executescript("PRAGMA application_id = 7; CREATE TABLE theirs (a)")
    before = (directory / "queue.db").read_bytes()
    sidecar = start()
    assert sidecar.wait_exit() == 73
    assert "another program" in last_line(sidecar)
    assert (directory / "queue.db").read_bytes() == before


# What happens while it runs

def test_d37_damage_met_while_running(start, server, directory):
    """D37: E_STORAGE, nothing goes out any more, one error told, and the process answers to the end."""
    gate = threading.Event()
    server.on("/held", rawserver.hold(gate))
    sidecar = start()
    sidecar.call("takeDiagnostics")
    sidecar.call("pause", keys=["paused"])
    # More than SQLite keeps in memory.
    for n in range(300):
        request = descriptor(server.url("/never"), data="x" * 60_000)
        sidecar.send("enqueue", {"id": str(n), "key": "paused", "request": request}, id=f"enqueue {n}")
    for n in range(300):
        sidecar.result(f"enqueue {n}", 60)
    enqueue(sidecar, server.url("/held"), id="held")
    held, = server.wait_requests(1, "/held")
    for name in ("queue.db", "queue.db-wal"):
        with open(directory / name, "r+b") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(PAGE)
            file.write(b"\x5a" * (size - PAGE))

    def refused():
        answer = sidecar.answer(sidecar.send("resume", {"keys": ["paused"]}))
        return answer.get("error", {}).get("data", {}).get("code") == "E_STORAGE"
    deadline.until("a change is refused", refused)
    deadline.until("the request in flight is stopped", held.connection.peer_closed)
    gate.set()
    server.quiet(0.5)
    with pytest.raises(RPCError) as refusal:
        enqueue(sidecar, server.url("/held"), id="another")
    assert refusal.value.code == "E_STORAGE"
    assert sidecar.call("ping")["now"] > 0
    record, = errors(sidecar)
    assert record["level"] == "error" and "damaged" in record["message"]
    assert errors(sidecar) == []
    assert sidecar.close() == 0

    again = start()
    assert [record["level"] for record in errors(again)] == ["error"]
    assert list(directory.glob("queue.db.damaged-*"))
    again.subscribe()
    enqueue(again, server.url("/new"), id="new")
    assert again.settled("new")["kind"] == "completed"
