"""outtray verify: what is wrong with a database and its bodies, and that looking changes nothing."""
import os
import sqlite3

import pytest

from endtoend.requests import enqueue

NOWHERE = "http://127.0.0.1:1/"


def damaged(directory, sql, *values):
    database = sqlite3.connect(directory / "queue.db", isolation_level=None)
    database.execute("PRAGMA ignore_check_constraints = ON")
    database.execute("PRAGMA foreign_keys = OFF")
    database.execute(sql, values)
    database.close()


@pytest.fixture
def stored(start, directory, tmp_path):
    """A queue of one entry with a body file, and the path of that."""
    source = tmp_path / "source"
    source.write_bytes(bytes(100_000))
    sidecar = start()
    sidecar.call("pause")
    enqueue(sidecar, NOWHERE, id="a", file=str(source))
    assert sidecar.close() == 0
    body, = directory.glob("bodies-*/*")
    return body


def test_verify_finds_nothing_where_all_is_well(command, stored, start):
    """verify: exit 0, every check ok; a file that no row names is listed, and is not wrong."""
    stray = stored.parent / "stray"
    stray.write_bytes(b"abc")
    for _ in range(2):
        lines = command.json("verify")
        assert all(line["ok"] for line in lines if "check" in line)
        assert {line["check"]: line["looked"] for line in lines if "check" in line}["bodies"] == 1
        assert [line for line in lines if "unnamed" in line] == [
            {"unnamed": f"{stored.parent.name}/stray", "bytes": 3}]
        start().call("ping")
    assert "no row names" in command("verify").output


@pytest.mark.parametrize("harm, check, text", [
    (lambda body, directory: body.unlink(), "bodies", "is not there"),
    (lambda body, directory: os.truncate(body, 5), "bodies", "has 5 of the 100000 bytes"),
    (lambda body, directory: damaged(directory, "UPDATE bucket SET queued = 3"), "counts",
     "queued is 3, its entries say 1"),
    (lambda body, directory: damaged(directory, "UPDATE entry_text SET request = '{'"), "entries",
     "a: the row cannot be read"),
    (lambda body, directory: damaged(directory, "UPDATE entry SET bucket = 77"), "references", "row entry"),
])
def test_verify_finds_what_is_wrong(command, stored, directory, harm, check, text):
    """verify: exit 1, and the check says what."""
    harm(stored, directory)
    wrong = [line for line in command.json("verify", status=1) if not line.get("ok", True)]
    assert check in [line["check"] for line in wrong]
    assert any(text in problem for line in wrong for problem in line["problems"])
    assert "FAIL" in command("verify", status=1).output


def test_verify_finds_damaged_pages(command, stored, directory, start):
    """D37: pages that are no database's are found, and nothing is set aside by looking."""
    database = sqlite3.connect(directory / "queue.db")
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    with open(directory / "queue.db", "r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 4096 * 8)
    def names():
        return sorted(path.name for path in directory.iterdir() if path.suffix not in (".db-shm", ".db-wal"))

    before = names()
    wrong, *_ = [line for line in command.json("verify", status=1) if not line["ok"]]
    assert wrong["check"] == "pages" and wrong["problems"]
    refused = command("pause", status=73)
    assert "database" in refused.reason
    assert names() == before


@pytest.fixture
def linked(start, directory):
    """A queue of two entries in a lane and a group, one of which takes a value from the other."""
    sidecar = start()
    sidecar.call("pause")
    shared = {"key": "k", "group": "g", "lane": "l"}
    sidecar.call("enqueueAll", entries=[
        {"id": "a", **shared, "request": {"url": NOWHERE}},
        {"id": "b", **shared, "request": {"url": f"{NOWHERE}{{v}}"},
         "bind": {"v": {"entry": "a", "pointer": "/v"}}}])
    assert sidecar.close() == 0
    return directory


@pytest.mark.parametrize("harm, check, text", [
    ("UPDATE dependency SET successor = 77", "dependencies", "an entry that is gone: waits for a"),
    ("UPDATE dependency SET is_open = 0", "dependencies", "b: waits for a, and does not know"),
    ("UPDATE dependency SET is_met = 1", "dependencies", "b: waits for 1 others, 0 have not completed"),
    ("DELETE FROM dependency", "dependencies", "b: waits for 1 others, 0 have not completed"),
    ("UPDATE binding SET successor = 77", "dependencies", "an entry that is gone: bind.v"),
    ("UPDATE binding SET predecessor = 'x'", "dependencies", "b: bind.v"),
    ("UPDATE dependency SET is_met = 1", "dependencies", "b: bind.v has no value"),
    ("INSERT INTO consequence (id, through, outcome) VALUES ('a', 1, '{')", "consequences",
     "a: its end cannot be read"),
    ("UPDATE lane_place SET entry = 77 WHERE place = 1", "lanes", "a: has no place in lane l"),
    ("UPDATE lane_place SET lane = 'm' WHERE place = 2", "lanes", "b: has a place in lane m, not its own"),
    ("DELETE FROM lane_place WHERE place = 1", "lanes", "b: waits, with nobody before it in its lane"),
    ("UPDATE member SET bucket = 77", "groups", "group g: counts its live members wrongly"),
    ("UPDATE member_group SET live = 0", "groups", "group g: has not settled, with 0 live members"),
    ("UPDATE member_group SET settled_event = 'x', live = 0", "groups", "group g: its outcome is gone"),
    ("UPDATE entry SET group_number = 77", "references", "row entry"),
])
def test_d45_d46_d47_d48_verify_looks_at_what_binds_entries(command, linked, harm, check,
                                                                text):
    """D45, D46, D47, D48: dependencies, bindings, consequences, lanes and groups name what there is."""
    assert all(line["ok"] for line in command.json("verify"))
    damaged(linked, harm)
    wrong = {line["check"]: line["problems"] for line in command.json("verify", status=1)}
    assert any(text in problem for problem in wrong[check]), wrong
