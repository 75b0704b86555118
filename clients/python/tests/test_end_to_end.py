"""The client with the real sidecar and a loopback server. OUTTRAY names the binary."""

import asyncio
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import pytest
from rig import BINARY, CLIENT, Seen, needs_binary, until
from web import Server

from outtray import AsyncUploadClient, CallError, ClosedError, InvalidError, SidecarExited, UploadClient

pytestmark = needs_binary


@pytest.fixture
def open_client(tmp_path):
    def make(**options):
        warned = Seen()
        client = UploadClient(
            tmp_path / "queue", binary=BINARY, on_warning=lambda m, d: warned.add(m), **options
        )
        client.warned = warned
        return client

    return make


def poster(client, server, key="note", **more):
    return client.define(
        key=key, request=lambda vars: {"url": server.url + "/notes", "data": vars, "method": "POST"}, **more
    )


def test_B95_from_mutate_to_acknowledgement(open_client):
    seen, states = Seen(), Seen()
    with Server(lambda request: (201, b'{"id": 7}')) as server, open_client() as client:
        note = poster(
            client,
            server,
            response=lambda raw: raw["id"],
            on_success=lambda value, vars, meta: seen.add((value, vars, meta["deliveries"])),
        )
        client.add_listener("state", lambda row: states.add(row["state"]))
        client.configure(headers=lambda: {"X-Token": "t"})
        note.mutate({"text": "é", "tag": None}, id="n1")
        assert seen.wait(1) == [(7, {"text": "é", "tag": None}, 1)]
        until(lambda: client.get_requests() == [])
        assert states.wait(3) == ["queued", "running", "completed"]
        assert server.requests[0]["body"] == '{"text":"é","tag":null}'.encode()
        assert server.requests[0]["headers"]["X-Token"] == "t"
    assert client.warned.items == []


def test_A_DELIV_01_A_DELIV_04_acknowledged_outcomes_never_come_back(open_client):
    seen = Seen()
    with Server() as server:
        with open_client() as client:
            note = poster(client, server)
            for number in range(3):
                note.mutate({}, id=f"n{number}")
            until(lambda: {row["state"] for row in client.get_requests()} == {"completed"})
        for _ in range(5):
            with open_client() as client:
                poster(
                    client,
                    server,
                    on_success=lambda v, vars, meta: seen.add((meta["id"], meta["deliveries"])),
                )
                client.configure()
                seen.wait(3)
                until(lambda: client.get_requests() == [])
        assert sorted(seen.items) == [("n0", 1), ("n1", 1), ("n2", 1)]
        assert len(server.requests) == 3


def test_A_DELIV_05_each_handler_starts_after_its_mutate_returned(open_client):
    order = Seen()
    with Server() as server, open_client(max_handlers=8) as client:
        note = poster(client, server, on_success=lambda v, vars, meta: order.add(("handler", meta["id"])))
        client.configure()
        for number in range(200):
            order.add(("caller", note.mutate({}, id=f"n{number}")))
        items = order.wait(400, 60)
    for number in range(200):
        assert items.index(("caller", f"n{number}")) < items.index(("handler", f"n{number}"))


def test_A_RPC_05_A_RPC_06_long_lines_and_odd_characters_come_back(open_client):
    seen = Seen()
    odd = "a\u2028b\u2029c\u0085d\u000b\u000ce\x7f\u0000😀"
    echo = Server(lambda request: (200, request["body"]))
    with echo as server, open_client() as client:
        note = client.define(
            key="note",
            response=lambda raw: raw,
            request=lambda vars: {"url": server.url, "data": {"odd": odd, "long": vars["long"]}},
            on_success=lambda value, vars, meta: seen.add((value, vars)),
        )
        client.configure()
        long = "x" * 900_000
        note.mutate({"long": long, "odd": odd})
        assert seen.wait(1, 30) == [({"odd": odd, "long": long}, {"long": long, "odd": odd})]
        client.pause()
        for number in range(3000):
            note.mutate({"long": "", "odd": odd}, id=f"n{number}") if number % 10 == 0 else None
        rows = client.get_requests(state="paused")
        assert len(rows) == 300 and all(row["vars"]["odd"] == odd for row in rows)


