"""`serve --log-level` and `--log-format`: what is told on stderr, to whom it is never a hindrance."""
import fcntl
import json
import os
import re
import subprocess
import threading

import pytest

from endtoend import deadline, rawserver
from endtoend.requests import enqueue

LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (error|warn|info|debug) \S.*")


def session(sidecar, server):
    """One request that fails and is tried again, with secrets wherever there may be some."""
    server.on("/up", rawserver.reply(503, body=b"s3cret"), rawserver.reply(201, [("X-Answer", "s3cret")]))
    sidecar.call("initialize", protocolVersion=1, client={"name": "tester\n", "version": "7"})
    sidecar.subscribe()
    enqueue(sidecar, server.url("/up?token=s3cret"), id="a\n1", key="k", vars={"v": "s3cret"},
            data={"d": "s3cret"}, headers={"Authorization": "s3cret"})
    sidecar.settled("a\n1")
    sidecar.send_line('{"jsonrpc":"2.0","id":null,"method":"s3cret"}')
    sidecar.call("ping")
    assert sidecar.close() == 0
    return sidecar.stderr().splitlines()


def test_text(start, server):
    """D38: a line for each thing that happened, one line each, and nothing secret."""
    lines = session(start("--log-level", "info"), server)
    assert all(LINE.fullmatch(line) for line in lines), lines
    assert not [line for line in lines if "s3cret" in line]
    told = [line.split(" ", 1)[1] for line in lines]
    began = next(line for line in told if line.startswith("info started "))
    assert f"version=0.1.0 pid={re.search(r'pid=([0-9]+)', began)[1]} role=owner" in began
    origin = server.url("")
    failed = f"info attempt failed id=a\\u000a1 key=k attempt=1 origin={origin} status=503 error=http"
    assert [line for line in told if line.startswith(failed)]
    done = f"info attempt completed id=a\\u000a1 key=k attempt=2 origin={origin} status=201"
    assert [line for line in told if line.startswith(done)]
    assert "info settled id=a\\u000a1 key=k state=completed attempts=2" in told
    assert [line for line in told if line.startswith("warn a line was refused code=E_REQUEST")]
    came = re.compile(r"info a host has come host=\d+ role=owner onDisconnect=exit")
    greeted = re.compile(r"info a host says who it is host=\d+ client=tester\\u000a version=7")
    for pattern in (came, greeted):
        assert [line for line in told if pattern.fullmatch(line)], pattern
    assert told[-2:] == ['info the end begins reason="the last host is gone"', "info ended"]


def test_json(start, server):
    """Each line is one object with at, level and message."""
    lines = [json.loads(line) for line in session(start("--log-level=debug", "--log-format=json"), server)]
    assert all(LINE.fullmatch(f"{line['at']} {line['level']} {line['message']}") for line in lines)
    assert "s3cret" not in json.dumps(lines)
    attempts = [line for line in lines if line["message"].startswith("attempt ")]
    assert [(line["level"], line["id"], line["attempt"]) for line in attempts] == [
        ("debug", "a\n1", 1), ("info", "a\n1", 1), ("debug", "a\n1", 2), ("info", "a\n1", 2)]
    boot = next(line for line in lines if line["message"] == "started")
    assert boot["role"] == "owner" and isinstance(boot["pid"], int)
    assert lines[-1]["message"] == "ended"


def test_by_default_it_is_silent(start, server):
    """Without trouble nothing is told."""
    sidecar = start()
    enqueue(sidecar, server.url("/"), id="a")
    sidecar.wait_state("a", "completed")
    assert sidecar.close() == 0
    assert sidecar.stderr() == ""


def test_hosts_that_come_and_go(start, server, directory):
    """An attached process has a log of its own; the owner tells of both, and of what it does without them."""
    hold = threading.Event()
    server.on("/held", rawserver.hold(hold))
    first = start("--log-level", "info", "--on-disconnect", "stay:600")
    first.call("ping")
    second = start("--log-level", "info", log=f"{directory}.second")
    enqueue(second, server.url("/held"), id="held")
    deadline.until("it tells of itself", lambda: "role=attached" in second.stderr())
    first.process.stdin.close()
    assert second.close() == 0
    deadline.until("the queue goes on", lambda: "the queue goes on onDisconnect=stay:600" in first.stderr())
    assert len(re.findall("info a host has gone ", first.stderr())) == 2
    assert first.terminate() == 0
    hold.set()
    assert "info the end begins reason=SIGTERM" in first.stderr()


