"""`outtray check`: the acceptance test of a new machine."""
import functools
import json
import os
import re
import signal
import subprocess
import threading

import pytest

from endtoend import rawserver
from endtoend.acceptance import Check
from endtoend.binary import ROOT

STAGES = ["plain", "form", "parts", "500 then 201", "connection cut", "sidecar killed", "host gone"]
NEEDS_THE_RECEIVER = {"500 then 201", "connection cut"}
ATTEMPTS = {"plain": 1, "form": 1, "parts": 3}
SHA256 = re.compile("[0-9a-f]{64}")


REFUSED = "enqueue was refused: E_INVALID request.parts: is not served by this version"


@functools.cache
def serves_parts(binary):
    """Whether `parts` is served. A sidecar of a contract that has it for later may refuse it by its name."""
    document = json.loads((ROOT / "protocol" / "openrpc.json").read_text(encoding="utf-8"))
    parts = document["components"]["schemas"]["Descriptor"]["properties"]["parts"]
    if parts.get("x-since") != "next":
        return True
    run = subprocess.run([binary, "check", "--json"], capture_output=True, timeout=90, check=False)
    evidence = [json.loads(line) for line in run.stdout.splitlines()]
    return not any(line.get("reason") == REFUSED for line in evidence)


def verdicts(check):
    return {stage: evidence["verdict"] for stage, evidence in check.evidence.items()}


def expected(binary, **others):
    """The verdicts where everything works, but for `others`."""
    return {stage: others.get(stage, "ok" if stage != "parts" or serves_parts(binary) else "failed")
            for stage in STAGES}


@pytest.fixture
def run(binary, tmp_path):
    """Starts checks; none of them may leave anything behind."""
    folder = tmp_path / "check"
    folder.mkdir()
    started = []

    def begin(*arguments, **options):
        started.append(Check(binary, folder, *arguments, **options))
        return started[-1]

    yield begin
    for check in started:
        check.dispose()
        assert check.left() == []


def test_it_works_on_this_machine(run, binary):
    """Every stage holds, hashes are equal, transport errors and statuses are apart, exit 0."""
    # A proxy of the environment must not matter on loopback.
    check = run(env={"http_proxy": "http://127.0.0.1:1", "all_proxy": "http://127.0.0.1:1"}).finish()
    assert verdicts(check) == expected(binary), check.evidence
    for stage, evidence in check.evidence.items():
        if evidence["verdict"] != "ok":
            continue
        assert evidence["bytes"] == evidence["size"] > 0
        assert evidence["sha256Equal"] is True
        assert evidence["sha256"] == evidence["sha256Arrived"] and SHA256.fullmatch(evidence["sha256"])
        assert evidence["attempts"] == ATTEMPTS.get(stage, 2)
        assert [error["kind"] for error in evidence["transportErrors"]] == (
            ["network"] if stage == "connection cut" else [])
        assert evidence["httpStatuses"] == {
            "500 then 201": [500, 201], "parts": [201, 201, 201]}.get(stage, [201])
    assert check.whole["holds"] is serves_parts(binary) and check.whole["stages"] == 7
    assert check.status == (0 if serves_parts(binary) else 1), check.error


def test_the_table_says_the_same(binary, tmp_path):
    """One line for each stage, the verdict at the end, on stdout; nothing on stderr."""
    run = subprocess.run([binary, "check"], capture_output=True, text=True, timeout=90, check=False,
                         env={**os.environ, "TMPDIR": str(tmp_path)})
    lines = run.stdout.splitlines()
    assert lines[2].split("  ")[0] == "stage" and lines[2].endswith("verdict")
    rows = {line[:14].strip(): line for line in lines[3:10]}
    assert list(rows) == STAGES
    for stage, verdict in expected(binary).items():
        assert rows[stage].endswith({"ok": "ok", "failed": "FAILED"}[verdict])
    assert re.search(r" 2  201 +network +yes ", rows["connection cut"])
    assert re.search(r" 2  500 201 +- +yes ", rows["500 then 201"])
    assert lines[-1] == ("all of it holds" if serves_parts(binary) else "1 of 7 stages failed")
    assert (run.returncode, run.stderr) == (0 if serves_parts(binary) else 1, "")
    assert list(tmp_path.iterdir()) == []


def test_a_given_server_is_believed_only_as_far_as_it_says(run, binary, server):
    """--url: the stages that fit; equal only where the answer names the hash, else unknown; POST and PUT."""
    def step(exchange):
        exchange.read_body()
        exchange.answer(201, body=f'{{"sha256":"{exchange.request.sha256.upper()}"}}'.encode())
    check = run("--url", server.on("/up", step) + "?token=abc123").finish()
    others = dict.fromkeys(NEEDS_THE_RECEIVER, "notRun")
    assert verdicts(check) == expected(binary, **others), check.evidence
    for stage in ("plain", "sidecar killed", "host gone"):
        assert check.evidence[stage]["sha256Equal"] is True
        assert check.evidence[stage]["bytes"] == check.evidence[stage]["size"]
    # It names the hash of the whole form, which is not the file's.
    form = check.evidence["form"]
    assert "sha256Equal" not in form and "sha256Arrived" not in form and form["bytes"] > form["size"]
    assert (check.whole["holds"], check.whole["notRun"]) == (serves_parts(binary), 2)
    assert "abc123" not in json.dumps(check.whole) + check.error
    assert check.status == (0 if serves_parts(binary) else 1)


