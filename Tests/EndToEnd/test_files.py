"""Files: sent from where they are, few descriptors, and what a crash leaves over."""
import hashlib
import os
import threading
import time

import pytest

from endtoend import rawserver
from endtoend.frames import RPCError
from endtoend.requests import FAST, descriptor, enqueue

DAY = 24 * 60 * 60


def body_files(directory):
    return sorted(path.name for path in directory.glob("bodies-*/*"))


def test_d28_a_referenced_file_goes_out_from_where_it_is(start, server, tmp_path, directory):
    """D28: no copy on disk, retries and a killed process included; nothing deletes it."""
    source = tmp_path / "ein Bild 100%25.jpg"
    content = os.urandom(3_000_001)
    source.write_bytes(content)
    server.on("/put", rawserver.reply(503), rawserver.reply(503), rawserver.reply(201))
    first = start()
    first.subscribe()
    enqueue(first, server.url("/put"), id="a", method="PUT", file=str(source), staging="reference",
            retry={"backoff": FAST})
    server.wait_requests(1)
    first.kill()
    assert body_files(directory) == []
    second = start()
    second.subscribe()
    outcome = second.settled("a")
    assert (outcome["kind"], outcome["response"]["status"]) == ("completed", 201)
    assert (outcome["bytesSent"], outcome["totalBytes"]) == (3_000_001, 3_000_001)
    sent = {request.sha256 for request in server.seen() if request.whole}
    assert sent == {hashlib.sha256(content).hexdigest()}
    second.ack(outcome)
    assert second.rows() == []
    assert source.read_bytes() == content
    assert body_files(directory) == []


def test_d28_a_form_refers_to_its_files(sidecar, server, tmp_path, directory):
    """D28: the multipart body is the one that a copy would be, but for the boundary."""
    source = tmp_path / "source"
    source.write_bytes(os.urandom(200_000))
    form = [{"name": "note", "contentType": "text/plain", "string": "hi"},
            {"name": "file", "contentType": "a/b", "path": str(source)}]
    bodies = {}
    for staging in ("reference", "copy"):
        enqueue(sidecar, server.url(f"/{staging}"), id=staging, form=form, staging=staging)
        assert sidecar.settled(staging)["kind"] == "completed"
        request = server.seen(f"/{staging}")[0]
        boundary = request.header("content-type").rpartition("=")[2]
        bodies[staging] = request.body.replace(boundary.encode(), b"boundary")
    assert bodies["reference"] == bodies["copy"]
    assert source.read_bytes() in bodies["reference"]


def change_size(path):
    with open(path, "ab") as file:
        file.write(b"more")


def change_in_place(path):
    with open(path, "r+b") as file:
        file.write(b"other")


def replace(path):
    other = path.with_suffix(".new")
    other.write_bytes(path.read_bytes())
    status = path.stat()
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    os.rename(other, path)


CHANGES = [change_size, change_in_place, replace, os.unlink]


@pytest.mark.parametrize("change", CHANGES)
def test_d28_a_file_that_changed_before_the_attempt_is_not_sent(sidecar, server, tmp_path, change):
    """D28: size, time, inode, or gone: one outcome of kind file, and no request."""
    source = tmp_path / "source"
    source.write_bytes(bytes(100_000))
    os.utime(source, (1000, 1000))
    sidecar.call("pause")
    enqueue(sidecar, server.url("/put"), id="a", method="PUT", file=str(source), staging="reference")
    change(source)
    sidecar.call("resume")
    outcome = sidecar.settled("a")
    assert (outcome["kind"], outcome["error"]["errorKind"]) == ("error", "file")
    assert "response" not in outcome["error"]
    assert server.seen() == []


@pytest.mark.parametrize("change", CHANGES)
def test_d28_a_file_that_changed_meanwhile_settles_file_after_a_2xx_too(sidecar, server, tmp_path, change):
    """D28: the answer is attached. With the file as it is now the same call goes through."""
    source = tmp_path / "source"
    source.write_bytes(bytes(100_000))
    os.utime(source, (1000, 1000))

    def answer(exchange):
        exchange.read_body()
        change(source)
        exchange.answer(201, body=b"stored")

    server.on("/put", answer, rawserver.reply(200))
    enqueue(sidecar, server.url("/put"), id="a", method="PUT", file=str(source), staging="reference")
    outcome = sidecar.settled("a")
    assert (outcome["kind"], outcome["error"]["errorKind"]) == ("error", "file")
    assert outcome["error"]["response"]["status"] == 201
    assert outcome["error"]["response"]["body"] == "stored"
    source.write_bytes(b"again")
    again = enqueue(sidecar, server.url("/put"), id="a", method="PUT", file=str(source), staging="reference")
    assert again["generation"] == 2
    done = sidecar.wait_events("settled", 2, id="a")[1]
    assert done["kind"] == "completed"
    assert server.seen()[1].body == b"again"


def test_d28_who_copies_over_a_reference_may_delete_the_file(sidecar, server, tmp_path):
    """D28: an enqueue that copies is answered when the copy is ours, also while the attempt is on its way."""
    source = tmp_path / "source"
    source.write_bytes(b"x" * 500_000)
    gate = threading.Event()
    server.on("/put", rawserver.hold(gate), rawserver.reply(200))
    enqueue(sidecar, server.url("/put"), id="a", method="PUT", file=str(source), staging="reference")
    server.wait_requests(1)
    enqueue(sidecar, server.url("/put"), id="a", method="PUT", file=str(source))
    source.unlink()
    gate.set()
    assert sidecar.settled("a")["kind"] == "completed"
    assert server.seen()[-1].length == 500_000


