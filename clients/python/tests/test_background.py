"""Close, and what a sidecar does after it, with the real one."""

import asyncio
import json
import os
import pathlib
import subprocess
import sys
import threading
import time

import pytest
from rig import BINARY, CLIENT, Seen, needs_binary, poster, until
from web import Server

from outtray import AsyncUploadClient, ClosedError, UploadClient

pytestmark = needs_binary


def test_background_goes_on_when_the_client_has_gone(open_client):
    gate = threading.Event()
    with Server(lambda request: (200 if gate.wait(20) else 503, b"{}")) as server:
        client = open_client(background=True)
        poster(client, server).mutate({}, id="a")
        until(lambda: server.requests)
        pid = client._link._process._child.pid
        client.close()
        assert pathlib.Path(f"/proc/{pid}").exists()
        gate.set()
        until(lambda: not pathlib.Path(f"/proc/{pid}").exists(), 20)
        with open_client() as later:
            seen = Seen()
            poster(later, server, on_success=lambda v, vars, meta: seen.add(meta["id"]))
            later.configure()
            assert seen.wait(1) == ["a"]
    assert len(server.requests) == 1


@pytest.fixture
def slow(tmp_path):
    """A server that reads no body before it is let, and a file for it."""
    (tmp_path / "slow").write_bytes(os.urandom(1 << 20) * 32)
    with Server() as server:
        server.reading.clear()
        server.file = tmp_path / "slow"
        yield server


def slow_request(slow):
    return {"url": slow.url, "file": str(slow.file)}


def arrives_whole(slow, pid, open_client):
    assert pathlib.Path(f"/proc/{pid}").exists()
    assert slow.requests == []
    slow.reading.set()
    until(lambda: not pathlib.Path(f"/proc/{pid}").exists(), 20)
    assert [request["body"] == slow.file.read_bytes() for request in slow.requests] == [True]
    with open_client() as later:
        seen = Seen()
        poster(later, slow, on_success=lambda v, vars, meta: seen.add(meta["id"]))
        later.configure()
        seen.wait(1)
        later.redeliver()
        later.ping()
        assert seen.items == ["slow"]


def test_background_close_answers_what_waits_and_leaves_the_sidecar_to_its_upload(
    open_client, slow, monkeypatch
):
    monkeypatch.setattr("outtray._process.END_S", 0.01)
    client = open_client(background=True)
    client.define(key="note", request=lambda: slow_request(slow)).mutate(id="slow")
    assert slow.begun.wait(10)
    pid = client._link._process._child.pid
    waiting = [client._uploads.call("ping") for _ in range(50)]
    began = time.monotonic()
    client.close()
    assert time.monotonic() - began < 5
    assert all(answer.result(0)["now"] > 0 for answer in waiting)
    arrives_whole(slow, pid, open_client)


def test_background_a_program_with_asyncio_ends_by_itself_and_its_upload_goes_on(open_client, slow, tmp_path):
    """In development mode, where Python complains of whatever is left open."""
    program = """
import asyncio, json, sys
from outtray import AsyncUploadClient
async def main():
    client = AsyncUploadClient(sys.argv[1], binary=sys.argv[2], background=True)
    note = client.define(key="note", request=lambda: json.loads(sys.argv[3]))
    await client.configure()
    await note.mutate(id="slow")
    print(client._link._process._child.pid, flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    await client.close()
asyncio.run(main())
"""
    arguments = [str(tmp_path / "queue"), BINARY, json.dumps(slow_request(slow))]
    host = subprocess.Popen(
        [sys.executable, "-X", "dev", "-c", program, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(CLIENT / "src")},
    )
    pid = int(host.stdout.readline())
    assert slow.begun.wait(10)
    rest, complaints = host.communicate(b"close\n", 10)
    assert (host.returncode, rest, complaints) == (0, b"", b"")
    arrives_whole(slow, pid, open_client)


