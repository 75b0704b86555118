"""Section 5 of the protocol: how the process begins and ends."""
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading

import pytest

from endtoend import deadline, rawserver
from endtoend.requests import enqueue


def test_a_rpc_01_the_end_of_stdin_ends_the_sidecar_and_keeps_the_work(start, server):
    """A-RPC-01: exit 0 within 5 s while the server holds a request; the next start sends it again, once."""
    gate = threading.Event()
    server.on("/held", rawserver.hold(gate), rawserver.reply())
    first = start()
    enqueue(first, server.url("/held"), id="a")
    server.wait_requests(1)
    assert first.close(5) == 0
    second = start()
    second.subscribe()
    outcome = second.settled("a")
    assert (outcome["kind"], outcome["attempts"]) == ("completed", 2)
    assert len(server.seen("/held")) == 2


HOST = """
import subprocess, sys, time
subprocess.Popen(sys.argv[2:], stdin=int(sys.argv[1]), stdout=1)
time.sleep(600)
"""


def test_a_rpc_01_the_death_of_the_host_ends_the_sidecar_though_stdin_stays_open(binary, directory):
    """A-RPC-01: another process may hold the write end of stdin; the parent's end is noticed."""
    read_end, write_end = os.pipe()
    command = [sys.executable, "-c", HOST, str(read_end), binary, "serve", "--dir", str(directory)]
    host = subprocess.Popen(command, stdout=subprocess.PIPE, pass_fds=[read_end])
    os.close(read_end)
    try:
        os.write(write_end, b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}\n')
        assert b'"now"' in host.stdout.readline()
        host.send_signal(signal.SIGKILL)
        host.wait()
        ended = threading.Event()
        # The sidecar is the last one that holds this pipe.
        threading.Thread(target=lambda: (host.stdout.read(), ended.set()), daemon=True).start()
        assert ended.wait(5), "the sidecar outlived its host"
    finally:
        os.close(write_end)


def test_a_rpc_02_requests_before_the_end_of_input_are_answered(start):
    """A-RPC-02: 10 enqueues and EOF in one write: 10 answers, exit 0, 10 entries."""
    first = start()
    lines = ['{"jsonrpc":"2.0","id":0,"method":"pause","params":{}}']
    lines += ['{"jsonrpc":"2.0","id":%d,"method":"enqueue","params":{"key":"k","request":'
              '{"url":"http://127.0.0.1:9/"}}}' % number for number in range(1, 11)]
    first.send_raw(("\n".join(lines) + "\n").encode())
    assert first.close() == 0
    assert sorted(frame["id"] for frame in first.frames if "result" in frame) == list(range(11))
    assert len(start().rows()) == 10


def test_a_rpc_03_a_broken_stdout_ends_the_sidecar_without_harm(start, server, directory):
    """A-RPC-03: no death by signal, a sound database, and the outcome comes again at the next start."""
    gate = threading.Event()
    server.on("/held", rawserver.hold(gate))
    first = start()
    first.subscribe()
    enqueue(first, server.url("/held"), id="a")
    server.wait_requests(1)
    first.break_stdout()
    gate.set()
    assert first.process.wait(10) == 0
    database = next(directory.glob("*.db"))
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    second = start()
    second.subscribe()
    assert second.settled("a")["kind"] == "completed"


def test_shutdown_answers_and_ends_with_0(start, server):
    """Section 2: shutdown."""
    sidecar = start()
    assert sidecar.call("shutdown") == {}
    assert sidecar.wait_exit(5) == 0


