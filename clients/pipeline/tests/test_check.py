"""The checker on made-up ledgers: each kind of violation is found, and nothing else."""
import copy

import pytest

import check
from check import Medium, Observation

PHOTO, SOUND = Medium("photo", "a" * 64), Medium("sound", "b" * 64)
FIRST = Observation("first", "a bird", (PHOTO, SOUND), created_at=1)
SECOND = Observation("second", "a frog", (Medium("photo", "c" * 64),), created_at=2)
OLD = Observation("old", "later", (Medium("photo", "d" * 64, server_id=7), Medium("photo", "e" * 64)),
                  created_at=3, server_id=5)
ALL = [FIRST, SECOND, OLD]


def medium(id, kind, letter, request):
    return {"id": id, "kind": kind, "sha256": letter * 64, "uuid": "", "request": request}


def attachment(id, observation, kind, medium, request):
    return {"id": id, "observation": observation, "kind": kind, "medium": medium, "request": request}


@pytest.fixture
def state():
    """All three observations, complete and in order."""
    return copy.deepcopy({
        "media": [medium(7, "photo", "d", 1), medium(8, "photo", "a", 4), medium(9, "sound", "b", 5),
                  medium(10, "photo", "c", 6), medium(11, "photo", "e", 7)],
        "observations": [{"id": 5, "uuid": "old", "note": "later", "request": 2},
                         {"id": 6, "uuid": "first", "note": "a bird", "request": 8},
                         {"id": 7, "uuid": "second", "note": "a frog", "request": 9}],
        "updates": [{"observation": 5, "note": "later", "ignore_photos": 1, "request": 10}],
        "attachments": [attachment(1, 5, "photo", 7, 3), attachment(2, 6, "photo", 8, 11),
                        attachment(3, 6, "sound", 9, 12), attachment(4, 7, "photo", 10, 13),
                        attachment(5, 5, "photo", 11, 14)],
        "requests": []})


def kinds(violations):
    return sorted({violation.kind for violation in violations})


def drop(state, table, id):
    state[table] = [row for row in state[table] if row["id"] != id]


def again(state, table, id, **changed):
    row = next(row for row in state[table] if row["id"] == id)
    state[table].append({**row, "id": 100, **changed})


def test_a_sound_ledger_has_none(state):
    assert check.on_server(ALL, state) == []
    assert check.is_complete(ALL, state)


def test_an_update_that_was_repeated_is_none(state):
    state["updates"].append({**state["updates"][0], "request": 15})
    assert check.on_server(ALL, state) == []


@pytest.mark.parametrize("change, found", [
    (lambda state: drop(state, "media", 8), ["incomplete", "stray"]),
    (lambda state: drop(state, "attachments", 3), ["incomplete"]),
    (lambda state: drop(state, "attachments", 1), ["incomplete"]),
    (lambda state: drop(state, "observations", 7), ["incomplete", "stray"]),
    (lambda state: state["updates"].clear(), ["incomplete", "order"]),
    (lambda state: again(state, "media", 9), ["duplicate"]),
    (lambda state: again(state, "observations", 6), ["duplicate"]),
    (lambda state: again(state, "attachments", 4), ["duplicate"]),
    (lambda state: again(state, "observations", 5), ["duplicate"])])
def test_what_is_missing_or_twice_is_found(state, change, found):
    change(state)
    assert kinds(check.on_server(ALL, state)) == found


def test_a_medium_that_is_twice_with_an_attachment_each_is_found(state):
    again(state, "media", 8)
    again(state, "attachments", 2, medium=100)
    violations = check.on_server(ALL, state)
    assert kinds(violations) == ["duplicate"] and len(violations) == 2


@pytest.mark.parametrize("table, id, member, value, found", [
    ("media", 8, "request", 10.5, ["order"]),  # After its observation.
    ("attachments", 2, "request", 7.5, ["order"]),  # Before it.
    ("attachments", 5, "request", 9.5, ["order"]),  # Before the update.
    ("observations", 6, "request", 9.5, ["order"]),  # The second came before the first.
    ("attachments", 2, "observation", 7, ["incomplete", "stray"]),
    ("attachments", 4, "medium", 99, ["incomplete", "stray"]),
    ("observations", 6, "note", "a cat", ["content"]),
    ("observations", 5, "note", "before", ["content"]),
    ("observations", 7, "uuid", "third", ["incomplete", "stray"]),
    ("media", 10, "sha256", "f" * 64, ["incomplete", "stray"]),
    ("media", 10, "kind", "sound", ["incomplete", "stray"])])
def test_what_is_other_than_it_should_be_is_found(state, table, id, member, value, found):
    next(row for row in state[table] if row["id"] == id)[member] = value
    assert kinds(check.on_server(ALL, state)) == found


def test_an_update_without_ignore_photos_is_found(state):
    state["updates"][0]["ignore_photos"] = 0
    assert kinds(check.on_server(ALL, state)) == ["content"]


def test_before_the_end_what_is_missing_is_none_and_what_is_twice_is_one(state):
    drop(state, "attachments", 4)
    assert check.duplicates(ALL, state) == []
    again(state, "media", 9)
    assert kinds(check.duplicates(ALL, state)) == ["duplicate"]
    assert not check.is_complete(ALL, state)


MARKED = {"uuid": "first", "note": "a bird", "needs_sync": False, "server_id": 6}


@pytest.mark.parametrize("record, found", [
    (MARKED, []), (None, ["record"]), ({**MARKED, "needs_sync": True}, ["unmarked"]),
    ({**MARKED, "server_id": None}, ["unmarked"]), ({**MARKED, "server_id": 7}, ["unmarked"]),
    ({**MARKED, "note": ""}, ["record"]), ({"uuid": "first", "note": "a bird"}, ["unmarked"])])
def test_a_record_that_is_not_marked_is_found(state, record, found):
    assert kinds(check.on_record(FIRST, record, state)) == found


def test_a_mark_that_came_too_early_is_found(state):
    assert check.on_premature_mark(FIRST, MARKED, state) == []
    drop(state, "attachments", 3)
    assert kinds(check.on_premature_mark(FIRST, MARKED, state)) == ["record"]
    assert check.on_premature_mark(FIRST, {**MARKED, "needs_sync": True}, state) == []
    assert check.on_premature_mark(FIRST, None, state) == []


@pytest.mark.parametrize("lines, found", [
    ([0, 0.5, 1], []), ([], ["progress"]), ([0, 0.9], ["progress"]), ([0, 0.5, 0.4, 1], ["progress"])])
def test_progress_goes_from_0_to_1_and_never_back(lines, found):
    assert kinds(check.on_progress(lines)) == found