def test_getrequests_walks_more_than_one_page(open_client):
    with Server() as server, open_client() as client:
        note = poster(client, server)
        client.pause()
        threads = [
            threading.Thread(target=lambda at=at: [note.mutate({}, id=f"{at}-{n}") for n in range(300)])
            for at in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len({row["id"] for row in client.get_requests(key="note")}) == 1200


def test_a_killed_sidecar_loses_nothing_and_nothing_is_enqueued_twice(open_client):
    seen, gate = Seen(), threading.Event()
    with Server(lambda request: (200 if gate.wait(20) else 503, b"{}")) as server, open_client() as client:
        note = poster(client, server, on_success=lambda v, vars, meta: seen.add(meta["id"]))
        client.configure()
        note.mutate({"n": 1}, id="a")
        until(lambda: server.requests)
        os.kill(client._link._process._child.pid, signal.SIGKILL)
        until(lambda: client.warned.items)
        gate.set()
        note.mutate({"n": 1}, id="a")
        assert seen.wait(1, 30) == ["a"]
        until(lambda: client.get_requests() == [])
    assert "ended by signal 9" in client.warned.items[0]


def test_errors_of_the_sidecar_reach_the_caller(open_client, tmp_path):
    with Server() as server, open_client() as client:
        send = client.define(key="file", request=lambda vars: {"url": server.url, "file": vars["path"]})
        with pytest.raises(CallError) as caught:
            send.mutate({"path": str(tmp_path / "none")})
        assert caught.value.code == "E_FILE_MISSING"
        wrong = client.define(key="url", request=lambda vars: {"url": "ftp://h/"})
        with pytest.raises(InvalidError, match="url") as refused:
            wrong.mutate({})
        assert refused.value.path == "request.url"
        with pytest.raises(InvalidError):
            client.update_headers({"Host": "x"})


def test_a_file_is_sent_and_may_be_deleted_after_mutate(open_client, tmp_path):
    seen = Seen()
    with Server() as server, open_client() as client:
        path = tmp_path / os.fsdecode(b"odd \xff%20 name")
        path.write_bytes(b"\x00" * 300_000)
        # The name is no UTF-8, so it cannot stand in vars; the request names it all the same.
        send = client.define(
            key="odd",
            request=lambda vars: {"url": server.url, "method": "PUT", "file": path},
            on_success=lambda v, vars, meta: seen.add(v["status"]),
        )
        client.configure()
        send.mutate({})
        path.unlink()
        assert seen.wait(1) == [200]
        assert server.requests[0]["body"] == b"\x00" * 300_000


def test_a_locked_directory_says_so_in_the_first_call(open_client, tmp_path):
    (tmp_path / "queue").write_text("a file")
    with open_client() as client:
        with pytest.raises(SidecarExited) as caught:
            client.ping()
        assert caught.value.status == 73


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


def test_the_asyncio_client_with_the_real_sidecar(tmp_path):
    seen = []

    async def main():
        done = asyncio.Event()

        async def handle(value, vars, meta):
            seen.append(vars["n"])
            if len(seen) == 100:
                done.set()

        async with AsyncUploadClient(tmp_path / "queue", binary=BINARY) as client:
            note = poster(client, server, on_success=handle)
            await client.configure()
            await asyncio.gather(*(note.mutate({"n": n}) for n in range(100)))
            await asyncio.wait_for(done.wait(), 60)
            while await client.get_requests():
                await asyncio.sleep(0.01)

    with Server() as server:
        asyncio.run(main())
    assert sorted(seen) == list(range(100))


def test_thousands_of_calls_in_flight_and_a_line_of_8_mb(tmp_path):
    seen = []

    async def main():
        done = asyncio.Event()
        async with AsyncUploadClient(tmp_path / "queue", binary=BINARY) as client:
            note = poster(client, server, on_success=lambda v, vars, meta: seen.append(vars) or done.set())
            await client.configure(max_vars_bytes=8 << 20)
            await client.pause()
            vars = {"long": "☃" * (8 * 1000 * 1000 // 3)}
            calls = [client.ping() for _ in range(6000)]
            await asyncio.gather(*calls, note.mutate(vars, id="big"))
            assert (await client.get_requests(id="big"))[0]["vars"] == vars
            await client.resume()
            await asyncio.wait_for(done.wait(), 60)
            assert seen == [vars]

    with Server() as server:
        asyncio.run(main())


def test_awaiting_auth_goes_on_with_fresh_headers(open_client):
    seen = Seen()
    with Server(
        lambda request: (200 if request["headers"].get("Token") == "new" else 401, b"{}")
    ) as server:
        with open_client() as client:
            note = poster(client, server, on_success=lambda v, vars, meta: seen.add(meta["attempts"]))
            client.configure(headers=lambda: {"Token": "old"})
            note.mutate({}, id="a")
            until(lambda: client.get_requests(id="a")[0]["state"] == "awaiting-auth")
            client.update_headers({"Token": "new"})
            assert seen.wait(1) == [2]
            began = time.monotonic()
    assert time.monotonic() - began < 8


def test_D46_D47_D48_D50_pipelines_of_the_asyncio_client(tmp_path):
    def answer(request):
        return 201, json.dumps({"id": f"{request['path'].strip('/')} 1"}).encode()

    async def main(server):
        heard, done = [], asyncio.Event()

        async def settled(outcome):
            heard.append((outcome["group"], outcome["counts"]["completed"]))
            done.set()

        async with AsyncUploadClient(tmp_path / "queue", binary=BINARY) as client:
            first = client.define(
                key="first",
                request=lambda vars: {"url": f"{server.url}/{vars['to']}"},
                on_success=lambda value, vars, meta: heard.append(meta["group"]),
            )
            second = client.define(
                key="second",
                request=lambda vars, bound: {
                    "url": f"{server.url}/{bound.a}",
                    "headers": {"X-From": f"{bound.b}"},
                    "data": [bound.a, 1],
                },
            )
            client.on_group_settled(settled)
            await client.configure()
            await client.pause(groups=["g"])
            pipeline = client.pipeline(group="g", lane="l")
            steps = [pipeline.add(first, {"to": to}) for to in ("x", "y")]
            bind = {"a": steps[0].pointer("/id"), "b": steps[1].pointer("/id")}
            last = pipeline.add(second, None, bind=bind, lane="m")
            rows = await pipeline.enqueue()
            assert rows[last]["row"]["group"] == "g"
            gates = {gate["gate"] for gate in await client.explain(last.id)}
            assert gates == {"group", "dependency"}
            assert (await client.explain_group("g"))["counts"]["paused"] == 3
            await client.resume(groups=["g"])
            await asyncio.wait_for(done.wait(), 60)
            while await client.get_requests(group="g"):
                await asyncio.sleep(0.01)
        return heard

    with Server(answer) as server:
        assert asyncio.run(main(server)) == ["g", "g", ("g", 3)]
    assert [request["path"] for request in server.requests] == ["/x", "/y", "/x%201"]
    assert server.requests[2]["headers"]["X-From"] == "y 1"
    assert server.requests[2]["body"] == b'["x 1",1]'
