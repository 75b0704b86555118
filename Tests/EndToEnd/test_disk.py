"""A full disk: refused with E_STORAGE, nothing half done, and the work goes on when there is room again."""
import os
import subprocess

import pytest

from endtoend import deadline
from endtoend.requests import descriptor


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 4 MB."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system takes root")
    place = tmp_path / "disk"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", place], check=True)
    yield place
    subprocess.run(["umount", place], check=True)


def body_files(directory):
    return [path for path in directory.glob("bodies-*/*") if path.is_file()]


def test_d36_a_file_06_every_call_on_a_full_disk_is_answered_and_leaves_nothing(start, tmp_path, small_disk):
    """D36, A-FILE-06: staged or inline, each enqueue is answered; the refused leave no row and no file; later
    calls about their ids are answered; with room again the same calls succeed."""
    source = tmp_path / "source"
    source.write_bytes(os.urandom(150_000))
    queue = small_disk / "queue"
    sidecar = start(on=queue)
    sidecar.call("pause")

    def ask(n, body):
        request = descriptor("http://127.0.0.1:9/x", **body)
        return sidecar.send("enqueue", {"id": str(n), "key": "k", "request": request})

    bodies = [{"file": str(source)} if n % 2 else {"data": "x" * 60_000} for n in range(80)]
    answers = [sidecar.answer(call) for call in [ask(n, body) for n, body in enumerate(bodies)]]
    refused = [n for n, answer in enumerate(answers) if "error" in answer]
    assert refused and len(refused) < 80
    assert {answers[n]["error"]["data"]["code"] for n in refused} == {"E_STORAGE"}
    kept = {str(n) for n in range(80)} - {str(n) for n in refused}
    assert {row["id"] for row in sidecar.rows()} == kept
    files = sum(1 for n in kept if int(n) % 2)
    deadline.until("no body without a row is left", lambda: len(body_files(queue)) == files)
    for n in refused[:3]:
        assert "result" in sidecar.answer(sidecar.send("cancel", {"id": str(n)}))

    subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)

    def accepted():
        return "result" in sidecar.answer(ask(refused[0], bodies[refused[0]]))

    deadline.until("the store takes a call again", accepted)
    for n in refused[1:]:
        assert "result" in sidecar.answer(ask(n, bodies[n]))
    assert {row["id"] for row in sidecar.rows()} == {str(n) for n in range(80)}
    assert sidecar.close() == 0
