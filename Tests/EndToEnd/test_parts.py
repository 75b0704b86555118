"""One file in many requests: ranges, retries, kills, credentials, and what becomes of the file."""
import hashlib
import os
import random
import threading
import time

import pytest

from endtoend import deadline, rawserver
from endtoend.frames import RPCError
from endtoend.requests import FAST, enqueue

SIZE = 34_000_001
PART = 10 << 20


@pytest.fixture
def bodies(monkeypatch):
    """The server keeps whole parts."""
    monkeypatch.setattr(rawserver, "KEEP_BODY", 16 << 20)


def source(directory, size, name="source"):
    """A file of this size that holds no stretch twice, and its bytes."""
    content = random.Random(size).randbytes(size)
    path = directory / name
    path.write_bytes(content)
    return path, content


def ranges_of(sidecar, size, part):
    return sidecar.call("chunkPlan", size=size, min=1, max=part)["ranges"]


def enqueue_parts(sidecar, server, path, ranges, id="a", **fields):
    """Part i goes to /i."""
    retry = {"backoff": FAST, **fields.pop("retry", {})}
    parts = [{"url": server.url(f"/{i}"), "range": range} for i, range in enumerate(ranges)]
    request = {"method": "PUT", "file": str(path), "parts": parts, "retry": retry, **fields}
    return sidecar.call("enqueue", id=id, key="k", request=request)


def whole(server, path):
    """The requests for `path` that arrived to their end."""
    return [request for request in server.seen(path) if request.whole]


def assert_tiled(server, ranges, content):
    """What the server holds of each part is its range, and together they are the file."""
    got = b""
    for i, range in enumerate(ranges):
        request = whole(server, f"/{i}")[-1]
        assert request.length == range["end"] - range["start"]
        got += request.body
    assert hashlib.sha256(got).hexdigest() == hashlib.sha256(content).hexdigest()


