"""What comes before a request: names, proxies, TLS."""
import subprocess
import time

import pytest

from endtoend import deadline, rawserver
from endtoend.certificates import Certificate
from endtoend.nginx import Nginx
from endtoend.programs import free_port
from endtoend.requests import FAST, enqueue

CERTIFICATES = {
    "self-signed": ({}, "self-signed"), "another host": ({"names": "DNS:other.test"}, "another host name"),
    "expired": ({"until": "20200102000000Z"}, "expired")}


def failures(sidecar, id):
    """The attempts of `id` so far, each checked to be a network failure without a status."""
    attempts = sidecar.events("attempt", id=id)
    for event in attempts:
        assert event["outcome"] == "error" and event["errorKind"] == "network"
        assert "httpCode" not in event
    return attempts


@pytest.mark.parametrize("kind", CERTIFICATES)
def test_a_conn_08_a_bad_certificate_is_named_and_nothing_is_sent(sidecar, tmp_path, kind):
    """A-CONN-08, A-DELIV-07, D24: attempts of kind network about the certificate, in growing waits, until the
    entry expires; the server sees no request."""
    options, why = CERTIFICATES[kind]
    certificate = Certificate(tmp_path / "tls", "bad", **options)
    nginx = Nginx(tmp_path / "nginx", certificate)
    try:
        if kind != "self-signed":
            sidecar.call("configure", tls={"caFile": certificate.path})
        backoff = {"baseMs": 200, "maxMs": 60_000, "jitter": 0}
        enqueue(sidecar, nginx.tls_url("/x"), id="a", data=1, headers={"Authorization": "s3cret"},
                retry={"backoff": backoff}, expiresAt=int(time.time() * 1000) + 2500)
        outcome = sidecar.settled("a")
        attempts = failures(sidecar, "a")
        assert (outcome["kind"], outcome["error"]["errorKind"]) == ("error", "expired")
        assert len(attempts) >= 2
        for event in attempts:
            assert "certificate" in event["errorMessage"] and why in event["errorMessage"]
        rows = [row for row in sidecar.events("state", state="queued") if "nextAttemptAt" in row]
        waits = [row["nextAttemptAt"] - row["updatedAt"] for row in rows]
        # The last wait ends with the deadline.
        assert waits[:-1] == [200 * 2 ** n for n in range(len(waits) - 1)]
        assert nginx.log() == []
    finally:
        nginx.close()


def test_d24_tls_is_verified_unless_the_authority_is_named(sidecar, tmp_path, certificate):
    """D24: after configure names the authority the same entry completes."""
    nginx = Nginx(tmp_path / "nginx", certificate)
    try:
        enqueue(sidecar, nginx.tls_url("/x"), id="a", method="PUT", data=1)
        sidecar.event("attempt", id="a", outcome="error")
        sidecar.call("configure", tls={"caFile": certificate.path})
        assert sidecar.settled("a")["response"]["status"] == 201
    finally:
        nginx.close()


def test_a_conn_09_the_environment_s_proxy_and_its_exceptions_count(start, server, another_server):
    """A-CONN-09, D23: `http_proxy` gets the request, also for loopback; `no_proxy` names who goes direct."""
    proxy = server.url("")
    sidecar = start(env={"http_proxy": proxy, "no_proxy": "foo,127.0.0.1,.example.test"})
    sidecar.subscribe()
    enqueue(sidecar, "http://somewhere.test/x?q=1", id="proxied", data=1)
    enqueue(sidecar, another_server.url("/direct"), id="direct", data=1)
    for id in ("proxied", "direct"):
        assert sidecar.settled(id)["kind"] == "completed"
    assert [request.target for request in server.seen()] == ["http://somewhere.test/x?q=1"]
    assert server.seen()[0].header("host") == "somewhere.test"
    assert [request.target for request in another_server.seen()] == ["/direct"]


def test_a_conn_09_without_exceptions_loopback_goes_by_the_proxy(start, server):
    """A-CONN-09, D23; an upper-case HTTP_PROXY does not count."""
    sidecar = start(env={"http_proxy": server.url(""), "HTTP_PROXY": "http://127.0.0.1:9", "no_proxy": ""})
    sidecar.subscribe()
    enqueue(sidecar, "http://127.0.0.1:9/x", id="a", data=1)
    assert sidecar.settled("a")["kind"] == "completed"
    assert server.seen()[0].target == "http://127.0.0.1:9/x"


def test_d23_a_configured_proxy_overrides_the_environment(start, server, another_server):
    """D23: with its exceptions; empty means none; the environment counts again after null."""
    sidecar = start(env={"http_proxy": "http://127.0.0.1:9", "no_proxy": "127.0.0.1"})
    sidecar.subscribe()
    sidecar.call("configure", proxy=another_server.url(""))
    enqueue(sidecar, server.url("/a"), id="a")
    sidecar.settled("a")
    assert (len(server.seen()), another_server.seen()[0].target) == (0, server.url("/a"))
    for id, value in (("b", ""), ("c", None)):
        sidecar.call("configure", proxy=value)
        enqueue(sidecar, server.url(f"/{id}"), id=id)
        sidecar.settled(id)
        assert len(server.seen(f"/{id}")) == 1


