"""SIGKILL at any instant: nothing that was answered is lost, nothing is told twice."""
import hashlib
import os
import random
import re
import sqlite3
import threading
import time

import pytest

from endtoend import deadline, rawserver
from endtoend.requests import FAST, enqueue


class Ledger:
    """What the host was told, over all starts."""

    def __init__(self):
        self.asked = {}
        self.accepted = set()
        self.outcomes = {}
        self.acknowledged = set()

    def ask(self, sidecar, url, id):
        self.asked[sidecar.send("enqueue", {"id": id, "key": "k", "vars": {"n": id}, "request": {
            "url": url, "retry": {"backoff": FAST}, "headers": {"X-Entry": id}, "data": {"entry": id}}})] = id

    def read(self, sidecar):
        """Takes in what this sidecar has said until its end."""
        for frame in sidecar.frames:
            if frame.get("method") == "settled":
                event = frame["params"]
                assert event["eventId"] not in self.acknowledged, "an acknowledged outcome came again"
                self.outcomes.setdefault(event["id"], {})[event["eventId"]] = event
            elif frame.get("id") in self.asked and "result" in frame:
                self.accepted.add(self.asked[frame["id"]])
        self.asked = {}


def acknowledge_now_and_then(sidecar, chance, seconds):
    """Acknowledges some of what comes meanwhile; returns the calls and the outcomes they are about."""
    until = time.monotonic() + seconds
    handed = set()
    calls = {}
    while time.monotonic() < until:
        for event in sidecar.events("settled"):
            if event["eventId"] not in handed and chance.random() < 0.3:
                handed.add(event["eventId"])
                calls[sidecar.send("ackEvents", {"eventIds": [event["eventId"]]})] = event["eventId"]
        time.sleep(0.002)
    return calls


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_store_07_kills_under_load_lose_nothing(start, server, directory, seed):
    """A-STORE-07, A-RETRY-10, D35: each accepted entry is sent and settles once, and is told until acked."""
    chance = random.Random(seed)

    def step(exchange):
        exchange.read_body()
        exchange.pause(chance.uniform(0, 0.01))
        exchange.answer(503 if chance.random() < 0.1 else 200)
    server.on("/load", step)
    ledger = Ledger()
    for round in range(12):
        sidecar = start()
        sidecar.send("subscribe", {"events": ["settled"], "window": chance.choice([1, 8, 64])})
        for n in range(15):
            ledger.ask(sidecar, server.url("/load"), f"{round}-{n}")
        if round % 2:
            sidecar.answer(min(ledger.asked))
        calls = acknowledge_now_and_then(sidecar, chance, chance.uniform(0.01, 0.25))
        sidecar.kill()
        ledger.read(sidecar)
        answered = {frame["id"] for frame in sidecar.frames if "result" in frame}
        ledger.acknowledged |= {event for call, event in calls.items() if call in answered}
    last = start()
    last.subscribe("settled", window=1024)
    deadline.until("every entry is settled", lambda: all(
        row["state"] == "completed" for row in last.rows()), 60)
    deadline.until("every outcome is told", lambda: len(last.events("settled")) >= len(last.rows()), 30)
    ledger.read(last)

    assert len(ledger.accepted) >= 6
    sent = {}
    for request in server.seen():
        sent.setdefault(request.header("x-entry"), []).append(request)
    for id in ledger.accepted:
        assert len(ledger.outcomes.get(id, {})) == 1, f"{id}: {ledger.outcomes.get(id)}"
        outcome = next(iter(ledger.outcomes[id].values()))
        assert (outcome["kind"], outcome["vars"]) == ("completed", {"n": id})
        assert outcome["attempts"] >= len(sent[id]) >= 1
        assert {request.header("idempotency-key") for request in sent[id]} != {None}
        assert len({request.header("idempotency-key") for request in sent[id]}) == 1
    ids = [request.request_id for request in server.seen()]
    assert len(set(ids)) == len(ids)
    last.close()
    with sqlite3.connect(f"file:{next(directory.glob('*.db'))}?mode=ro", uri=True) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_store_07_a_kill_right_after_the_server_said_yes(start, server):
    """A-STORE-07: at most 2 requests, exactly 1 outcome, another X-Request-Id, the same Idempotency-Key."""
    chance = random.Random(7)
    for run in range(15):
        answered = threading.Event()

        def step(exchange, answered=answered):
            exchange.read_body()
            exchange.answer()
            answered.set()
        path = f"/{run}"
        server.on(path, step)
        sidecar = start()
        enqueue(sidecar, server.url(path), id=path, data=run)
        assert answered.wait(10)
        time.sleep(chance.uniform(0, 0.005))
        sidecar.kill()
        again = start()
        again.subscribe("settled")
        outcome = again.settled(path)
        requests = server.seen(path)
        assert len(requests) in (1, 2) and outcome["attempts"] == len(requests)
        assert len({request.request_id for request in requests}) == len(requests)
        assert len({request.header("idempotency-key") for request in requests}) == 1
        assert outcome["requestId"] == requests[-1].request_id
        again.ack(outcome)
        again.kill()


