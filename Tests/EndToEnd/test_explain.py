"""Section 2 of the protocol: `explain` says everything that holds an entry back."""
import threading

import pytest

from endtoend import rawserver
from endtoend.frames import RPCError
from endtoend.requests import enqueue


def gates(sidecar, id):
    answer = sidecar.call("explain", id=id)
    assert answer["id"] == id and answer["state"] == sidecar.row(id)["state"]
    return {gate["gate"]: gate for gate in answer["gates"]}


def test_explain_names_every_closed_gate(start, server):
    """Each gate as it closes and opens, with the time at which a backoff ends."""
    hold = threading.Event()
    server.on("/held", rawserver.hold(hold))
    server.on("/busy", rawserver.reply(503))
    server.on("/locked", rawserver.reply(401))
    sidecar = start()
    sidecar.call("configure", retry={"backoff": {"baseMs": 3_600_000, "maxMs": 3_600_000, "jitter": 0}})
    enqueue(sidecar, server.url("/busy"), id="busy")
    busy = sidecar.call("explain", id="busy")
    while not busy["gates"]:
        busy = sidecar.call("explain", id="busy")
    assert [gate["gate"] for gate in busy["gates"]] == ["backoff"]
    assert busy["gates"][0]["until"] == sidecar.row("busy")["nextAttemptAt"]
    # Not beside the other: a 503 to one of two at once leaves the origin one (D51).
    enqueue(sidecar, server.url("/locked"), id="locked")
    sidecar.wait_state("locked", "awaiting-auth")
    assert list(gates(sidecar, "locked")) == ["credentials"]
    for number in range(4):
        enqueue(sidecar, server.url("/held"), id=f"held{number}", wifiOnly=False)
    sidecar.wait_state("held2", "running")
    assert list(gates(sidecar, "held3")) == ["slots"]
    assert gates(sidecar, "held0") == {}
    sidecar.call("setNetwork", type="cellular")
    enqueue(sidecar, server.url("/x"), id="wifi", key="w", wifiOnly=True)
    sidecar.call("pause", keys=["w"])
    assert list(gates(sidecar, "wifi")) == ["key", "network", "slots"]
    assert "the network is cellular" in gates(sidecar, "wifi")["network"]["detail"]
    sidecar.call("pause")
    assert list(gates(sidecar, "wifi")) == ["queue", "key", "network"]
    hold.set()


def test_explain_of_nobody(sidecar):
    """An id that nobody has is refused, and so is none."""
    for params in ({"id": "nobody"}, {}):
        with pytest.raises(RPCError) as refused:
            sidecar.call("explain", **params)
        assert (refused.value.code, refused.value.path) == ("E_INVALID", "id")