def test_a_conn_09_a_proxy_s_407_parks_nothing(start, server):
    """A-CONN-09, D11: a network failure, tried again."""
    target = "http://somewhere.test/x"
    server.on(target, rawserver.reply(407, [("Proxy-Authenticate", "Basic realm=x")]), rawserver.reply())
    sidecar = start(env={"http_proxy": server.url("")})
    sidecar.subscribe()
    enqueue(sidecar, target, id="a", data=1)
    assert sidecar.settled("a")["attempts"] == 2
    first = sidecar.events("attempt", id="a")[0]
    assert first["errorKind"] == "network"
    assert sidecar.events("state", state="awaiting-auth") == []


def test_a_conn_07_a_name_that_comes_back_works_without_a_restart(start, server, tmp_path):
    """A-CONN-07: the name fails three times, then it is there."""
    hosts, resolver = tmp_path / "hosts", tmp_path / "resolv.conf"
    hosts.write_text("127.0.0.1 localhost\n")
    # Nobody answers there, which is known at once.
    resolver.write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
    mounts = f'mount --bind "{hosts}" /etc/hosts && mount --bind "{resolver}" /etc/resolv.conf'
    own = ["unshare", "--map-root-user", "--mount", "sh", "-c", mounts + ' && exec "$@"', "sh"]
    if subprocess.run([*own, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("a hosts file of one's own takes a mount namespace")
    sidecar = start(under=own)
    sidecar.subscribe()
    enqueue(sidecar, f"http://later.test:{server.port}/x", id="a", data=1)
    sidecar.wait_events("attempt", 3, id="a", seconds=30)
    assert all("name" in event["errorMessage"] for event in failures(sidecar, "a"))
    hosts.write_text("127.0.0.1 localhost later.test\n")
    outcome = sidecar.settled("a", seconds=30)
    assert outcome["kind"] == "completed" and outcome["attempts"] >= 4
    assert server.seen()[0].header("host") == f"later.test:{server.port}"
    assert len(server.seen()) == 1


def test_a_queue_04_resumed_while_the_server_is_away(sidecar):
    """A-QUEUE-04: queued or running, not paused, and completed once the server is back."""
    port = free_port()
    sidecar.call("pause")
    enqueue(sidecar, f"http://127.0.0.1:{port}/x", id="a", data=1)
    sidecar.call("resume")
    sidecar.wait_events("attempt", 3, id="a")
    failures(sidecar, "a")
    assert sidecar.row("a")["state"] in ("queued", "running")
    server = rawserver.RawServer(port=port)
    try:
        assert sidecar.settled("a")["kind"] == "completed"
        assert len(server.seen()) == 1
    finally:
        server.close()
        server.check()


def test_d16_one_at_a_time_probes_an_origin_that_is_away(sidecar):
    """D16, A-QUEUE-04: twenty entries, nobody listens; when the server is back all of them arrive, once each,
    long before the backoff of most has ended."""
    port = free_port()
    slow = {"backoff": {**FAST, "maxMs": 3_600_000, "baseMs": 500}}
    for n in range(20):
        enqueue(sidecar, f"http://127.0.0.1:{port}/x", id=str(n), data=n, retry=slow)
    deadline.until("each has failed", lambda: {
        event["id"] for event in sidecar.events("attempt")} == {str(n) for n in range(20)}, 30)
    server = rawserver.RawServer(port=port)
    try:
        for n in range(20):
            assert sidecar.settled(str(n), seconds=30)["kind"] == "completed"
        assert sorted(int(request.body) for request in server.seen()) == list(range(20))
    finally:
        server.close()
        server.check()


def test_a_url_04_an_address_with_a_zone_is_taken_and_fails_as_network(sidecar):
    """A-URL-04: not E_INVALID."""
    enqueue(sidecar, f"http://[fe80::1%25lo]:{free_port()}/", id="a", timeouts={"connectMs": 500})
    sidecar.event("attempt", id="a")
    assert failures(sidecar, "a")


def test_d25_many_at_once_share_the_connections_that_stand(sidecar, server):
    """D25: requests beyond the first 32 go over the connections of those, however many there are."""
    sidecar.call("configure", concurrency={"total": 33, "reservedHigh": 1, "partsPerEntry": 3})
    for number in range(300):
        sidecar.send("enqueue", {
            "id": str(number), "key": "k", "request": {"url": server.url("/x"), "data": 1}})
    server.wait_requests(300)
    assert len(server.connections) <= 32
