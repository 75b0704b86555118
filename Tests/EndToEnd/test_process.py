"""Section 5 of the protocol, from the descriptors: what the process does with its streams and its time."""
import fcntl
import json
import os
import pty
import select
import signal
import subprocess
import threading
import time

import pytest

from endtoend import deadline, rawserver
from endtoend.processes import cpu_seconds, wake_ups
from endtoend.requests import enqueue


def ping(number):
    return b'{"jsonrpc":"2.0","id":%d,"method":"ping","params":{}}\n' % number


def quiet(process, seconds):
    """CPU seconds and wake-ups of a stretch of time."""
    before = cpu_seconds(process), wake_ups(process)
    time.sleep(seconds)
    return cpu_seconds(process) - before[0], wake_ups(process) - before[1]


def write_until_stuck(sidecar, lines):
    """Writes lines until the pipe takes no more for a while; returns how many whole lines it took."""
    descriptor = sidecar.process.stdin.fileno()
    flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
    fcntl.fcntl(descriptor, fcntl.F_SETFL, flags | os.O_NONBLOCK)
    count = 0
    stuck_since = None
    for line in lines:
        while True:
            try:
                assert os.write(descriptor, line) == len(line)
                count += 1
                stuck_since = None
                break
            except BlockingIOError:
                stuck_since = stuck_since or time.monotonic()
                if time.monotonic() - stuck_since > 0.5:
                    return count
                time.sleep(0.01)
    raise AssertionError("the sidecar read everything")


# Streams

def test_requests_from_a_regular_file_are_all_answered(binary, directory, tmp_path):
    """Section 5: `serve < in > out` with more requests than may be unanswered; exit 0, whole lines only."""
    count = 9000
    requests = [ping(number) for number in range(count)]
    requests.append(b'{"jsonrpc":"2.0","id":"e","method":"enqueue","params":{"id":"a","key":"k","request":'
                    b'{"url":"http://127.0.0.1:9/"}}}\n')
    (tmp_path / "in").write_bytes(b"".join(requests))
    with open(tmp_path / "in", "rb") as given, open(tmp_path / "out", "wb") as taken:
        ended = subprocess.run([binary, "serve", "--dir", str(directory)], stdin=given, stdout=taken,
                               stderr=subprocess.DEVNULL, timeout=30, check=False)
    assert ended.returncode == 0
    answers = [json.loads(line) for line in (tmp_path / "out").read_bytes().splitlines()]
    assert len(answers) == count + 1 and all("result" in answer for answer in answers)
    assert {answer["id"] for answer in answers} == {"e", *range(count)}


def test_a_rpc_02_more_requests_than_may_be_unanswered_before_the_end_of_input(start):
    """A-RPC-02: 6000 requests that go through the engine, and EOF at once: each is answered, exit 0."""
    sidecar = start()
    lines = [b'{"jsonrpc":"2.0","id":%d,"method":"getRequests","params":{"id":"x"}}\n' % number
             for number in range(6000)]
    sidecar.send_raw(b"".join(lines))
    assert sidecar.close() == 0
    assert sorted(frame["id"] for frame in sidecar.frames if "result" in frame) == list(range(6000))


def test_the_rest_that_a_host_left_in_the_pipe_is_answered(start):
    """Section 3: input waits while replies are not read; when they are, the rest is read, though
    the host closed its end."""
    sidecar = start("--max-line", "2048")
    sidecar.call("ping")
    sidecar.stop_reading()
    count = write_until_stuck(sidecar, (ping(number) for number in range(100, 1_000_000)))
    assert count > 1000
    sidecar.process.stdin.close()
    sidecar.go_on_reading()
    assert sidecar.wait_exit(10) == 0
    assert len(sidecar.frames) == count + 1
    sidecar.check()


def test_a_host_that_left_while_input_waited_costs_no_cpu_and_is_noticed(start):
    """Section 3, stdio row 8: nobody reads and stdin has ended; it ends within its time and does not spin."""
    sidecar = start("--max-line", "2048")
    sidecar.may_cut_its_last_line = True
    sidecar.call("ping")
    sidecar.stop_reading()
    write_until_stuck(sidecar, (ping(number) for number in range(100, 1_000_000)))
    sidecar.process.stdin.close()
    used, _ = quiet(sidecar.process, 1)
    assert used < 0.1, f"{used} s of CPU in 1 s"
    assert sidecar.wait_exit(5) == 0