def test_b255_b256_a_prog_01_a_file_goes_in_parts(sidecar, server, tmp_path, bodies):
    """B255, B256, A-PROG-01: three at once, exact ranges, progress up to the total, one outcome."""
    path, content = source(tmp_path, SIZE)
    ranges = ranges_of(sidecar, SIZE, PART)
    assert len(ranges) == 4
    enqueue_parts(sidecar, server, path, ranges)
    assert not path.exists()
    outcome = sidecar.settled("a")
    assert (outcome["kind"], outcome["attempts"], outcome["bytesSent"]) == ("completed", 4, SIZE)
    assert "status" not in outcome["response"]
    assert outcome["url"] == server.url(f"/{outcome['partIndex']}")
    assert_tiled(server, ranges, content)
    assert len(server.seen()) == 4
    attempts = sidecar.events("attempt", id="a")
    assert sorted(attempt["partIndex"] for attempt in attempts) == [0, 1, 2, 3]
    assert ({attempt["requestId"] for attempt in attempts}
            == {request.request_id for request in server.seen()})
    progress = [event["bytesSent"] for event in sidecar.events("progress", id="a")]
    assert max(progress) == progress[-1] == SIZE
    states = [row["state"] for row in sidecar.events("state", id="a")]
    # When all in flight end at once, nothing is for a moment (D2).
    assert states[0::2] == ["queued"] * (len(states) // 2) + ["completed"]
    assert set(states[1::2]) == {"running"}
    sidecar.ack(outcome)
    assert sidecar.rows() == []


def test_a_prog_03_parts_survive_a_kill(start, server, tmp_path, bodies):
    """B256, A-PROG-03, D26: killed half-way, accepted parts are not sent again; each is exactly its range."""
    path, content = source(tmp_path, SIZE)
    gate = threading.Event()
    server.on("/2", rawserver.hold(gate))
    server.on("/3", rawserver.hold(gate))
    sidecar = start()
    sidecar.subscribe()
    ranges = ranges_of(sidecar, SIZE, PART)
    enqueue_parts(sidecar, server, path, ranges)
    sidecar.wait_events("attempt", 2, id="a", outcome="completed")
    server.wait_requests(1, "/3")
    sidecar.kill()
    gate.set()
    again = start()
    again.subscribe()
    row = again.row("a")
    assert row["bytesSent"] >= 2 * PART and row["totalBytes"] == SIZE
    assert again.settled("a")["kind"] == "completed"
    assert all(event["bytesSent"] >= 2 * PART for event in again.events("progress"))
    assert [len(server.seen(f"/{i}")) for i in (0, 1)] == [1, 1]
    assert all(len(server.seen(f"/{i}")) == 2 for i in (2, 3))
    assert_tiled(server, ranges, content)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_store_07_kills_at_any_instant_lose_no_part(start, server, tmp_path, seed, bodies):
    """A-STORE-07, A-PROG-03: killed again and again, the file arrives whole, and nothing goes back."""
    chance = random.Random(seed)
    path, content = source(tmp_path, 2_000_003)
    accepted = 0

    def step(exchange):
        exchange.read_body()
        exchange.pause(chance.uniform(0, 0.02))
        exchange.answer(503 if chance.random() < 0.2 else 200)
    sidecar = start()
    ranges = ranges_of(sidecar, len(content), 100_000)
    for i in range(len(ranges)):
        server.on(f"/{i}", step)
    enqueue_parts(sidecar, server, path, ranges)
    for _ in range(12):
        time.sleep(chance.uniform(0.02, 0.1))
        sidecar.kill()
        sidecar = start()
        row = sidecar.row("a")
        assert row["bytesSent"] >= accepted
        accepted = row["bytesSent"] if row["state"] == "queued" else accepted
    sidecar.subscribe()
    assert sidecar.settled("a", seconds=60)["kind"] == "completed"
    assert_tiled(server, ranges, content)


def test_a_file_10_a_part_that_fails_twice_is_sent_three_times(sidecar, server, tmp_path):
    """A-FILE-10, B262: exactly 6 requests, and the end comes after the part's 200."""
    path, _ = source(tmp_path, 400)
    server.on("/1", rawserver.reply(500), rawserver.reply(500), rawserver.reply(200))
    enqueue_parts(sidecar, server, path, ranges_of(sidecar, 400, 100))
    outcome = sidecar.settled("a")
    assert (outcome["kind"], outcome["partIndex"], outcome["attempts"]) == ("completed", 1, 6)
    assert [len(server.seen(f"/{i}")) for i in range(4)] == [1, 3, 1, 1]


def test_a_file_01_a_file_that_grows_is_sent_as_it_was(sidecar, server, tmp_path, bodies):
    """A-FILE-01, D28, D30: the app's open descriptor appends; each part is its range, and nothing follows."""
    path, content = source(tmp_path, 1_000_000)
    gate = threading.Event()
    for i in range(4):
        server.on(f"/{i}", rawserver.hold(gate))
    with open(path, "ab", buffering=0) as still_open:
        ranges = ranges_of(sidecar, len(content), 250_000)
        enqueue_parts(sidecar, server, path, ranges)
        still_open.write(b"x" * 1_000_000)
        gate.set()
        assert sidecar.settled("a")["kind"] == "completed"
    assert not path.exists()
    assert_tiled(server, ranges, content)
    assert len(server.seen()) == 4


@pytest.mark.parametrize("ranges, field", [
    ([(0, 100), (101, 200)], "request.parts[1].range.start"),
    ([(0, 100), (99, 200)], "request.parts[1].range.start"),
    ([(0, 100), (100, 199)], "request.parts[1].range.end"),
    ([(0, 201)], "request.parts[0].range.end")])
def test_a_file_09_parts_that_do_not_tile_leave_the_file(sidecar, server, tmp_path, directory, ranges, field):
    """A-FILE-09, B138: E_INVALID names the part; the file is where it was, as it was; nothing is kept."""
    path, content = source(tmp_path, 200)
    with pytest.raises(RPCError) as refused:
        enqueue_parts(sidecar, server, path, [{"start": start, "end": end} for start, end in ranges])
    assert (refused.value.code, refused.value.path) == ("E_INVALID", field)
    assert path.read_bytes() == content
    assert sidecar.rows() == []
    assert not [place for folder in directory.glob("bodies-*") for place in folder.iterdir()]


def test_a_body_04_an_empty_file_is_one_request_of_length_0(sidecar, server, tmp_path):
    """A-BODY-04, D9."""
    path, _ = source(tmp_path, 0)
    ranges = sidecar.call("chunkPlan", size=0)["ranges"]
    assert ranges == [{"start": 0, "end": 0}]
    enqueue_parts(sidecar, server, path, ranges)
    outcome = sidecar.settled("a")
    assert (outcome["kind"], outcome["bytesSent"], outcome["totalBytes"]) == ("completed", 0, 0)
    assert [request.length for request in server.seen()] == [0]


def test_a_auth_04_a_token_that_dies_between_parts(sidecar, server, tmp_path):
    """A-AUTH-04, B265: after updateHeaders only the parts that were not accepted go out again."""
    path, _ = source(tmp_path, 500)
    server.on("/2", rawserver.reply(401), rawserver.reply(200))
    sidecar.call("configure",
                 concurrency={"total": 4, "reservedHigh": 1, "partsPerEntry": 1})
    enqueue_parts(sidecar, server, path, ranges_of(sidecar, 500, 100), headers={"Authorization": "old"})
    assert sidecar.wait_state("a", "awaiting-auth")["bytesSent"] == 200
    sidecar.call("updateHeaders", headers={"authorization": "new"})
    assert sidecar.settled("a")["kind"] == "completed"
    assert [len(server.seen(f"/{i}")) for i in range(5)] == [1, 1, 2, 1, 1]
    assert [request.header("authorization") for request in server.seen()] == ["old"] * 3 + ["new"] * 3


def test_a_url_08_part_headers_go_over_the_entrys(sidecar, server, tmp_path):
    """A-URL-08, B254: one line for a name, whatever its case; the patch replaces the part's own."""
    path, _ = source(tmp_path, 2)
    sidecar.call("pause")
    parts = [{"url": server.url("/0"), "range": {"start": 0, "end": 1}},
             {"url": server.url("/1"), "headers": {"AUTHORIZATION": "c", "X-P": "p"},
              "range": {"start": 1, "end": 2}}]
    sidecar.call("enqueue", id="a", key="k", request={
        "method": "PUT", "file": str(path), "parts": parts, "headers": {"authorization": "b"}})
    sidecar.call("updateHeaders", headers={"x-p": "q"})
    sidecar.call("resume")
    sidecar.settled("a")
    assert [server.seen(f"/{i}")[0].header("authorization") for i in range(2)] == ["b", "c"]
    assert [server.seen(f"/{i}")[0].header("x-p") for i in range(2)] == ["q", "q"]


def test_b257_b258_a_terminal_part_and_then_other_parts(sidecar, server, another_server, tmp_path, bodies):
    """B257, B258: the others stop, the message names the part; other parts go over the kept bytes."""
    path, content = source(tmp_path, 300_000)
    gate = threading.Event()
    server.on("/0", rawserver.hold(gate))
    server.on("/2", rawserver.reply(404))
    ranges = ranges_of(sidecar, len(content), 100_000)
    enqueue_parts(sidecar, server, path, ranges, retry={"terminalHttp": {"exempt": []}})
    outcome = sidecar.settled("a")
    assert (outcome["error"]["errorKind"], outcome["error"]["message"]) == ("http", "HTTP 404 on part 2")
    assert outcome["partIndex"] == 2 and outcome["error"]["response"]["status"] == 404
    sidecar.ack(outcome)
    halves = ranges_of(sidecar, len(content), 150_000)
    answer = enqueue_parts(sidecar, another_server, path, halves)
    assert (answer["disposition"], answer["generation"]) == ("replaced", 2)
    assert sidecar.settled("a", 2)["kind"] == "completed"
    assert_tiled(another_server, halves, content)
    gate.set()


def test_b266_a_pause_keeps_what_was_accepted(sidecar, server, tmp_path):
    """B266: no attempt event, no outcome; resume sends the rest."""
    path, _ = source(tmp_path, 400)
    gate = threading.Event()
    for i in (1, 2, 3):
        server.on(f"/{i}", rawserver.hold(gate), rawserver.reply(200))
    enqueue_parts(sidecar, server, path, ranges_of(sidecar, 400, 100))
    server.wait_requests(1, "/3")
    sidecar.call("pause")
    assert (sidecar.row("a")["state"], sidecar.row("a")["bytesSent"]) == ("paused", 100)
    sidecar.call("resume")
    assert sidecar.settled("a")["kind"] == "completed"
    assert [len(server.seen(f"/{i}")) for i in range(4)] == [1, 2, 2, 2]
    assert len(sidecar.events("attempt")) == 4
    gate.set()


def test_b269_a_staged_file_that_is_too_short(start, server, tmp_path, directory):
    """B269, D30: error file, with the part."""
    path, _ = source(tmp_path, 200_000)
    sidecar = start()
    sidecar.subscribe()
    sidecar.call("pause")
    enqueue_parts(sidecar, server, path, ranges_of(sidecar, 200_000, 50_000))
    [body] = [place for folder in directory.glob("bodies-*") for place in folder.iterdir()]
    os.truncate(body, 120_000)
    sidecar.call("resume")
    outcome = sidecar.settled("a")
    assert (outcome["error"]["errorKind"], outcome["partIndex"]) == ("file", 2)
    assert outcome["error"]["message"].endswith("on part 2")
    assert server.seen("/2") == []


def test_d25_a_comment_is_not_held_up_by_ten_thousand_parts(sidecar, server, tmp_path):
    """D25: another key has its turn while a file of many parts goes out; calls are answered at once."""
    path, _ = source(tmp_path, 10_000)
    sidecar.call("pause", keys=["k"])
    enqueue_parts(sidecar, server, path, ranges_of(sidecar, 10_000, 1))
    sidecar.call("resume", keys=["k"])
    server.wait_requests(50)
    enqueue(sidecar, server.url("/comment"), id="c", key="comment", data=1)
    sidecar.settled("c")
    assert len(server.seen()) < 5000
    deadline.until("it goes on", lambda: sidecar.row("a")["bytesSent"] >= 300)
    sidecar.call("cancel", id="a")
    assert sidecar.settled("a")["kind"] == "cancelled"


@pytest.mark.parametrize("staging", ["reference", "copy"])
def test_d28_the_file_of_parts_may_stay_where_it_is(sidecar, server, bodies, tmp_path, staging):
    """D26, D28: by reference or copied, each part is its range, and the caller's file is left alone."""
    path, content = source(tmp_path, 300_000)
    ranges = ranges_of(sidecar, len(content), 100_000)
    enqueue_parts(sidecar, server, path, ranges, staging=staging)
    assert sidecar.settled("a")["bytesSent"] == len(content)
    assert_tiled(server, ranges, content)
    assert path.read_bytes() == content


def test_d28_a_change_of_the_file_that_parts_refer_to_settles_them(sidecar, server, tmp_path):
    """D28: nothing of another file is sent, and the outcome says `file`."""
    path, content = source(tmp_path, 200_000)
    sidecar.call("pause")
    enqueue_parts(sidecar, server, path, ranges_of(sidecar, len(content), 100_000), staging="reference")
    path.write_bytes(content + b"more")
    sidecar.call("resume")
    assert sidecar.settled("a")["error"]["errorKind"] == "file"
    assert server.seen() == []