def test_shutdown_drain_finishes_what_is_queued_first(start, server):
    """Section 5: drain ends once nothing is running or queued; paused entries do not count."""
    gate = threading.Event()
    server.on("/held", rawserver.hold(gate))
    sidecar = start()
    sidecar.call("pause", keys=["waiting"])
    enqueue(sidecar, server.url("/x"), id="w", key="waiting")
    enqueue(sidecar, server.url("/held"), id="a")
    server.wait_requests(1)
    assert sidecar.call("shutdown", mode="drain") == {}
    gate.set()
    assert sidecar.wait_exit(10) == 0
    again = start()
    assert again.row("a")["state"] == "completed"
    assert again.row("w")["state"] == "paused"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_stop_it_gently(start, server, number):
    """B200, section 5: SIGTERM and SIGHUP end it with 0, no attempt event and no outcome; the work goes on at
    the next start."""
    gate = threading.Event()
    server.on("/held", rawserver.hold(gate), rawserver.reply())
    sidecar = start()
    enqueue(sidecar, server.url("/held"), id="a")
    server.wait_requests(1)
    sidecar.subscribe()
    sidecar.process.send_signal(number)
    assert sidecar.wait_exit(6) == 0
    assert sidecar.events("attempt") == sidecar.events("settled") == []
    assert start().wait_state("a", "completed")["attempts"] == 2


def test_sigint_is_left_to_the_host(sidecar):
    """Section 5: SIGINT reaches the whole group; with stdin no terminal the sidecar stays."""
    sidecar.process.send_signal(signal.SIGINT)
    sidecar.call("ping")


@pytest.mark.parametrize("arguments", [
    ["serve"], ["serve", "--dir"], ["fly"], [], ["serve", "--dir", "x", "--no-such"]])
def test_wrong_usage_exits_with_64(binary, tmp_path, arguments):
    """Section 5: exit status 64, the reason is the last line of stderr."""
    ended = subprocess.run([binary, *arguments], stdin=subprocess.DEVNULL, capture_output=True, cwd=tmp_path,
                           timeout=15, check=False)
    assert (ended.returncode, ended.stdout) == (64, b"")
    assert ended.stderr.strip()


def test_a_directory_that_is_a_file_exits_with_73(start, tmp_path):
    """Section 5: exit status 73, the reason is the last line of stderr."""
    place = tmp_path / "file"
    place.write_text("mine")
    sidecar = start(on=place, log=str(tmp_path / "log"))
    assert sidecar.wait_exit() == 73
    assert str(place) in sidecar.stderr().splitlines()[-1]
    assert place.read_text() == "mine"


def test_d38_the_directory_is_0700_and_its_files_0600(start, directory, tmp_path, server):
    """D38: modes."""
    old = os.umask(0)
    try:
        sidecar = start()
        sidecar.call("pause")
        body = tmp_path / "body"
        body.write_bytes(bytes(200_000))
        enqueue(sidecar, server.url("/x"), method="PUT", file=str(body))
    finally:
        os.umask(old)
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    places = list(directory.rglob("*"))
    assert len([place for place in places if place.is_file()]) >= 2
    for place in places:
        assert stat.S_IMODE(place.stat().st_mode) & 0o077 == 0, place




def test_a_store_04_a_killed_sidecar_leaves_no_lock(start):
    """A-STORE-04: the lock is the kernel's, so the next one answers at once."""
    start().kill()
    second = start()
    assert second.result(second.send("ping"), 5)["now"] > 0


def test_b303_diagnostics_are_taken_once(start):
    """B303: a start leaves one `boot sweep` record, zeros for an empty queue; taking clears."""
    sidecar = start()

    def boots():
        records = sidecar.call("takeDiagnostics")["records"]
        return [record for record in records if record["message"] == "boot sweep"]

    records = deadline.until("the record of the start", boots)
    assert len(records) == 1 and records[0]["level"] == "info"
    assert set(records[0]["data"]["entries"].values()) == {0}
    assert sidecar.call("takeDiagnostics")["records"] == []


def test_a_drain_goes_on_when_the_host_that_asked_for_it_leaves(start, server, directory):
    """Section 2, shutdown: stdin ends during the drain; the request is finished, its outcome waits."""
    gate = threading.Event()
    server.on("/x", rawserver.hold(gate))
    sidecar = start()
    enqueue(sidecar, server.url("/x"), id="a", data=1)
    server.wait_requests(1)
    sidecar.call("shutdown", mode="drain")
    sidecar.process.stdin.close()
    server.quiet(0.3)
    assert sidecar.process.poll() is None
    gate.set()
    assert sidecar.wait_exit(5) == 0
    again = start()
    again.subscribe()
    assert again.settled("a")["deliveries"] == 1
    assert len(server.seen()) == 1