def test_pages_that_nobody_reads_cost_bounded_memory_and_do_not_hide_that_the_host_has_left(start):
    """Section 3: 1,000 calls for a page of 300 KB, none read: a few pages of memory; then stdin ends."""
    sidecar = start()
    sidecar.may_cut_its_last_line = True
    sidecar.call("pause")
    for number in range(300):
        enqueue(sidecar, "http://127.0.0.1:9/x", id=str(number), vars={"v": "v" * 1000})
    before = sidecar.resident()
    sidecar.stop_reading()
    page = b'{"jsonrpc":"2.0","id":%d,"method":"getRequests"}\n'
    write_until_stuck(sidecar, (page % number for number in range(1000, 1_000_000)))
    grown = sidecar.resident() - before
    assert grown < 24 << 20, f"{grown} bytes"
    sidecar.process.stdin.close()
    used, _ = quiet(sidecar.process, 1)
    assert used < 0.1, f"{used} s of CPU in 1 s"
    assert sidecar.wait_exit(5) == 0


def test_row_13_logs_that_nobody_reads_hold_up_nothing(binary, directory):
    """Stdio row 13: stderr is a pipe that is never read, 20,000 lines for the log; it still answers."""
    process = subprocess.Popen([binary, "serve", "--dir", str(directory)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        process.stdin.write(b'{"jsonrpc":"2.0","method":"no-such-notification"}\n' * 20_000 + ping(1))
        process.stdin.flush()
        answer = []
        reader = threading.Thread(target=lambda: answer.append(process.stdout.readline()), daemon=True)
        reader.start()
        reader.join(10)
        assert answer and b'"now"' in answer[0]
        process.stdin.close()
        assert process.wait(5) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def test_a_notification_cannot_forge_a_line_of_the_log(start):
    """A method's name in the log stays on its line."""
    sidecar = start()
    sidecar.send_line('{"jsonrpc":"2.0","method":"a\\nouttray: all is well"}')
    sidecar.call("ping")
    assert not [line for line in sidecar.stderr().splitlines() if line == "outtray: all is well"]


def test_a_rpc_11_no_stray_print_reaches_the_wire(start):
    """A-RPC-11: descriptor 1 is stderr, and descriptor 0 gives nothing."""
    sidecar = start()
    sidecar.call("ping")
    descriptors = f"/proc/{sidecar.process.pid}/fd"
    assert os.readlink(f"{descriptors}/1") == os.readlink(f"{descriptors}/2")
    assert os.readlink(f"{descriptors}/0") == "/dev/null"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
def test_a_closed_stream_is_no_place_for_the_queue_s_files(binary, directory, closed):
    """A file of the queue, or a connection, never gets the number of a standard stream."""
    process = subprocess.Popen(["sh", "-c", f'exec "$0" serve --dir "$1" --no-parent-watch {closed}', binary,
                                str(directory)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
    try:
        if closed == "<&-":
            assert process.wait(5) == 0
            return
        deadline.until("the database", lambda: list(directory.glob("*.db")), 5)
        process.stdin.write(ping(1))
        process.stdin.flush()
        if closed == "2>&-":
            assert b'"now"' in process.stdout.readline()
        for number in range(3):
            target = os.readlink(f"/proc/{process.pid}/fd/{number}")
            assert str(directory) not in target, target
        process.stdin.close()
        assert process.wait(5) == 0
        for file in directory.rglob("*"):
            if file.is_file():
                assert b'"jsonrpc"' not in file.read_bytes(), file
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


# Time

def test_an_idle_sidecar_does_not_wake_up(start, server):
    """No timer ticks when nothing is due: no wake-up and no CPU in 2 s, with a host subscribed,
    an entry done, one paused and one that expires in a fortnight."""
    sidecar = start()
    sidecar.subscribe()
    enqueue(sidecar, server.url("/x"), id="a")
    sidecar.ack(sidecar.settled("a"))
    sidecar.call("pause")
    enqueue(sidecar, server.url("/x"), id="b")

    def rests():
        return quiet(sidecar.process, 2) == (0, 0)
    deadline.until("2 s without a wake-up", rests, 20)


# Ends

def test_a_second_sigterm_ends_it_at_once(start):
    """Section 5: the graceful end waits 2 s for a host that does not read; a second signal does not."""
    sidecar = start("--max-line", "2048")
    sidecar.may_cut_its_last_line = True
    sidecar.stop_reading()
    write_until_stuck(sidecar, (ping(number) for number in range(1_000_000)))
    sidecar.process.send_signal(signal.SIGTERM)
    with pytest.raises(subprocess.TimeoutExpired):
        sidecar.process.wait(0.7)
    begin = time.monotonic()
    sidecar.process.send_signal(signal.SIGTERM)
    sidecar.process.wait(5)
    # The first one would have ended it 1.3 s later.
    assert time.monotonic() - begin < 1


def test_row_15_a_full_stdout_does_not_hold_up_sigterm(start):
    """Stdio row 15: nobody reads stdout; one SIGTERM ends it with 0 within its time."""
    sidecar = start("--max-line", "2048")
    sidecar.may_cut_its_last_line = True
    sidecar.stop_reading()
    write_until_stuck(sidecar, (ping(number) for number in range(1_000_000)))
    sidecar.process.send_signal(signal.SIGTERM)
    assert sidecar.wait_exit(5) == 0


def test_sigint_at_a_terminal_ends_it(binary, directory):
    """Section 5: with stdin a terminal, SIGINT is the person's wish."""
    controller, terminal = pty.openpty()
    process = subprocess.Popen([binary, "serve", "--dir", str(directory)], stdin=terminal,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    os.close(terminal)
    try:
        os.write(controller, ping(1))
        assert b'"now"' in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(5) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        os.close(controller)


FORKING_HOST = """
import os, subprocess, sys, time
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=1)
if os.fork() == 0:
    time.sleep(600)
    os._exit(0)
child.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}\\n')
child.stdin.flush()
sys.stderr.write(f"{child.pid}\\n")
sys.stderr.flush()
time.sleep(600)
"""


@pytest.mark.parametrize("options, stays", [([], False), (["--no-parent-watch"], True)])
def test_row_3_the_host_died_but_its_fork_holds_the_pipe(binary, directory, options, stays):
    """Stdio row 3: the parent's end is noticed though a forked worker holds stdin; not with
    --no-parent-watch."""
    host = subprocess.Popen(["/usr/bin/python3", "-c", FORKING_HOST, binary, "serve", "--dir", str(directory),
                             *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            start_new_session=True)
    try:
        assert b'"now"' in host.stdout.readline()
        pid = int(host.stderr.readline())
        watched = os.pidfd_open(pid)
        host.send_signal(signal.SIGKILL)
        host.wait()
        seconds = 1.5 if stays else 5
        end = select.poll()
        end.register(watched, select.POLLIN)
        assert bool(end.poll(seconds * 1000)) != stays
        os.close(watched)
    finally:
        os.killpg(host.pid, signal.SIGKILL)
        host.stdout.close()
        host.stderr.close()


def test_shutdown_now_leaves_running_work_for_the_next_start(start, server):
    """Section 2: shutdown stops transfers and keeps all state; the entry is sent again."""
    gate = threading.Event()
    server.on("/held", rawserver.hold(gate), rawserver.reply())
    sidecar = start()
    enqueue(sidecar, server.url("/held"), id="a")
    server.wait_requests(1)
    assert sidecar.call("shutdown", mode="now") == {}
    assert sidecar.wait_exit(5) == 0
    start().wait_state("a", "completed")


def test_while_it_drains_nothing_new_is_taken(start, server):
    """E_SHUTDOWN: an enqueue after shutdown is refused and not kept; the same id again is safe at the next
    start."""
    gate = threading.Event()
    server.on("/held", rawserver.hold(gate))
    sidecar = start()
    enqueue(sidecar, server.url("/held"), id="a")
    server.wait_requests(1)
    sidecar.call("shutdown", mode="drain")
    refused = sidecar.answer(sidecar.send("enqueue", {"id": "b", "key": "k", "request": {
        "url": server.url("/x")}}))
    assert refused["error"]["data"]["code"] == "E_SHUTDOWN"
    gate.set()
    assert sidecar.wait_exit(10) == 0
    assert [row["id"] for row in start().rows()] == ["a"]


def slow_copies(seconds):
    """strace that makes the begin of every copy take `seconds`; no file system shares blocks instead."""
    return ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=copy_file_range,ioctl", "-e",
            "inject=ioctl:error=EOPNOTSUPP", "-e",
            f"inject=copy_file_range:delay_enter={seconds * 1_000_000}"]


def test_a_copy_that_cannot_end_in_time_is_given_up(start, tmp_path, directory):
    """Section 5: EOF while a body is copied for longer than 2 s: E_SHUTDOWN, exit 0, nothing kept, not even a
    file."""
    body = tmp_path / "body"
    body.write_bytes(os.urandom(1 << 20))
    under = slow_copies(6)
    sidecar = start("--no-parent-watch", under=under)
    sidecar.call("pause")
    asked = sidecar.send("enqueue", {"id": "slow", "key": "k", "request": {
        "url": "http://127.0.0.1:9/", "method": "PUT", "file": str(body)}})
    sidecar.call("ping")
    sidecar.process.stdin.close()
    assert sidecar.answer(asked, 5.5)["error"]["data"]["code"] == "E_SHUTDOWN"
    # strace lets go of a delayed thread only when the delay is over.
    assert sidecar.close(10) == 0
    assert [path for path in directory.glob("bodies-*/*")] == []
    assert start().rows() == []


def test_while_a_copy_goes_on_others_go_on_and_its_id_waits(start, tmp_path):
    """Section 1: later requests for the id wait for the copy, all others go on; the id of an unanswered
    request is refused with `id: null`, and the first caller is answered."""
    body = tmp_path / "body"
    body.write_bytes(os.urandom(1 << 20))
    under = slow_copies(1)
    sidecar = start("--no-parent-watch", under=under)
    sidecar.call("pause")
    params = {"id": "slow", "key": "k", "request": {"url": "http://127.0.0.1:9/", "method": "PUT",
                                                    "file": str(body)}}
    asked = sidecar.send("enqueue", params, id="first")
    cancelled = sidecar.send("cancel", {"id": "slow"}, id="second")
    sidecar.send("ping", {}, id="first")
    assert sidecar.call("getRequests", id="slow")["requests"] == []
    twice = sidecar.wait("E_DUPLICATE_ID", lambda frame: frame.get("id", 0) is None)
    assert (twice["error"]["code"], twice["error"]["data"]["code"], twice["error"]["data"]["id"]) == (
        -32600, "E_DUPLICATE_ID", "first")
    assert sidecar.result(asked)["disposition"] == "created"
    sidecar.result(cancelled)
    assert sidecar.row("slow")["state"] == "cancelled"
    order = [frame["id"] for frame in sidecar.frames if frame.get("id") in ("first", "second")]
    assert order == ["first", "second"]
    assert sidecar.close(10) == 0


@pytest.mark.parametrize("arguments, named", [
    (["serve", "--dir", "x", "--max-line", "many"], "--max-line"),
    (["serve", "--dir", "x", "--max-line", "5"], "--max-line"),
    (["serve", "--dir", "x", "--on-disconnect", "fly"], "--on-disconnect"), (["serve"], "--dir"),
    (["serve", "--dir", "x", "more"], "more"), (["serve", "--no-such"], "--no-such"), (["fly"], "fly")])
def test_wrong_usage_says_why_on_the_last_line(binary, tmp_path, arguments, named):
    """Section 5: exit status 64; the last line of stderr names what is wrong."""
    ended = subprocess.run([binary, *arguments], stdin=subprocess.DEVNULL, capture_output=True, cwd=tmp_path,
                           timeout=15, check=False, text=True)
    assert (ended.returncode, ended.stdout) == (64, "")
    assert named in ended.stderr.splitlines()[-1]
    assert not (tmp_path / "x").exists()
