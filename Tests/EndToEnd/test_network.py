"""What the machine is connected by, seen by netlink: in a namespace of the kernel's, with real routes."""
import os
import time

import pytest

from endtoend import deadline, rawserver
from endtoend.netns import NetworkNamespace
from endtoend.rawserver import RawServer
from endtoend.requests import enqueue

SLOW = {"baseMs": 600_000, "maxMs": 7_200_000, "jitter": 0}


@pytest.fixture
def network():
    if os.geteuid() != 0:
        pytest.skip("a network namespace takes root")
    namespace = NetworkNamespace(f"outtray-{os.getpid()}")
    yield namespace
    namespace.close()


@pytest.fixture
def inner(network):
    """A server on the namespace's loopback."""
    with network.inside():
        server = RawServer()
    yield server
    server.close()
    server.check()


@pytest.fixture
def within(start, network):
    """A sidecar in the namespace, subscribed."""
    sidecar = start(under=network.under)
    sidecar.subscribe()
    return sidecar


def seen(sidecar):
    return sidecar.call("stats")["network"]


def wait_type(sidecar, type):
    deadline.until(f"the network is {type} (last: {seen(sidecar)})", lambda: seen(sidecar)["type"] == type)


def test_d34_a_route_that_comes_moves_the_entries_that_wait(within, network, inner):
    """D34, A-QUEUE-01: no default route is `none` and holds wifiOnly entries alone; a route moves them."""
    assert seen(within) == {"type": "none", "metered": False, "source": "detected"}
    enqueue(within, inner.url("/held"), id="held", wifiOnly=True)
    enqueue(within, inner.url("/free"), id="free")
    assert within.settled("free")["kind"] == "completed"
    network.add_device("wired0", 1)
    inner.quiet(0.5)
    assert within.row("held")["state"] == "queued"
    network.add_route("wired0", 1, 100)
    assert within.settled("held", seconds=5)["kind"] == "completed"
    assert seen(within) == {"type": "ethernet", "metered": False, "source": "detected"}
    network.ip("link", "set", "wired0", "down")
    wait_type(within, "none")


def test_d34_the_device_with_the_lowest_metric_counts(within, network, inner):
    """D34: over IPv4 and IPv6; a mobile device does not meet wifiOnly; one that is gone does not count."""
    network.add_device("wwan0", 1)
    network.add_route("wwan0", 1, 700)
    wait_type(within, "cellular")
    enqueue(within, inner.url("/held"), id="held", wifiOnly=True)
    network.add_device("wired0", 2)
    network.add_route("wired0", 2, 900)
    inner.quiet(0.7)
    assert seen(within)["type"] == "cellular"
    network.ip("-6", "route", "add", "default", "dev", "wired0", "metric", "50")
    assert within.settled("held", seconds=5)["kind"] == "completed"
    network.ip("link", "delete", "wired0")
    wait_type(within, "cellular")
    network.ip("link", "delete", "wwan0")
    wait_type(within, "none")


def test_d16_a_new_route_wakes_what_could_not_be_sent(within, network):
    """D16: an entry that found no way waits ten minutes or for a route; one whose request began waits on."""
    with network.inside():
        server = RawServer("0.0.0.0")
    try:
        server.on("/begun", rawserver.reply(503))
        enqueue(within, f"http://127.0.0.1:{server.port}/begun", id="begun", retry={"backoff": SLOW})
        within.event("attempt", id="begun")
        for id in ("a", "b"):
            enqueue(within, f"http://10.9.0.1:{server.port}/x", id=id, retry={"backoff": SLOW})
            assert within.event("attempt", id=id)["errorKind"] == "network"
        network.ip("address", "add", "10.9.0.1/32", "dev", "lo")
        server.quiet(1, "/x")
        network.add_device("wired0", 1)
        network.add_route("wired0", 1, 100)
        for id in ("a", "b"):
            assert within.settled(id, seconds=10)["attempts"] == 2
        assert within.row("begun")["attempts"] == 1
    finally:
        server.close()


def test_d34_a_host_overrides_what_is_detected(within, network, inner):
    """D34: setNetwork holds until auto."""
    enqueue(within, inner.url("/x"), id="a", wifiOnly=True)
    within.call("setNetwork", type="wifi", metered=True)
    assert seen(within) == {"type": "wifi", "metered": True, "source": "host"}
    network.add_device("wired0", 1)
    network.add_route("wired0", 1, 100)
    inner.quiet(0.7)
    assert seen(within)["type"] == "wifi"
    within.call("setNetwork", type="auto")
    assert within.settled("a", seconds=5)["kind"] == "completed"


def test_d34_a_link_that_flaps_costs_few_looks(start, network, tmp_path):
    """D34: what changes many times in a second is looked at a few times, and what it came to counts."""
    trace = tmp_path / "trace"
    sidecar = start(under=[*network.under, "strace", "-f", "-o", str(trace), "-e", "trace=socket"])
    wait_type(sidecar, "none")
    network.add_device("wired0", 1)
    flaps = [f"route {verb} default via 10.1.0.2 dev wired0" for _ in range(200) for verb in ("add", "del")]
    begin = time.monotonic()
    network.batch([*flaps, "route add default via 10.1.0.2 dev wired0"])
    wait_type(sidecar, "ethernet")
    seconds = time.monotonic() - begin
    sidecar.call("ping")
    looks = trace.read_text().count("AF_NETLINK")
    # Two at the start, one for the new device.
    assert looks <= 3 + seconds / 0.3 + 1, f"{looks} looks in {seconds} s"
    assert sidecar.close(30) == 0


def test_d34_without_netlink_the_network_is_ethernet(start, network, tmp_path):
    """D34: a container that forbids netlink changes nothing for wifiOnly entries, and says so in the log."""
    trace = tmp_path / "trace"
    with network.inside():
        server = RawServer()
    # The first socket of the process; all later ones are made.
    sidecar = start(under=[*network.under, "strace", "-f", "-o", str(trace), "-e", "trace=socket",
                           "-e", "inject=socket:error=EACCES:when=1"])
    try:
        enqueue(sidecar, server.url("/x"), id="a", wifiOnly=True)
        sidecar.wait_state("a", "completed", 30)
        assert seen(sidecar) == {"type": "ethernet", "metered": False, "source": "detected"}
        assert "AF_NETLINK" in next(line for line in trace.read_text().splitlines() if "INJECTED" in line)
        assert sidecar.close(30) == 0
        assert "the network counts as ethernet" in sidecar.stderr()
    finally:
        server.close()
