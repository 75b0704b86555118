"""The example does what it says, with the real sidecar; interrupted and run again, too."""

import os
import re
import signal
import subprocess
import sys
import threading

import pytest
from rig import BINARY, CLIENT, needs_binary, until
from web import Server

pytestmark = needs_binary


@pytest.fixture
def command(tmp_path):
    folder = tmp_path / "photos"
    (folder / "deep").mkdir(parents=True)
    for number in range(5):
        (folder / ("deep" if number % 2 else ".") / f"photo {number} é.jpg").write_bytes(
            bytes([number]) * 200_000
        )

    def start(url, *more):
        environment = {**os.environ, "OUTTRAY_BINARY": BINARY, "PYTHONPATH": str(CLIENT / "src")}
        line = [
            sys.executable,
            CLIENT / "examples" / "upload_folder.py",
            folder,
            url,
            "--queue",
            tmp_path / "queue",
            *more,
        ]
        return subprocess.Popen(
            line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )

    return start


def test_every_file_arrives(command):
    with Server() as server:
        process = command(server.url, "--token", "t")
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "5 of 5 files sent" in out
    assert "100 %" in out or "100%" in err
    assert {request["path"] for request in server.requests} == {
        "/photo%200%20%C3%A9.jpg",
        "/deep/photo%201%20%C3%A9.jpg",
        "/photo%202%20%C3%A9.jpg",
        "/deep/photo%203%20%C3%A9.jpg",
        "/photo%204%20%C3%A9.jpg",
    }
    assert {request["headers"]["Authorization"] for request in server.requests} == {"Bearer t"}
    assert all(len(request["body"]) == 200_000 for request in server.requests)


def test_a_refused_file_is_told(command):
    with Server(lambda request: (400 if "photo%200" in request["path"] else 200, b"")) as server:
        process = command(server.url)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "4 of 5 files sent" in out and re.search(r"failed: photo 0 é.jpg: .*400", err)


def test_a_folder_that_is_not_there_is_no_empty_one(command, tmp_path):
    (tmp_path / "photos").rename(tmp_path / "elsewhere")
    process = command("http://127.0.0.1:9")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 2 and "photos is no folder" in err


def test_interrupted_and_run_again_it_finishes(command):
    gate = threading.Event()
    with Server(lambda request: (200 if gate.wait(30) else 503, b"")) as server:
        first = command(server.url)
        until(lambda: server.requests, 60)
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=60)
        assert first.returncode != 0
        gate.set()
        second = command(server.url)
        out, err = second.communicate(timeout=120)
    assert second.returncode == 0, err
    assert "5 of 5 files sent" in out
    assert len({request["path"] for request in server.requests}) == 5


def test_what_arrived_is_not_sent_again(command):
    with Server() as server:
        for expected in ("5 of 5 files sent", "0 of 0 files sent"):
            out, err = command(server.url).communicate(timeout=120)
            assert expected in out, err
        assert len(server.requests) == 5
