"""Commands for people that change a queue: through who serves it, or alone; and those that wait."""
import fcntl
import json
import os
import resource
import sqlite3
import subprocess
import threading

import pytest

from endtoend import deadline, rawserver
from endtoend.commands import SECRET
from endtoend.hosts import role
from endtoend.requests import enqueue

NOWHERE = "http://127.0.0.1:1/"


@pytest.fixture(params=["served", "alone"])
def place(request, start, directory):
    """A paused queue, served or not; calls of a host, which a queue that nobody serves gets for a moment."""
    return Place(start, request.param == "served")


class Place:
    def __init__(self, start, is_served):
        self.start = start
        self.is_served = is_served
        self.sidecar = start()
        self.sidecar.call("pause")
        if not is_served:
            assert self.sidecar.close() == 0

    def call(self, method, **params):
        """One call of a host."""
        return self.look(lambda sidecar: sidecar.call(method, **params))

    def look(self, ask):
        if self.is_served:
            return ask(self.sidecar)
        sidecar = self.start()
        answer = ask(sidecar)
        assert sidecar.close() == 0
        return answer

    def row(self, id):
        return self.look(lambda sidecar: sidecar.row(id))


def records(directory):
    database = sqlite3.connect(f"file:{directory}/queue.db?mode=ro", uri=True)
    try:
        return [at for at, in database.execute("SELECT at FROM diagnostic WHERE is_boot = 1")]
    finally:
        database.close()


def test_add_prints_the_id_and_keeps_the_rules(command, place, server, tmp_path, directory):
    """add: every option reaches the descriptor; the same id again follows the same-id rules."""
    source = tmp_path / "photo"
    source.write_bytes(b"x" * 70_000)
    headers = tmp_path / "headers"
    headers.write_text(f"Authorization: {SECRET}\nX-More:  a b \n", encoding="utf-8")
    url = server.url(f"/up?{SECRET}")
    words = [url, "--file", str(source), "--method", "PUT", "--header", "X-Plain: yes", "--header-file",
             str(headers), "--key", "photo", "--id", "p1", "--vars", '{"n": 1.0}', "--wifi-only",
             "--priority", "high"]
    assert command("add", *words).output == "p1\n"
    answer, = command.json("add", *words)
    assert (answer["id"], answer["disposition"], answer["row"]["vars"]) == ("p1", "resumed", {"n": 1.0})
    shown, = command.json("show", "p1")
    assert shown["request"]["headers"] == ["X-Plain", "Authorization", "X-More"]
    assert (shown["request"]["priority"], shown["request"]["wifiOnly"]) == ("high", True)
    assert source.exists()
    made = command("add", url, "--data-file", "-", input=json.dumps({"secret": SECRET})).output.strip()
    assert len(made) == 36 and place.row(made)["key"] == "outtray.add"
    if place.is_served:
        place.call("resume")
    else:
        command("resume")
        place.sidecar = place.start()
    request = deadline.until(
        "p1 arrives", lambda: next((seen for seen in server.seen("/up") if seen.method == "PUT"), None))
    deadline.until("it is whole", lambda: request.whole)
    assert request.header("authorization") == SECRET and request.header("x-more") == "a b"
    assert request.target == f"/up?{SECRET}" and request.body == b"x" * 70_000


def test_a_relative_file_is_found_from_where_the_command_stands(binary, command, place, tmp_path, directory):
    """add --file: relative paths are those of the command, not of the process that serves the queue."""
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "a.txt").write_bytes(b"abc")
    subprocess.run([binary, "add", NOWHERE, "--file", "a.txt", "--id", "a", "--staging", "move", "--dir",
                    str(directory)], cwd=tmp_path / "here", check=True, capture_output=True, timeout=30)
    assert command.json("ls")[0]["totalBytes"] == 3
    assert not (tmp_path / "here" / "a.txt").exists()


@pytest.mark.parametrize("arguments, text", [
    (["ftp://x/"], "request.url: "), ([NOWHERE, "--data", "{"], "--data: is not JSON"),
    ([NOWHERE, "--vars", "1"], "vars: must be"),
    ([NOWHERE, "--file", "/nonexistent"], "request.file: names no file"),
    ([NOWHERE, "--data", "1", "--file", "x"], "--data: not together with --file"),
    ([NOWHERE, "--header", "nothing"], "--header: line 1 must be like Name: value"),
    ([NOWHERE, "--header", f"Authorization: {SECRET}"], "--header: Authorization can be read"),
    ([NOWHERE, "--header", f"Host: {SECRET}"], "request.headers"),
    ([NOWHERE, "--priority", "low"], "--priority: must be"),
    ([NOWHERE, "--method", "HEAD"], "--method: must be"),
    ([NOWHERE, "--header-file", "/nonexistent"], "/nonexistent: No such file"),
    ([f"http://me:{SECRET}@x/"], "request.url: must not hold a user name"),
])
def test_add_names_what_is_wrong(command, place, arguments, text):
    """add: 64, the field is named, no secret is repeated, nothing is kept."""
    assert text in command("add", *arguments, status=64).reason
    assert command.json("ls") == []


