"""The short form of the matrix, and that what does not hold is noticed."""
import json
import os
import subprocess
import sys
import time

import pytest

import check
import programs
import rounds
import run

BINARY = os.path.abspath(os.environ.get("OUTTRAY") or programs.ROOT / ".build" / "outtray")
NOTHING = [sys.executable, "-c", ""]


def test_d42_d45_to_d50_every_program_bears_the_kills(tmp_path, capfd):
    """D42, D45, D46, D47, D48, D50: each language, and without a client."""
    status = run.main(["--short", "--json", str(tmp_path / "found.json"), *programs.SOURCES])
    assert status == 0, capfd.readouterr()
    told = json.loads((tmp_path / "found.json").read_text())
    assert {row["language"] for row in told["cells"]} == set(programs.SOURCES)
    # Every step of every program was followed by a kill, the last one too.
    assert all(row["kills"] >= row["steps"] for row in told["cells"])


@pytest.mark.parametrize("language", programs.SOURCES)
def test_a_folder_of_records_that_is_not_there_is_no_empty_one(language, tmp_path):
    done = sync(language, tmp_path, tmp_path / "none")
    assert done.returncode == 1 and "none" in done.stderr


@pytest.mark.parametrize("language", ["javascript", "python", "go"])
def test_a_record_that_is_no_json_is_named(language, tmp_path):
    (tmp_path / "half.json").write_text('{"uuid": "a",')
    done = sync(language, tmp_path, tmp_path)
    assert done.returncode == 1
    assert "half.json: " in done.stderr and len(done.stderr.splitlines()) == 1


def sync(language, folder, records):
    command = [*programs.command_of(language, folder), "sync", "--queue", folder / "queue",
               "--records", records, "--server", "http://127.0.0.1:9"]
    environment = programs.environment(BINARY)
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)


def test_a_program_that_does_nothing_is_noticed():
    result = rounds.play("nothing", rounds.undisturbed, NOTHING, BINARY, 1, 0)
    assert set(check.by_kind(result.violations)) == {"incomplete", "unmarked", "progress"}


def test_a_program_that_outlives_its_kill_is_noticed():
    result = rounds.play("nothing", rounds.killed_after_step, NOTHING, BINARY, 0, 0, 1)
    assert "exit" in check.by_kind(result.violations) and result.kills == 0


def test_a_program_that_fails_is_noticed():
    program = [sys.executable, "-c", "raise SystemExit(3)"]
    result = rounds.play("fails", rounds.undisturbed, program, BINARY, 0, 0)
    assert "exit" in check.by_kind(result.violations)


def test_a_program_that_hangs_is_noticed_and_ended(monkeypatch):
    monkeypatch.setattr(rounds, "SECONDS", 1)
    monkeypatch.setattr("stage.SECONDS", 1)
    result = rounds.play("hangs", rounds.undisturbed, [sys.executable, "-c", "import time; time.sleep(60)"],
                         BINARY, 0, 0)
    assert "hang" in check.by_kind(result.violations)


def test_a_sidecar_that_does_not_answer_is_noticed_and_ended(tmp_path, monkeypatch):
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\nexec sleep 60\n")
    silent.chmod(0o755)
    monkeypatch.setattr("stage.SECONDS", 0.5)
    result = rounds.play("silent", lambda stage: stage.look_at_queue(), NOTHING, str(silent))
    assert [str(one) for one in result.violations] == [
        "fault: RuntimeError: getRequests was not answered within 0.5 s"]


def test_a_process_that_is_left_over_is_noticed_and_ended(tmp_path):
    program = "import time; print(flush=True); time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE)
    try:
        process.stdout.readline()  # A process that is still being loaded has no arguments yet.
        assert programs.wait_for_end(tmp_path, 0.1) == [process.pid]
        programs.kill([process.pid])
        begun = time.monotonic()
        assert programs.wait_for_end(tmp_path, 20) == [] and time.monotonic() - begun < 10
    finally:
        process.kill()
        process.communicate()


def test_a_round_that_raises_is_a_violation():
    def round(stage):
        raise ValueError("a defect of the round")
    result = rounds.play("raises", round, NOTHING, BINARY)
    assert [str(one) for one in result.violations] == ["fault: ValueError: a defect of the round"]


def test_the_table_says_what_failed(capfd):
    bad = rounds.Result("b", [check.Violation("duplicate", "x"), check.Violation("incomplete", "y"),
                              check.Violation("order", "z")], ["started"], kills=1)
    row = run.summed("go", 2, [rounds.Result("a", [], ["started"], is_calm=True), bad])
    assert run.table([row])[-1] == "| go | 2 | 2 | 1 | 1 | 1 | 1 | 1 | FAILED |"
    lines = run.ways_table({"go": [bad], "python": [rounds.Result("b", [])]})
    assert lines[-1].endswith("| FAILED | holds |")


def test_an_unknown_language_and_a_missing_program_are_said(capfd, monkeypatch):
    with pytest.raises(SystemExit):
        run.main(["cobol"])
    monkeypatch.setitem(programs.SOURCES, "go", programs.ROOT / "clients/go/none")
    monkeypatch.setenv("OUTTRAY", sys.executable)
    assert run.main(["go"]) == 1
    assert "there is no program at clients/go/none" in capfd.readouterr().err
