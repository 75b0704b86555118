"""A host that does not read, floods of progress, and long backlogs."""
import os
import threading
import time

from endtoend import deadline, rawserver
from endtoend.requests import enqueue


def test_a_rpc_08_a_host_that_does_not_read_holds_up_no_upload(start, server):
    """A-RPC-08: 1000 uploads go out unread in bounded memory; then every outcome arrives once."""
    count = 1000
    sidecar = start()
    sidecar.subscribe(window=1024)
    sidecar.call("ping")
    before = sidecar.resident()
    sidecar.stop_reading()
    for n in range(count):
        sidecar.send("enqueue", {"id": str(n), "key": "k", "vars": {"pad": "x" * 1000}, "request": {
            "url": server.url("/x")}})
    server.wait_requests(count, seconds=60)
    grown = sidecar.resident() - before
    assert grown < 20 << 20, f"{grown} bytes"
    sidecar.go_on_reading()
    told = set()

    def all_told():
        fresh = [event for event in sidecar.events("settled") if event["eventId"] not in told]
        told.update(event["eventId"] for event in fresh)
        if fresh:
            sidecar.ack(*fresh)
        return len(told) == count
    deadline.until("every outcome", all_told, 60)
    outcomes = sidecar.events("settled")
    assert len(outcomes) == count and all(outcome["deliveries"] == 1 for outcome in outcomes)
    assert sidecar.rows() == []


def test_every_unread_request_is_answered_once_after_all(start):
    """Section 3: replies are kept; at the limit stdin is not read further."""
    sidecar = start()
    sidecar.call("ping")
    sidecar.stop_reading()
    lines = b"".join(b'{"jsonrpc":"2.0","id":"q%d","method":"ping","params":{}}\n' % n for n in range(20_000))
    writer = threading.Thread(target=sidecar.send_raw, args=(lines,))
    writer.start()
    writer.join(1)
    sidecar.go_on_reading()
    writer.join()
    sidecar.answer("q19999", 30)
    deadline.until("20,000 answers", lambda: len(sidecar.frames) >= 20_001)
    ids = [frame["id"] for frame in sidecar.frames[1:]]
    assert len(ids) == len(set(ids)) == 20_000


def test_a_host_that_neither_reads_nor_stays_is_noticed(start, server):
    """Section 3, section 5: with stdout full, the end of stdin still ends it within its time."""
    sidecar = start()
    sidecar.call("pause")
    enqueue(sidecar, server.url("/x"), id="a", vars=["x" * 1_000_000])
    sidecar.stop_reading()
    for _ in range(20):
        sidecar.send("getRequests")
    sidecar.process.stdin.close()
    assert sidecar.process.wait(8) == 0
    # What the pipe could not take is lost, and the last line with it.
    sidecar.may_cut_its_last_line = True


def paced(rate, piece=100_000):
    """Reads `rate` bytes a second, then answers."""
    def step(exchange):
        while not exchange.request.whole:
            exchange.read_body(piece)
            exchange.pause(piece / rate)
        exchange.answer()
    return step


def test_a_prog_04_progress_is_no_flood_and_calls_are_answered_meanwhile(sidecar, server, tmp_path):
    """A-PROG-04, section 3: at most one event in 250 ms and the last value; a ping within 100 ms (median)."""
    body = tmp_path / "body"
    body.write_bytes(bytes(16_000_000))
    server.on("/x", paced(8_000_000))
    enqueue(sidecar, server.url("/x"), id="a", method="PUT", file=str(body))
    started = time.monotonic()
    waits = []
    while not sidecar.events("settled"):
        sent = time.monotonic()
        sidecar.call("ping")
        waits.append(time.monotonic() - sent)
        time.sleep(0.02)
    took = time.monotonic() - started
    progress = sidecar.events("progress")
    assert 3 <= len(progress) <= took / 0.25 + 3
    sent = [event["bytesSent"] for event in progress]
    assert sent == sorted(sent) and sent[-1] == 16_000_000
    assert all(event["totalBytes"] == 16_000_000 for event in progress)
    assert sorted(waits)[len(waits) // 2] < 0.1
    events = [frame for frame in sidecar.frames if "method" in frame]
    end = next(n for n, event in enumerate(events) if event["params"].get("state") == "completed")
    assert [event["method"] for event in events[end:]] == ["state", "settled"]


def test_a_prog_02_a_failed_attempt_is_not_counted_twice(sidecar, server, tmp_path):
    """A-PROG-02: never above the total, the last one equals it."""
    body = tmp_path / "body"
    body.write_bytes(os.urandom(10_000_000))
    server.on("/x", rawserver.hang_up(6_000_000), rawserver.hang_up(6_000_000), rawserver.reply())
    enqueue(sidecar, server.url("/x"), id="a", method="PUT", file=str(body))
    outcome = sidecar.settled("a")
    sent = [event["bytesSent"] for event in sidecar.events("progress")]
    assert max(sent) == sent[-1] == outcome["bytesSent"] == 10_000_000
    assert outcome["attempts"] == 3


def test_d22_progress_does_not_run_ahead_of_the_network(sidecar, server, tmp_path):
    """D22: a byte counts once it has left the send queue; a server that reads nothing makes none."""
    body = tmp_path / "body"
    body.write_bytes(bytes(50_000_000))

    gate = threading.Event()

    def step(exchange):
        exchange.read_body(100_000)
        exchange.hold(gate)
        exchange.read_body()
        exchange.answer()
    server.on("/x", step)
    enqueue(sidecar, server.url("/x"), id="a", method="PUT", file=str(body))
    sidecar.event("progress", id="a")
    server.quiet(1)
    # What lies in the receiver's kernel has left ours.
    assert all(event["bytesSent"] < 25_000_000 for event in sidecar.events("progress"))
    gate.set()
    sidecar.settled("a")


def test_a_queue_11_ten_thousand_entries_wait_on_disk_not_in_memory(start, server):
    """A-QUEUE-11: the start answers within 3 s, memory stays flat, at most 4 in flight, all complete."""
    count = 10_000
    first = start()
    first.call("pause")
    for n in range(count):
        first.send("enqueue", {"id": f"e{n}", "key": "k", "request": {"url": server.url("/x"), "data": n}})
    deadline.until("all are accepted", lambda: len(first.frames) >= count + 1, 60)
    first.kill()
    second = start()
    begun = time.monotonic()
    second.call("ping")
    assert time.monotonic() - begun < 3
    before = second.resident()
    assert [row["id"] for row in second.rows()] == [f"e{n}" for n in range(count)]
    second.call("resume")
    most = 0

    def finished():
        nonlocal most
        stats = second.call("stats")["entries"]
        most = max(most, stats["running"])
        return stats["completed"] == count
    deadline.until("all are completed", finished, 120)
    assert most <= 4
    assert second.resident() - before < 20 << 20
    assert len(server.seen()) == count