def test_pause_and_resume(command, place):
    """pause, resume: of the whole queue and of keys, each by itself."""
    assert command("pause", "a", "b").output == "paused: a, b\n"
    command("add", NOWHERE, "--id", "x", "--key", "a")
    assert command("resume").output == "resumed: the whole queue\n"
    assert command.json("ls")[0]["state"] == "paused"
    assert command.json("resume", "b") == [{}]
    assert [gate["gate"] for gate in command.json("explain", "x")[0]["gates"]] == ["key"]
    assert place.row("x")["state"] == "paused"


def test_cancel(command, place):
    """cancel: settles live entries, forgets settled ones, says which ids nobody has."""
    for name in "ab":
        command("add", NOWHERE, "--id", name)
    ended = command("cancel", "a", "nobody", "b", status=1)
    assert ended.output == "cancelled: a\ncancelled: b\n" and ended.reason == "nobody: names no entry"
    assert {row["state"] for row in command.json("ls")} == {"cancelled"}
    assert command("cancel", "a").output == "forgotten: a\n"
    assert place.row("a") is None and place.row("b")["state"] == "cancelled"


def test_d44_retry(command, start, server):
    """D44: retry makes what waits due now and reopens an error, served or not; it refuses the rest."""
    server.on("/busy", rawserver.reply(503))
    server.on("/bad", rawserver.reply(422))
    server.on("/good", rawserver.reply(200))
    slow = {"backoff": {"baseMs": 3_600_000, "maxMs": 3_600_000, "jitter": 0}}
    sidecar = start()
    enqueue(sidecar, server.url("/busy"), id="busy", retry=slow)
    for name, state in (("bad", "error"), ("good", "completed")):
        enqueue(sidecar, server.url(f"/{name}"), id=name)
        sidecar.wait_state(name, state)
    deadline.until("busy waits", lambda: "nextAttemptAt" in sidecar.row("busy"))
    ended = command("retry", "busy", "good", "bad", "nobody", status=1)
    assert ended.output == "due now: busy\nopened again: bad\n"
    assert "good: is completed" in ended.reason and "nobody: names no entry" in ended.reason
    deadline.until("both went again", lambda: len(server.seen("/busy")) == len(server.seen("/bad")) == 2)
    sidecar.wait_state("bad", "error")
    deadline.until("busy waits again", lambda: "nextAttemptAt" in sidecar.row("busy"))
    assert sidecar.close() == 0
    assert command("retry", "busy", "bad").output == "due now: busy\nopened again: bad\n"
    assert {row["state"] for row in command.json("ls")} == {"queued", "completed"}
    assert len(server.seen("/busy")) == len(server.seen("/bad")) == 2
    start()
    deadline.until("both went", lambda: len(server.seen("/busy")) == len(server.seen("/bad")) == 3)


@pytest.mark.parametrize("operands, input, env", [
    (["Authorization"], f"{SECRET}\n", {}), (["Authorization=-"], SECRET, {}),
    (["Authorization=env:TOKEN"], "", {"TOKEN": SECRET}), (["Authorization=@FILE"], "", {}),
    ([], f"Authorization: {SECRET}\n\n", {})])
def test_d38_headers_set_takes_values_from_elsewhere(command, place, server, tmp_path, operands, input, env):
    """D38: values come from stdin, a file or the environment; they let a parked entry go."""
    def answer(exchange):
        status = 200 if exchange.request.header("authorization") == SECRET else 401
        rawserver.reply(status)(exchange)

    server.on("/auth", answer)
    token = tmp_path / "token"
    token.write_text(f"{SECRET}\n", encoding="utf-8")
    operands = [operand.replace("FILE", str(token)) for operand in operands]
    command("add", server.url("/auth"), "--id", "a", "--header", "X: 1")
    origin = server.url("/").rstrip("/")
    if place.is_served:
        place.call("resume")
        place.sidecar.wait_state("a", "awaiting-auth")
    else:
        sidecar = place.start()
        sidecar.call("resume")
        sidecar.wait_state("a", "awaiting-auth")
        assert sidecar.close() == 0
    ended = command("headers set", *operands, "--origin", origin, "--key", "outtray.add", input=input,
                    env=env)
    assert ended.output == "set: Authorization\n"
    sidecar = place.sidecar if place.is_served else place.start()
    sidecar.wait_state("a", "completed")