def test_a_retry_10_d3_an_attempt_is_counted_before_its_first_byte(start, server):
    """A-RETRY-10, D3, D35: killed while the server holds the request; the row knows the attempt."""
    gate = threading.Event()
    server.on("/x", rawserver.hold(gate), rawserver.reply())
    first = start()
    enqueue(first, server.url("/x"), id="a")
    server.wait_requests(1)
    first.kill()
    second = start()
    second.subscribe()
    outcome = second.settled("a")
    assert (outcome["attempts"], len(server.seen())) == (2, 2)


def test_a_kill_while_a_body_is_staged_leaves_the_source_and_no_row(start, server, tmp_path):
    """Section 5: what was not answered may be repeated with the same id; the source is untouched."""
    body = tmp_path / "body"
    content = os.urandom(1 << 20) * 64
    body.write_bytes(content)
    chance = random.Random(3)
    for run in range(6):
        sidecar = start()
        sidecar.call("pause")
        call = sidecar.send("enqueue", {"id": "a", "key": "k", "request": {
            "url": server.url("/x"), "method": "PUT", "file": str(body)}})
        time.sleep(chance.uniform(0, 0.08))
        sidecar.kill()
        answered = any(frame.get("id") == call for frame in sidecar.frames)
        again = start()
        assert not answered or again.row("a")["state"] == "paused"
        again.kill()
    last = start()
    last.subscribe()
    enqueue(last, server.url("/x"), id="a", method="PUT", file=str(body))
    last.call("resume")
    assert last.settled("a")["kind"] == "completed"
    assert server.seen()[-1].sha256 == hashlib.sha256(content).hexdigest()
    assert body.read_bytes() == content


def test_a_cancel_that_was_answered_survives_a_kill(start, server):
    """A-QUEUE-06 across a kill: nothing is sent after the answer to cancel."""
    gate = threading.Event()
    server.on("/x", rawserver.hold(gate))
    first = start()
    enqueue(first, server.url("/x"), id="a")
    server.wait_requests(1)
    first.call("cancel", id="a")
    first.kill()
    second = start()
    second.subscribe()
    assert second.settled("a")["kind"] == "cancelled"
    server.quiet(0.3)


SYNC = re.compile(r"\b(?:fsync|fdatasync)\(\d+<([^>]*)>")


def test_a_store_09_all_is_synced_before_the_answer(start, server, directory, tmp_path):
    """A-STORE-09, D27, D35: the file, its directory and the database, in this order, then the reply."""
    body = tmp_path / "body"
    body.write_bytes(bytes(500_000))
    trace = tmp_path / "trace"
    sidecar = start(under=["strace", "-f", "-y", "-s", "400", "-o", str(trace), "-e",
                           "trace=fsync,fdatasync,write,writev,sendto,sendmsg"])
    sidecar.call("pause")
    sidecar.send("enqueue", {"id": "a", "key": "k", "request": {
        "url": server.url("/x"), "method": "PUT", "file": str(body)}}, id="the call")
    sidecar.result("the call", 30)
    sidecar.close(30)
    lines = trace.read_text(encoding="utf-8", errors="replace").splitlines()
    before = lines[:next(n for n, line in enumerate(lines) if "the call" in line)]
    # The commit of `pause` synced the database as well, so look behind its answer.
    paused = max(n for n, line in enumerate(before) if '"result":{}' in line.replace("\\", ""))
    synced = [match[1] for line in before[paused:] if (match := SYNC.search(line))]
    inside = [path for path in synced if path.startswith(str(directory))]
    bodies = [path for path in inside if not path.endswith((".db", "-wal")) and not os.path.isdir(path)]
    file = inside.index(bodies[0])
    folder = inside.index(os.path.dirname(bodies[0]), file)
    assert any(path.endswith("-wal") for path in inside[folder:]), inside