def test_background_one_with_nothing_to_do_is_reaped_by_close(open_client):
    client = open_client(background=60)
    client.ping()
    pid = client._link._process._child.pid
    client.close()
    assert not pathlib.Path(f"/proc/{pid}").exists()


OWNER = """
import sys
from outtray import UploadClient
client = UploadClient(sys.argv[1], binary=sys.argv[2])
client.ping()
print(client._link._process._child.pid, flush=True)
sys.stdin.readline()
client.close()
"""


def test_close_lets_a_sidecar_go_that_serves_another_host(open_client, tmp_path):
    """Without a signal: its exit status would tell. The other host goes on with the same process."""
    seen, told = Seen(), Seen()
    with Server() as server:
        owner = open_client()
        owner.ping()
        process = owner._link._process
        pid, tell = process._child.pid, process._on_end
        process._on_end = lambda error: (told.add(error), tell(error))
        with open_client() as other:
            note = poster(other, server, on_success=lambda value, vars, meta: seen.add(meta["id"]))
            other.configure()
            relay = other._link._process
            began = time.monotonic()
            owner.close()
            assert time.monotonic() - began < 5
            with pytest.raises(ClosedError):
                owner.ping()
            assert other.ping() > 0
            note.mutate({}, id="late")
            assert seen.wait(1) == ["late"]
            # One that is attached ends with the owner of the queue.
            assert other._link._process is relay
            assert pathlib.Path(f"/proc/{pid}").exists()
            assert process._child.returncode is None
        assert until(lambda: process._child.returncode is not None)
        assert (process._child.returncode, len(told.items), len(server.requests)) == (0, 1, 1)
    assert owner.warned.items + other.warned.items == []
    until(lambda: not pathlib.Path(f"/proc/{pid}").exists())


def test_close_lets_a_program_end_whose_sidecar_goes_on_for_another_host(open_client, tmp_path):
    seen = Seen()
    host = subprocess.Popen(
        [sys.executable, "-X", "dev", "-c", OWNER, str(tmp_path / "queue"), BINARY],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(CLIENT / "src")},
    )
    pid = int(host.stdout.readline())
    with Server() as server, open_client() as other:
        note = poster(other, server, on_success=lambda value, vars, meta: seen.add(meta["id"]))
        other.configure()
        relay = other._link._process
        rest, complaints = host.communicate(b"close\n", 5)
        assert (host.returncode, rest, complaints) == (0, b"", b"")
        note.mutate({}, id="late")
        assert seen.wait(1) == ["late"]
        assert other._link._process is relay
        assert pathlib.Path(f"/proc/{pid}").exists()


def test_background_finishes_what_a_killed_host_has_begun(open_client, tmp_path):
    """The host is another process, killed during its upload; the next host hears of it once."""
    (tmp_path / "file").write_bytes(b"f" * 300_000)
    gate, seen = threading.Event(), Seen()
    with Server(lambda request: (200 if gate.wait(20) else 503, b"{}")) as server:
        told = [
            {"do": "open", "dir": str(tmp_path / "queue"), "options": {"background": True}},
            {"do": "define", "key": "note"},
            {
                "do": "mutate",
                "key": "note",
                "id": "a",
                "vars": {"request": {"url": server.url, "file": str(tmp_path / "file")}},
            },
        ]
        host = subprocess.Popen(
            [sys.executable, CLIENT / "tests" / "driver.py", "sync"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "OUTTRAY_BINARY": BINARY},
        )
        with host:
            for number, instruction in enumerate(told):
                host.stdin.write(json.dumps({**instruction, "n": number}).encode() + b"\n")
                host.stdin.flush()
                assert b"done" in host.stdout.readline()
            until(lambda: server.requests)
            host.kill()
        gate.set()
        with open_client() as later:
            poster(later, server, on_success=lambda v, vars, meta: seen.add(meta["id"]))
            later.configure()
            assert seen.wait(1, 30) == ["a"]
            until(lambda: later.get_requests() == [])
            later.redeliver()
            later.ping()
    assert seen.items == ["a"]
    assert [request["body"] for request in server.requests] == [b"f" * 300_000]