def test_a_file_04_files_of_proc_are_refused(sidecar):
    """A-FILE-04, D29: their size says nothing of their content; refused by field, whatever the staging."""
    for staging in ("copy", "reference"):
        with pytest.raises(RPCError) as refusal:
            enqueue(sidecar, "http://127.0.0.1:9/", method="PUT", file="/proc/self/status", staging=staging)
        assert (refusal.value.code, refusal.value.path) == ("E_INVALID", "request.file")
    assert sidecar.rows() == []


def test_a_file_07_two_thousand_files_take_few_descriptors(start, server, tmp_path):
    """A-FILE-07: with a limit of 128; copied into rows, copied into files, and referred to."""
    sources = []
    for number in range(2000):
        source = tmp_path / f"source-{number}"
        source.write_bytes(number.to_bytes(4, "big") * (20_000 if number % 20 == 1 else 20))
        sources.append(source)

    def answer(exchange):
        exchange.read_body()
        time.sleep(0.005)
        exchange.answer(200)

    server.on("/put", answer)
    sidecar = start(under=["sh", "-c", 'ulimit -n 128; exec "$@"', "sh"])
    sidecar.subscribe("settled", window=1024)
    most, ends = [0], threading.Event()

    def count():
        place = f"/proc/{sidecar.process.pid}/fd"
        while not ends.wait(0.01):
            most[0] = max(most[0], len(os.listdir(place)))

    counter = threading.Thread(target=count)
    counter.start()
    try:
        asked = [sidecar.send("enqueue", {"id": str(number), "key": "k", "request": descriptor(
            server.url("/put"), method="PUT", file=str(source),
            staging="reference" if number % 2 else "copy")}) for number, source in enumerate(sources)]
        for call in asked:
            sidecar.result(call, 60)
        done = 0
        end = time.monotonic() + 120
        seen = 0
        while done < 2000:
            assert time.monotonic() < end, done
            frame = sidecar.wait("an outcome", lambda frame: frame.get("method") == "settled", seen, 60)
            seen = sidecar.frames.index(frame, seen) + 1
            assert frame["params"]["kind"] == "completed", frame
            sidecar.send("ackEvents", {"eventIds": [frame["params"]["eventId"]]})
            done += 1
    finally:
        ends.set()
        counter.join()
    assert 0 < most[0] < 64
    numbers = sorted(int.from_bytes(request.body[:4], "big") for request in server.seen())
    assert numbers == list(range(2000))


def make_orphans(directory, count, age=2 * DAY, size=0, prefix="body-"):
    folder = next(directory.glob("bodies-*"))
    then = time.time() - age
    for number in range(count):
        path = folder / f"{prefix}{number:08x}-0000-4000-8000-000000000000"
        path.write_bytes(bytes(size))
        os.utime(path, (then, then))
    return folder


def orphans(sidecar):
    boots = [record for record in sidecar.call("takeDiagnostics")["records"]
             if record["message"] == "boot sweep"]
    assert len(boots) == 1
    return boots[0]["data"]["orphans"]


def test_b304_a_start_clears_what_a_crash_left_and_counts_the_rest(start, server, directory, tmp_path):
    """B304, D37: old copies go, young ones, moved ones and unknown names stay, and what an entry needs."""
    source = tmp_path / "source"
    source.write_bytes(b"y" * 100_000)
    first = start()
    assert orphans(first) == {"dirs": 0, "files": 0, "bytes": 0, "removedFiles": 0, "removedBytes": 0}
    first.call("pause")
    enqueue(first, server.url("/put"), id="a", method="PUT", file=str(source))
    first.kill()
    needed = body_files(directory)
    os.utime(next(directory.glob("bodies-*/*")), (1000, 1000))
    folder = make_orphans(directory, 3, size=100)
    make_orphans(directory, 2, size=10, prefix="moved-")
    (folder / "notes.txt").write_bytes(b"12345")
    other = directory / "bodies-of-another"
    other.mkdir()
    (other / "body-00000000-0000-4000-8000-000000000000").write_bytes(b"1234")
    second = start()
    second.subscribe()
    assert orphans(second) == {"dirs": 1, "files": 4, "bytes": 29, "removedFiles": 3, "removedBytes": 300}
    left = [name for name in body_files(directory) if name not in needed]
    assert [name[:6] for name in left] == ["body-0", "moved-", "moved-", "notes."]
    second.call("resume")
    assert second.settled("a")["kind"] == "completed"
    assert server.seen()[0].body == b"y" * 100_000


def test_b304_a_hundred_thousand_leftovers_hold_up_nobody(start, directory):
    """B304, D37: the first answers do not wait for the count, and memory does not grow with it."""
    assert start().close() == 0
    make_orphans(directory, 100_000)
    sidecar = start()
    sidecar.call("ping")
    before = sidecar.resident()
    asked = sidecar.send("takeDiagnostics")
    began = time.monotonic()
    sidecar.call("stats")
    assert time.monotonic() - began < 2
    records = sidecar.result(asked, 120)["records"]
    assert records[-1]["data"]["orphans"]["removedFiles"] == 100_000
    assert sidecar.resident() - before < 8 << 20
    assert body_files(directory) == []


def test_b304_a_copy_that_a_kill_left_stays_for_a_day(start, directory):
    """B304: whoever looks into a crash finds it; a clock that was wrong deletes nothing."""
    assert start().close() == 0
    make_orphans(directory, 1, age=DAY - 3600)
    make_orphans(directory, 1, age=-3600, prefix="moved-")
    sidecar = start()
    assert orphans(sidecar)["removedFiles"] == 0
    assert len(body_files(directory)) == 2
