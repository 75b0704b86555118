"""Where a secret that a host gave turns up, and where it is once it is not needed any more."""
import json
import sqlite3

import pytest

from endtoend import deadline, rawserver
from endtoend.requests import enqueue

HEADER, QUERY, BODY, PATCH, PROXY = (f"s3cret-{n:02}-of-the-test" for n in range(5))


def holding(directory, *texts):
    """The files under the directory that hold one of the texts."""
    return {path.name for path in directory.rglob("*") if path.is_file()
            and any(text.encode() in path.read_bytes() for text in texts)}


@pytest.mark.parametrize("form", ["text", "json"])
def test_d38_no_request_header_comes_back(start, server, directory, command, form):
    """D38: not by a frame of any call or event, to the host that gave it or another; nor the password of a
    proxy; nor any of it in the log, at its most detailed, or in what commands print."""
    sidecar = start("--log-level", "debug", "--log-format", form)
    # It owns the queue, so it has to be there first.
    sidecar.call("ping")
    other = start("--log-level", "debug", "--log-format", form, log=f"{directory}.second")
    for host in (sidecar, other):
        host.subscribe()
    proxy = f"http://user:{PROXY}@127.0.0.1:{server.port}"
    sidecar.call("configure", proxy=proxy)
    other.call("configure", proxy=proxy, http2=False)
    target = "http://somewhere.test/x"
    server.on(target, rawserver.reply(401), rawserver.reply(503), rawserver.reply(400))
    enqueue(sidecar, f"{target}?q={QUERY}", id="a", data=BODY, headers={"Authorization": HEADER})
    sidecar.wait_state("a", "awaiting-auth")
    other.call("updateHeaders", headers={"X-Api-Key": PATCH})
    outcome = sidecar.settled("a")
    assert outcome["kind"] == "error"
    for host in (sidecar, other):
        for method, params in (("getRequests", {}), ("explain", {"id": "a"}), ("stats", {}),
                               ("takeDiagnostics", {}), ("rpc.discover", {})):
            host.call(method, **params)
    printed = "".join(command(*words).output for words in (
        ("ls", "--json"), ("show", "a"), ("show", "a", "--json"), ("explain", "a"), ("log",), ("stats",)))
    assert server.seen()[-1].header("x-api-key") == PATCH
    assert other.close() == 0
    assert sidecar.close() == 0
    frames = "\n".join(frame.text for host in (sidecar, other) for frame in host.frames)
    told = sidecar.stderr() + other.stderr() + printed
    for secret in (HEADER, PATCH, PROXY, BODY):
        assert secret not in frames and secret not in told
    # The URL as a whole is in the events about the entry, which are the hosts' own.
    assert QUERY in frames and QUERY not in told


def test_d38_what_was_acknowledged_is_overwritten(start, server, directory):
    """D38: after the acknowledgement and an orderly end no file of the directory holds header, query, body or
    answer; neither the log of the database nor a free page. What is still there is all there."""
    server.on("/x", rawserver.reply(200, body=BODY.encode()))
    sidecar = start()
    sidecar.subscribe()
    for n in range(30):
        enqueue(sidecar, server.url(f"/x?q={QUERY}"), id=str(n), data={"d": BODY, "n": "x" * 5000 * (n % 3)},
                headers={"Authorization": HEADER}, vars={"v": PATCH})
    assert holding(directory, HEADER, QUERY, BODY) != set()
    sidecar.ack(*(sidecar.settled(str(n)) for n in range(30)))
    sidecar.call("pause")
    enqueue(sidecar, server.url("/y"), id="kept", data="kept")
    assert sidecar.close() == 0
    assert holding(directory, HEADER, QUERY, BODY, PATCH) == set()
    assert start().row("kept")["state"] == "paused"


def test_d38_a_database_that_is_set_aside_is_as_closed_as_before(start, server, directory):
    """D38: it holds what it held, tokens too, for its owner alone; it is said to be there."""
    sidecar = start()
    sidecar.call("pause")
    enqueue(sidecar, server.url("/x"), id="a", headers={"Authorization": HEADER})
    assert sidecar.close() == 0
    database = sqlite3.connect(directory / "queue.db")
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    with open(directory / "queue.db", "r+b") as file:
        file.write(b"damaged" * 10)
    (directory / "queue.db").chmod(0o644)
    second = start()
    records = deadline.until("a record", lambda: [
        record for record in second.call("takeDiagnostics")["records"] if record["level"] == "error"])
    aside, = directory.glob("queue.db.damaged-*")
    assert aside.name in json.dumps(records) and HEADER not in json.dumps(records)
    assert aside.stat().st_mode & 0o777 == 0o600
    assert HEADER.encode() in aside.read_bytes()
