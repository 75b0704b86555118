"""The crash points themselves: the model forgets what was not synced, and a missing sync is noticed."""
import os
import random
import subprocess
import sys

import pytest

import crash_points
from drills import command, injection, powerloss

# Where in the run the power goes, of a hundred; where most is under way comes first.
SHARES = (55, 65, 40, 75, 85, 20)
# Makes a file, as if to put it in the place of another, and says that it is there.
RENAMING = """
import os, sys
os.chdir(sys.argv[1])
new = os.open("new", os.O_WRONLY | os.O_CREAT, 0o600)
os.write(new, b"x" * 10_000)
if "file" in sys.argv: os.fsync(new)
os.rename(os.path.abspath("new"), os.path.abspath("name"))
if "folder" in sys.argv: os.fsync(os.open(".", os.O_RDONLY))
print("done", flush=True)
"""


def after_power_cuts(tmp_path, *synced):
    """What a program has left under `name` after each cut behind its word, as often as it may be so."""
    work, trace = tmp_path / "work", tmp_path / "trace"
    work.mkdir()
    library = injection.compiled("recording", tmp_path)
    subprocess.run([sys.executable, "-c", RENAMING, work, *synced], check=True, stdout=subprocess.PIPE, env={
        **os.environ, "LD_PRELOAD": str(library), "TRACE": str(trace), "RECORDED": str(work)})
    records = powerloss.read(trace, tmp_path)
    assert records[-1].operation == powerloss.TOLD
    folder = powerloss.File(is_folder=True)
    disk = powerloss.Disk({"work": folder}, {work.stat().st_ino: folder})
    for record in records:
        disk.follow(record)
    variants = [*crash_points.VARIANTS] + ["torn"] * 50
    return [disk.cut(variant, random.Random(number)).fill().files.get("work/name")
            for number, variant in enumerate(variants)]


def test_a_rename_without_a_sync_of_the_folder_is_lost(tmp_path):
    """A-STORE-07: in some states it is there, with all its bytes, and in some it is not."""
    assert set(after_power_cuts(tmp_path, "file")) == {None, b"x" * 10_000}


def test_a_rename_without_a_sync_of_the_file_has_not_its_bytes(tmp_path):
    """A-STORE-07: none of them, some of them, or zeros."""
    found = after_power_cuts(tmp_path, "folder")
    assert None not in found and {b"", b"x" * 10_000, bytes(10_000)} < set(found)
    assert any(0 in content and b"x" in content for content in found), "some sectors and not others"


def test_a_rename_with_both_syncs_is_kept(tmp_path):
    """A-STORE-07: in every state."""
    assert set(after_power_cuts(tmp_path, "file", "folder")) == {b"x" * 10_000}


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recording")
    options = command.Options(0, 1, folder)
    return crash_points.record(options, "run")[0]


@pytest.mark.parametrize("kind", [
    "log", "database", "body", "bodies folder", "queue folder", "folder above", "caller's folder"])
def test_d27_d28_d35_a_sync_that_is_missing_is_noticed(recording, tmp_path, kind):
    """D27, D28, D35: every kind of sync that the store makes is one without which something is lost."""
    for share in SHARES:
        if faults_without(recording, tmp_path, {kind}, [share]):
            return
    raise AssertionError(f"nothing is missed without the syncs of {kind}")


def test_d35_with_all_syncs_nothing_is_missed(recording, tmp_path):
    """D35: at the same points as above."""
    faults = faults_without(recording, tmp_path, set(), SHARES)
    assert not faults, faults


def test_torn_states_are_all_different(recording):
    """Their keys, while the states themselves come and go."""
    points, chance = crash_points.Points(recording), command.Options(0, 1, recording).chance
    torn = [(state.key(), any(file.later for file in state.names.values()))
            for _, variant, state in points.states(chance) if variant.startswith("torn")]
    assert sum(has_later for _, has_later in torn) > 100
    keys = [key for key, has_later in torn if has_later]
    assert len(set(keys)) == len(keys)


def faults_without(recording, folder, missing, shares):
    points = crash_points.Points(recording, missing)
    result = command.Result(crash_points.NAME, 1)
    options = command.Options(0, 1, folder)
    last = len(points.cuts) - 1
    crash_points.Trial(points, options, result).perform({
        (last * share // 100, "nothing more") for share in shares})
    return result.faults
