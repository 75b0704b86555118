"""D44: `retry` by hand."""
import pytest

from endtoend import rawserver
from endtoend.frames import RPCError
from endtoend.requests import enqueue

HOUR = {"backoff": {"baseMs": 3_600_000, "maxMs": 3_600_000, "jitter": 0}}


def test_d44_what_waits_goes_now(start, server):
    """D44: a backoff of an hour and a wait for credentials end; what arrives is the request as it was."""
    server.on("/busy", rawserver.reply(503), rawserver.reply(200))
    server.on("/locked", rawserver.reply(401), rawserver.reply(200))
    sidecar = start()
    sidecar.subscribe()
    for id in ("busy", "locked"):
        enqueue(sidecar, server.url(f"/{id}"), id=id, data={"id": id}, retry=HOUR, headers={"X-Mine": id})
        sidecar.event("attempt", id=id, attempt=1)
        sidecar.wait_state(id, "queued" if id == "busy" else "awaiting-auth")
        assert sidecar.call("retry", id=id)["row"]["attempts"] == 1
        assert sidecar.event("settled", id=id)["attempts"] == 2
        first, second = server.seen(f"/{id}")
        assert first.sha256 == second.sha256
        assert second.header("x-mine") == id
        assert first.header("idempotency-key") == second.header("idempotency-key")
        assert first.request_id != second.request_id


def test_d44_after_an_error_over_a_kill(start, server, tmp_path):
    """D44, B188: what settled with an error is sent again in a later process, from the copy that was kept."""
    source = tmp_path / "source"
    source.write_bytes(bytes(range(256)) * 1000)
    server.on("/up", rawserver.reply(422), rawserver.reply(201))
    sidecar = start()
    sidecar.subscribe()
    enqueue(sidecar, server.url("/up"), id="a", file=str(source), method="PUT")
    failed = sidecar.event("settled", id="a")
    sidecar.ack(failed)
    source.unlink()
    sidecar.kill()
    sidecar = start()
    sidecar.subscribe()
    assert sidecar.row("a")["state"] == "error"
    assert sidecar.call("retry", id="a")["row"]["state"] == "queued"
    done = sidecar.event("settled", id="a")
    assert (done["kind"], done["generation"], done["response"]["status"]) == ("completed", 2, 201)
    first, second = server.seen("/up")
    assert first.body_length == second.body_length == 256_000 and first.sha256 == second.sha256


def test_d44_a_referenced_file_that_is_gone(start, server, tmp_path):
    """D44, D28: nothing is staged again; the file that is not there settles `file` once more."""
    source = tmp_path / "source"
    source.write_bytes(b"x" * 1000)
    server.on("/up", rawserver.reply(422))
    sidecar = start()
    sidecar.subscribe()
    enqueue(sidecar, server.url("/up"), id="a", file=str(source), staging="reference")
    assert sidecar.event("settled", id="a")["error"]["errorKind"] == "http"
    source.unlink()
    sidecar.call("retry", id="a")
    again = sidecar.event("settled", id="a", generation=2)
    assert again["error"]["errorKind"] == "file"


def test_d44_what_cannot_be_sent_again(start, server):
    """D44: refused by name, and nothing is changed."""
    server.on("/ok", rawserver.reply(200))
    sidecar = start()
    sidecar.subscribe()
    enqueue(sidecar, server.url("/ok"), id="done")
    sidecar.event("settled", id="done")
    for id, why in (("done", "is completed"), ("nobody", "names no entry"), ("", "1 to 256 bytes")):
        with pytest.raises(RPCError) as refused:
            sidecar.call("retry", id=id)
        assert (refused.value.code, refused.value.path) == ("E_INVALID", "id")
        assert why in str(refused.value)
    assert len(server.seen("/ok")) == 1
