"""The client with the real sidecar and a loopback server. OUTTRAY names the binary."""

import asyncio
import json
import os
import signal
import threading
import time

import pytest
from rig import BINARY, Seen, needs_binary, poster, until
from web import Server

from outtray import AsyncUploadClient, CallError, InvalidError, SidecarExited

pytestmark = needs_binary


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
