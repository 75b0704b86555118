"""Large bodies, many requests and long waits: what must not grow with them."""
import time

import pytest

from endtoend import deadline, rawserver
from endtoend.requests import enqueue


@pytest.mark.parametrize("size", [2_147_483_649, 4_294_967_297])
@pytest.mark.parametrize("kind", ["file", "form"])
def test_a_body_08_bodies_past_2_and_4_gib_arrive_exactly(sidecar, server, tmp_path, size, kind):
    """A-BODY-08: length, count and progress are exact, and memory grows by less than 50 MB."""
    body = tmp_path / "body"
    with open(body, "wb") as out:
        out.truncate(size)
    server.on("/x", rawserver.discard)
    sidecar.call("ping")
    before = sidecar.resident()
    fields = {"file": str(body), "method": "PUT"} if kind == "file" else {
        "form": [{"name": "f", "contentType": "t/p", "path": str(body)}]}
    call = sidecar.send("enqueue", {"id": "a", "key": "k", "request": {"url": server.url("/x"), **fields}})
    sidecar.result(call, 300)
    outcome = sidecar.settled("a", seconds=300)
    request = server.seen()[0]
    assert (outcome["kind"], outcome["attempts"]) == ("completed", 1)
    assert request.length == size if kind == "file" else size < request.length < size + 1000
    assert request.body_length == request.length == outcome["bytesSent"] == outcome["totalBytes"]
    last = sidecar.events("progress")[-1]
    assert (last["bytesSent"], last["totalBytes"]) == (request.length, request.length)
    assert sidecar.resident(most=True) - before < 50_000_000


def test_a_deliv_06_fifty_thousand_acknowledged_requests_leave_nothing(start, server, directory):
    """A-DELIV-06: no rows, no growth of memory after the first 5,000, a store that stays small."""
    sidecar = start()
    sidecar.subscribe("settled", window=1024)
    count = 50_000
    taken = sent = seen = 0
    early = None
    while taken < count:
        while sent < count and sent - taken < 500:
            sidecar.send("enqueue", {"id": str(sent), "key": "k", "request": {"url": server.url("/x")}})
            sent += 1
        outcomes = sidecar.take_events("settled")
        if outcomes:
            sidecar.ack(*outcomes)
            taken += len(outcomes)
            seen += server.forget()
        else:
            time.sleep(0.002)
        if early is None and taken >= 5000:
            early = sidecar.resident()
    assert sidecar.rows() == []
    assert seen + server.forget() == count
    assert sidecar.resident() - early < 20_000_000
    size = sum(place.stat().st_size for place in directory.rglob("*") if place.is_file())
    assert size < 32_000_000


def test_a_queue_10_waiting_for_a_slot_is_no_stall(sidecar, server):
    """A-QUEUE-10: thirty entries wait for three slots longer than any limit of theirs; attempts 1 each."""
    def step(exchange):
        exchange.read_body()
        exchange.pause(0.3)
        exchange.answer()
    server.on("/x", step)
    timeouts = {"stallMs": 1000, "connectMs": 1000, "responseMs": 2500}
    for n in range(30):
        enqueue(sidecar, server.url("/x"), id=str(n), data=n, timeouts=timeouts)
    for n in range(30):
        outcome = sidecar.settled(str(n), seconds=60)
        assert (outcome["kind"], outcome["attempts"]) == ("completed", 1)


def test_a_file_01_a_staged_body_that_grows_is_sent_as_announced(sidecar, server, tmp_path, directory):
    """A-FILE-01, D30: bytes behind the announced end never go out; the next request on the connection is
    well-formed."""
    body = tmp_path / "body"
    body.write_bytes(b"announced" * 40_000)
    sidecar.call("pause")
    enqueue(sidecar, server.url("/x"), id="a", method="PUT", file=str(body))
    staged = [place for place in directory.glob("bodies-*/*") if place.stat().st_size == 360_000]
    with open(staged[0], "ab") as more:
        more.write(b"POST /smuggled HTTP/1.1\r\n\r\n" * 1000)
    enqueue(sidecar, server.url("/y"), id="b", data=1)
    sidecar.call("resume")
    for id in ("a", "b"):
        assert sidecar.settled(id)["kind"] == "completed"
    assert server.seen("/x")[0].body == b"announced" * 40_000
    deadline.until("both", lambda: len(server.seen()) >= 2)
    assert {request.path for request in server.seen()} == {"/x", "/y"}


def test_memory_of_a_burst_is_given_back_once_it_is_over(start, server):
    """What large calls, many rows and outcomes have taken goes back to the system afterwards."""
    sidecar = start()
    sidecar.call("ping")
    before = sidecar.resident(of_file=False)
    for size, count in ((8_000_000, 3), (100_000, 200), (1000, 1000)):
        vars = {"filling": "x" * size}
        params = {"key": "k", "vars": vars, "request": {"url": server.url("/"), "data": 1}}
        for call in [sidecar.send("enqueue", params) for _ in range(count)]:
            sidecar.result(call, 60)
    assert sidecar.rows()
    sidecar.subscribe("settled", window=1024)
    while any(sidecar.call("stats")["entries"].values()):
        if told := sidecar.take_events("settled"):
            sidecar.ack(*told)
    deadline.until("the memory is given back", lambda: sidecar.resident(of_file=False) - before < 8 << 20, 30)


def test_little_work_has_no_wake_up_left_behind_it(sidecar, server):
    """Memory is given back only where there is something to give."""
    for turn in range(20):
        enqueue(sidecar, server.url("/"), id=f"e{turn}", data=1)
        sidecar.ack(sidecar.settled(f"e{turn}"))
    assert not any(sidecar.call("stats")["entries"].values())
    assert not sidecar.armed_timers()


@pytest.mark.parametrize("library", ["libcrypto", "libgnutls"])
def test_what_only_the_start_has_read_of_a_library_is_not_kept_in_memory(sidecar, library):
    """The dynamic linker goes through more than 1 MB of each, and nothing of them is called at rest."""
    sidecar.call("ping")
    assert sidecar.resident_of(library) < 800_000
