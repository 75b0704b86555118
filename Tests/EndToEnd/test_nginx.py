"""A real nginx at the other end."""
import hashlib
import os

from endtoend import deadline
from endtoend.requests import enqueue

SIZE = 32 * 1024 * 1024


def write_random(path, size=SIZE):
    content = os.urandom(size)
    path.write_bytes(content)
    return hashlib.sha256(content).hexdigest()


def hash_of(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_file_is_stored_by_nginx_as_it_was(sidecar, nginx, tmp_path):
    """The main job, without a kill: status 201, equal SHA-256, one attempt."""
    body = tmp_path / "body"
    expected = write_random(body)
    enqueue(sidecar, nginx.url("/a/b.bin"), id="a", method="PUT", file=str(body))
    body.unlink()
    outcome = sidecar.settled("a", seconds=60)
    assert (outcome["kind"], outcome["response"]["status"], outcome["attempts"]) == ("completed", 201, 1)
    assert hash_of(nginx.stored("/a/b.bin")) == expected
    assert nginx.log() == [["201", "PUT", "/a/b.bin", outcome["requestId"], str(SIZE), "HTTP/1.1"]]


def test_a_file_survives_kills_on_its_way_to_nginx(start, nginx, tmp_path, directory):
    """The main job: killed three times in the middle, it is stored once, whole, and no body is left."""
    body = tmp_path / "body"
    size = 4 * SIZE
    expected = write_random(body, size)
    sidecar = start()
    sidecar.call("pause")
    enqueue(sidecar, nginx.url("/x.bin"), id="a", method="PUT", file=str(body))
    body.unlink()
    sidecar.call("resume")
    kills = 0
    while kills < 3 and sidecar.row("a")["state"] != "completed":
        if sidecar.row("a")["state"] == "running":
            sidecar.kill()
            kills += 1
            sidecar = start()
    sidecar.subscribe()
    outcome = sidecar.settled("a", seconds=60)
    assert outcome["kind"] == "completed" and outcome["response"]["status"] in (201, 204)
    assert kills >= 1 and outcome["attempts"] >= 2
    assert hash_of(nginx.stored("/x.bin")) == expected
    sidecar.ack(outcome)
    deadline.until("no body is left", lambda: not [
        place for place in directory.rglob("*") if place.is_file() and place.stat().st_size >= size])


def test_many_files_go_out_side_by_side(sidecar, nginx, tmp_path):
    """50 files of mixed sizes, each stored as it was."""
    expected = {}
    for n in range(50):
        body = tmp_path / f"body{n}"
        expected[n] = write_random(body, n * 20_000)
        enqueue(sidecar, nginx.url(f"/{n}.bin"), id=str(n), method="PUT", file=str(body))
    for n in range(50):
        sidecar.ack(sidecar.settled(str(n), seconds=60))
    assert {n: hash_of(nginx.stored(f"/{n}.bin")) for n in range(50)} == expected
    assert len(nginx.log()) == 50


def test_what_nginx_refuses_is_an_error_with_its_answer(sidecar, nginx):
    """409 for a PUT of a folder: error http, the answer attached."""
    enqueue(sidecar, nginx.url("/x/"), id="a", method="PUT", data=1)
    outcome = sidecar.settled("a")
    assert (outcome["error"]["errorKind"], outcome["error"]["response"]["status"]) == ("http", 409)
    assert "nginx" in outcome["error"]["response"]["body"]
