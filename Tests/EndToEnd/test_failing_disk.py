"""Disks that fail: for a time, for good, and at the start."""
import contextlib
import os
import pathlib
import subprocess
import time

import pytest

from endtoend import deadline
from endtoend.requests import descriptor, enqueue


def last_line(sidecar):
    return sidecar.stderr().splitlines()[-1]


@contextlib.contextmanager
def failing(sidecar, call, error, trace):
    """Every `call` of the process fails with `error` meanwhile."""
    tracer = subprocess.Popen(
        ["strace", "-f", "-p", str(sidecar.process.pid), "-o", trace, "-e", f"trace={call}", "-e",
         f"inject={call}:error={error}"], stderr=subprocess.DEVNULL)
    tasks = pathlib.Path(f"/proc/{sidecar.process.pid}/task")
    try:
        deadline.until("every thread is traced", lambda: all(
            "TracerPid:\t0\n" not in (task / "status").read_text() for task in tasks.iterdir()))
        yield
    finally:
        tracer.terminate()
        tracer.wait()
    assert "INJECTED" in trace.read_text(), "nothing failed"


@pytest.mark.parametrize("call, error", [
    ("fdatasync,fsync", "EIO"), ("pwrite64", "EIO"), ("pwrite64,ftruncate", "ENOSPC"),
    ("pwrite64,ftruncate,fdatasync,fsync,copy_file_range,?link,linkat,?unlink,unlinkat", "EROFS")])
def test_d36_a_disk_that_fails_for_a_time(start, server, tmp_path, call, error):
    """D36: what is answered holds, what is refused may be repeated; the process lives and goes on. The last
    is a file system that is read-only for a time."""
    source = tmp_path / "source"
    source.write_bytes(os.urandom(200_000))
    sidecar = start()
    enqueue(sidecar, server.url("/x"), id="before", method="PUT", file=str(source))
    sidecar.wait_state("before", "completed")
    requests = {"staged": {"method": "PUT", "file": str(source)}, "inline": {"data": 1}}
    calls = {}
    with failing(sidecar, call, error, tmp_path / "trace"):
        for id, fields in requests.items():
            calls[id] = sidecar.send(
                "enqueue", {"id": id, "key": "k", "request": descriptor(server.url(f"/{id}"), **fields)})
        # A change whose sync failed may have to wait for its answer until the disk can tell.
        time.sleep(0.5)
        assert sidecar.process.poll() is None
        assert sidecar.call("ping")["now"] > 0
    answers = {id: sidecar.answer(call, 70) for id, call in calls.items()}
    for id, answer in answers.items():
        if "error" in answer:
            assert answer["error"]["data"]["code"] == "E_STORAGE", answer

            def accepted(id=id):
                return "result" in sidecar.answer(sidecar.send("enqueue", {
                    "id": id, "key": "k", "request": descriptor(server.url(f"/{id}"), **requests[id])}))
            deadline.until("the same call is taken", accepted, 70)
    for id in requests:
        sidecar.wait_state(id, "completed", 70)
        assert len(server.seen(f"/{id}")) == 1
    assert sidecar.close() == 0


@pytest.mark.parametrize("staging", ["copy", "reference"])
def test_d28_a_source_that_cannot_be_looked_at_is_unreadable(start, server, tmp_path, staging):
    """D28: a disk that fails where a file is looked at says nothing about what the file is."""
    source = tmp_path / "source"
    source.write_bytes(b"contents")
    request = descriptor(server.url("/x"), method="PUT", file=str(source), staging=staging)
    sidecar = start()
    sidecar.call("ping")
    with failing(sidecar, "newfstatat,?fstat,?statx", "EIO", tmp_path / "trace"):
        call = sidecar.send("enqueue", {"id": "a", "key": "k", "request": request})
        error = sidecar.answer(call)["error"]
    assert error["data"]["code"] == "E_FILE_MISSING"
    assert error["message"] == "request.file: names a file that cannot be read"
    enqueue(sidecar, server.url("/x"), id="a", method="PUT", file=str(source), staging=staging)
    sidecar.wait_state("a", "completed")
    assert sidecar.close() == 0


@pytest.fixture
def loop_disk(tmp_path):
    """An ext4 file system in a file, and what unmounts, repairs and mounts it again."""
    if os.geteuid() != 0:
        pytest.skip("mounting a file system takes root")
    image, place = tmp_path / "image", tmp_path / "disk"
    place.mkdir()
    with open(image, "wb") as file:
        file.truncate(64 << 20)
    subprocess.run(["mkfs.ext4", "-q", image], check=True)

    def mount():
        subprocess.run(["mount", "-o", "loop", image, place], check=True)

    def repair():
        subprocess.run(["umount", place], check=True)
        # 1: it was repaired.
        assert subprocess.run(["e2fsck", "-fy", image], stdout=subprocess.DEVNULL).returncode in (0, 1)
        mount()

    mount()
    yield place, repair
    subprocess.run(["umount", "--lazy", place], check=True)


def test_d36_a_file_system_that_turns_read_only(start, server, loop_disk):
    """D36: as ext4 does after an error: changes are refused, the process answers, nothing kept is lost."""
    disk, repair = loop_disk
    queue = disk / "queue"
    sidecar = start(on=queue, log=str(disk) + ".log")
    sidecar.call("pause")
    kept = [f"kept{n}" for n in range(20)]
    for id in kept:
        enqueue(sidecar, server.url("/x"), id=id, data="x" * 2000)
    subprocess.run(["mount", "-o", "remount,abort", disk], check=True)

    request = descriptor(server.url("/x"), data=1)
    call = sidecar.send("enqueue", {"id": "late", "key": "k", "request": request})
    assert sidecar.call("ping")["now"] > 0
    assert sidecar.close() == 0
    answers = [frame for frame in sidecar.frames if frame.get("id") == call and "method" not in frame]
    assert [answer["error"]["data"]["code"] for answer in answers] in (["E_STORAGE"], ["E_SHUTDOWN"])

    refused = start(on=queue, log=str(disk) + ".log2")
    assert refused.wait_exit() == 73
    assert "Read-only file system" in last_line(refused)

    repair()
    again = start(on=queue, log=str(disk) + ".log3")
    assert {row["id"] for row in again.rows()} - {"late"} == set(kept)
    again.call("resume")
    for id in kept:
        again.wait_state(id, "completed")
    assert again.close() == 0


def test_d36_a_start_on_a_full_disk_says_so_and_harms_nothing(start, server, tmp_path):
    """D36: exit 73 with the reason; with room again all is there."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system takes root")
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", disk], check=True)
    try:
        sidecar = start(on=disk / "queue", log=str(tmp_path / "log"))
        sidecar.call("pause")
        enqueue(sidecar, server.url("/x"), id="kept", data=1)
        sidecar.kill()
        with contextlib.suppress(OSError), open(disk / "filler", "wb") as filler:
            while True:
                filler.write(bytes(4096))
                filler.flush()
        sidecar = start(on=disk / "queue", log=str(tmp_path / "log2"))
        assert sidecar.wait_exit() == 73
        assert "full" in last_line(sidecar) or "No space left" in last_line(sidecar)
        (disk / "filler").unlink()
        sidecar = start(on=disk / "queue", log=str(tmp_path / "log3"))
        assert sidecar.row("kept")["state"] == "paused"
        sidecar.call("resume")
        sidecar.wait_state("kept", "completed")
        assert sidecar.close() == 0
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)