def test_a_stalled_stderr_holds_up_nothing(binary, directory, server):
    """A pipe that nobody reads, and every line wanted: calls are answered, transfers go on, the process ends
    in time; the flags of the pipe stay as they were; who reads in the end is told how many are missing."""
    read, write = os.pipe()
    fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
    flags = fcntl.fcntl(write, fcntl.F_GETFL)
    process = subprocess.Popen([binary, "serve", "--dir", str(directory), "--log-level", "debug"], bufsize=0,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=write)
    answers = []
    reader = threading.Thread(target=lambda: answers.extend(process.stdout), daemon=True)
    reader.start()
    try:
        for number in range(3000):
            request = {"url": server.url("/x"), "data": "x" * 100}
            line = {"jsonrpc": "2.0", "id": number, "method": "enqueue",
                    "params": {"id": f"{number:0200}", "key": "k", "request": request}}
            process.stdin.write(json.dumps(line).encode() + b"\n")
        deadline.until("3000 answers", lambda: len(answers) == 3000)
        server.wait_requests(3000)
        assert fcntl.fcntl(write, fcntl.F_GETFL) == flags
        os.close(write)
        write = None
        told = b""
        while b"lines were left out" not in told:
            piece = os.read(read, 65536)
            assert piece, "the process has ended and told of no line that is missing"
            told += piece
        process.stdin.close()
        assert process.wait(6) == 0
    finally:
        process.kill()
        process.wait()
        os.close(read)
        if write is not None:
            os.close(write)
        reader.join(5)
        process.stdout.close()


def test_a_stalled_stderr_does_not_keep_it_from_ending(binary, directory):
    """Nobody ever reads, and it ends within 5 s, with the status of its reason."""
    directory.mkdir()
    (directory / "queue.db").mkdir()
    for where, status in ((directory, 73), (directory.parent / "good", 0)):
        read, write = os.pipe()
        fcntl.fcntl(write, fcntl.F_SETFL, fcntl.fcntl(write, fcntl.F_GETFL) | os.O_NONBLOCK)
        try:
            while True:
                os.write(write, b"x" * 4096)
        except BlockingIOError:
            fcntl.fcntl(write, fcntl.F_SETFL, fcntl.fcntl(write, fcntl.F_GETFL) & ~os.O_NONBLOCK)
        ended = subprocess.run([binary, "serve", "--dir", str(where), "--log-level", "debug"], check=False,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=write, timeout=5)
        os.close(read)
        os.close(write)
        assert ended.returncode == status


def test_the_reason_of_a_bad_exit_is_the_last_line(binary, tmp_path):
    """Section 5: in text as ever, in JSON as an object."""
    place = tmp_path / "file"
    place.write_text("")
    for form in ("text", "json"):
        options = ["--log-level=debug", f"--log-format={form}"]
        ended = subprocess.run([binary, "serve", "--dir", str(place), *options], check=False, timeout=20,
                               stdin=subprocess.DEVNULL, capture_output=True, text=True)
        last = ended.stderr.splitlines()[-1]
        assert ended.returncode == 73
        if form == "json":
            last = json.loads(last)
            assert last["level"] == "error"
            last = f"outtray: {last['message']}"
        assert last.startswith("outtray: ") and str(place) in last


@pytest.mark.parametrize("option, names", [
    ("--log-level", "error, warn, info, debug"), ("--log-format", "text, json")])
def test_other_names_are_refused(binary, directory, option, names):
    """Exit status 64; the line names the option and what it may be."""
    ended = subprocess.run([binary, "serve", "--dir", str(directory), option, "loud"], check=False,
                           stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20)
    assert (ended.returncode, ended.stderr) == (64, f"outtray: {option}: must be one of {names}\n")
    assert not directory.exists()