def test_a_server_that_always_says_500(run, server):
    """Exit 1; the statuses are there and no transport error is; given up after some seconds."""
    check = run("--url", server.on("/up", rawserver.reply(500))).finish()
    assert set(verdicts(check).values()) == {"failed", "notRun"}
    plain = check.evidence["plain"]
    assert set(plain["httpStatuses"]) == {500} and len(plain["httpStatuses"]) == plain["attempts"] > 1
    assert plain["transportErrors"] == [] and "expired" in plain["reason"]
    assert (check.whole["holds"], check.status) == (False, 1)


def test_a_server_that_cuts_its_answers(run, server):
    """Exit 1: a 201 that is never whole is no evidence (D12)."""
    url = server.on("/up", rawserver.raw_reply(b"HTTP/1.1 201 Said\r\nContent-Length: 10\r\n\r\nabc"))
    check = run("--url", url).finish()
    assert set(verdicts(check).values()) == {"failed", "notRun"}
    assert "the answer was cut" in check.evidence["plain"]["reason"]
    assert (check.whole["holds"], check.status) == (False, 1)


def test_a_sidecar_that_dies(run, binary, server):
    """Exit 1: the stage says how its sidecar ended, and the stages after it are run all the same."""
    gate = threading.Event()
    url = server.on("/up", rawserver.hold(gate), rawserver.reply(201))
    check = run("--url", url)
    server.wait_requests(1, "/up")
    os.kill(check.sidecar(), signal.SIGKILL)
    check.finish()
    others = dict.fromkeys(NEEDS_THE_RECEIVER, "notRun")
    assert verdicts(check) == expected(binary, plain="failed", **others)
    assert "the sidecar was ended by signal 9" in check.evidence["plain"]["reason"]
    assert check.status == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_cleans_up(run, server, number):
    """It ends by the signal; the folder and the sidecar are gone."""
    url = server.on("/up", rawserver.hold(threading.Event()))
    check = run("--url", url)
    server.wait_requests(1, "/up")
    check.sidecar()
    check.process.send_signal(number)
    assert check.finish().status == -number
    assert check.error == "outtray: interrupted; nothing is left behind\n"
    assert check.left() == []


def test_keep_leaves_the_folder_and_dir_says_where(binary, server, tmp_path):
    """--keep and --dir: the queues are there to be looked at."""
    url = server.on("/up", rawserver.reply(201))
    place = tmp_path / "place"
    place.mkdir()
    check = Check(binary, tmp_path, "--url", url, "--keep", "--dir", str(place)).finish()
    kept, = place.iterdir()
    assert kept.stat().st_mode & 0o777 == 0o700
    assert f"kept: {kept}" in check.whole["remarks"]
    assert (kept / "plain" / "queue" / "queue.db").exists()


@pytest.mark.parametrize("arguments, status, message", [
    (["--json", "extra"], 64, "extra: was not expected"),
    (["--nonsense"], 64, "--nonsense: is no option of check"),
    (["--max-line", "1024"], 64, "--max-line: is no option of check"),
    (["--url"], 64, "--url: needs a value"),
    (["--url", "ftp://h/"], 64, "--url: must be a URL of http or https"),
    (["--url", "http://"], 64, "--url: must be a URL of http or https"),
    (["--url", "http://me:secret@h/"], 64, "--url: must hold no user information"),
    (["--dir", ""], 64, "--dir: must not be empty"),
    (["--dir", "/nonexistent/place"], 73, "/nonexistent/place: No such file or directory"),
    (["--dir", "/dev/null"], 73, "/dev/null: Not a directory"),
])
def test_what_it_cannot_do_is_said(binary, arguments, status, message):
    """Exit 64 and 73; the reason is the last line of stderr and repeats no secret."""
    run = subprocess.run([binary, "check", *arguments], capture_output=True, text=True, timeout=30,
                         check=False)
    assert (run.returncode, run.stdout) == (status, "")
    assert run.stderr.splitlines()[-1].startswith(f"outtray: {message}")
    assert "secret" not in run.stderr


def test_evidence_that_cannot_be_written_is_no_success(binary, server, tmp_path):
    """Exit 70 when stdout is full; the folder goes all the same."""
    url = server.on("/up", rawserver.reply(201))
    with open("/dev/full", "wb") as full:
        run = subprocess.run([binary, "check", "--url", url, "--dir", str(tmp_path)], stdout=full,
                             stderr=subprocess.PIPE, timeout=60, check=False)
    assert run.returncode == 70 and b"could not be written" in run.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [["--help"], ["serve", "--help"], ["check", "--help"]])
def test_help_is_on_stdout(binary, arguments):
    """--help: usage on stdout, exit 0; check's names each of its options."""
    run = subprocess.run([binary, *arguments], capture_output=True, text=True, timeout=30, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith("usage: outtray ")
    if arguments[0] == "check":
        assert {"--url", "--dir", "--keep", "--json"} <= set(re.findall("--[a-z]+", run.stdout))
    else:
        assert "check" in run.stdout if arguments[0] == "--help" else "--on-disconnect" in run.stdout


def test_the_quick_start_names_it():
    """README: Try it."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "outtray check" in readme.partition("## Try it")[2].partition("\n## ")[0]