@pytest.mark.parametrize("operands, input, text", [
    ([f"Authorization: {SECRET}"], "", "a value must not be an argument"),
    ([f"Authorization={SECRET}"], "", "Authorization: its value comes from -, @FILE or env:VAR"),
    (["Authorization"], "", "stdin held no value for Authorization"), ([], "", "stdin held no header"),
    ([], f"{SECRET}\n", "stdin: line 1 must be like Name: value"),
    (["A=env:NO_SUCH_VARIABLE"], "", "NO_SUCH_VARIABLE: is not in the environment"),
    (["A=@/nonexistent"], "", "/nonexistent: No such file"), (["Host"], SECRET, "headers"),
    (["A", "B"], f"{SECRET}\n", "stdin held no value for B"),
])
def test_d38_headers_set_refuses_values_in_arguments(command, place, operands, input, text):
    """D38: 64, and the value is not repeated."""
    assert text in command("headers set", *operands, input=input, status=64).reason


def test_a_change_is_no_start(command, start, directory, server):
    """Section 5: a change alone sends nothing, leaves no record of a start, and puts back what a dead process
    left running."""
    gate = threading.Event()
    server.on("/held", rawserver.hold(gate))
    sidecar = start()
    enqueue(sidecar, server.url("/held"), id="a")
    enqueue(sidecar, NOWHERE, id="dead", expiresAt=1)
    server.wait_requests(1)
    sidecar.kill()
    gate.set()
    before = records(directory)
    assert command.json("ls", "--state", "running")[0]["id"] == "a"
    assert command("add", server.url("/new"), "--id", "new").output == "new\n"
    command("pause", "other")
    command("cancel", "new")
    assert records(directory) == before
    row, = [row for row in command.json("ls") if row["id"] == "a"]
    assert (row["state"], row["attempts"]) == ("queued", 1)
    assert len(server.seen()) == 1
    assert role(start()) == "owner"


def test_serve_waits_for_a_change_and_a_change_for_whoever_holds_the_queue(command, start, directory):
    """Section 5: a holder that does not serve is waited for, 5 s at most; then 75."""
    start().close()
    with open(directory / "lock", "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        refused = command("pause", status=75)
        assert refused.reason == "the directory is in use by another process"
        assert command.json("ls") == []
        going = command.begin("pause", "k")
        sidecar = start()
        fcntl.flock(lock, fcntl.LOCK_UN)
    assert going.wait() == 0 and going.lines == ["paused: k"]
    sidecar.call("ping")
    enqueue(sidecar, NOWHERE, id="a")
    assert sidecar.row("a")["state"] == "paused"


def test_a_change_that_finds_no_descriptor_left_says_so(binary, command, start, directory):
    """Section 5: at whatever point of a change alone that is, it ends with a reason and waits for nobody."""
    start().close()
    # On one processor the engine's thread fails before, and after, the command takes it to be ready.
    processor = min(os.sched_getaffinity(0))
    ended = {}
    for limit in [*range(5, 30)] * 4:
        def confine(limit=limit):
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
            os.sched_setaffinity(0, {processor})
        change = subprocess.run([binary, "pause", "k", "--dir", str(directory)], preexec_fn=confine,
                                capture_output=True, text=True, timeout=20, check=False)
        ended.setdefault(change.returncode, set()).add(limit)
        assert change.returncode == 0 or change.stderr.startswith("outtray: ")
    assert set(ended) <= {0, 70, 73, 75} and ended[0] and ended[70]
    assert all(line["ok"] for line in command.json("verify") if "check" in line)


def test_a_command_may_be_killed_at_any_instant(command, start, server, directory):
    """Section 5: SIGKILL of a change leaves a queue that the next one takes."""
    start().close()
    for number in range(8):
        going = command.begin("add", NOWHERE, "--id", f"n{number}")
        deadline.until("it has begun", lambda: going.process.poll() is not None or number % 2 or going.lines)
        going.process.kill()
        going.wait()
        said = "n%d" % number in going.lines
        ids = {row["id"] for row in command.json("ls")}
        assert not said or f"n{number}" in ids
    assert all(line["ok"] for line in command.json("verify") if "check" in line)
