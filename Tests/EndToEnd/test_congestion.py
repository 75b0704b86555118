"""The real binary against servers of known capacity: how many at once, origins apart, bandwidth."""
import os
import threading

from endtoend import rawserver
from endtoend.requests import enqueue


class Capacity:
    """A step that works on so many requests at once and refuses the others with 429."""

    def __init__(self, most, seconds):
        self.most, self.seconds = most, seconds
        self.lock = threading.Lock()
        self.busy = self.accepted = self.refused = 0
        # How many it worked on when it took one, that one included.
        self.beside = []

    def __call__(self, exchange):
        exchange.read_body()
        with self.lock:
            takes = self.busy < self.most
            self.busy += takes
            self.accepted += takes
            self.refused += not takes
            if takes:
                self.beside.append(self.busy)
        if not takes:
            return exchange.answer(429)
        try:
            exchange.pause(self.seconds)
        finally:
            with self.lock:
                self.busy -= 1
        exchange.answer(200)


def test_d51_the_limit_of_an_origin_finds_the_capacity_of_its_server(sidecar, server):
    """D51: a server that takes two at once gets two at once, and is seldom asked for more."""
    capacity = Capacity(2, 0.02)
    server.on("/x", capacity)
    sidecar.subscribe(window=1024)
    sidecar.call("configure", concurrency={"total": 8, "reservedHigh": 0, "partsPerEntry": 1})
    for n in range(200):
        enqueue(sidecar, server.url("/x"), id=str(n), data=n)
    outcomes = sidecar.wait_events("settled", 200, seconds=100)
    assert {outcome["kind"] for outcome in outcomes} == {"completed"}
    print(f"accepted {capacity.accepted}, refused {capacity.refused}, "
          f"mean at once {sum(capacity.beside) / len(capacity.beside):.2f}")
    assert capacity.accepted == 200
    assert capacity.refused <= 40
    assert max(capacity.beside) == 2
    [origin] = sidecar.call("stats")["origins"]
    assert origin["origin"] == server.url("").rstrip("/") and origin["circuit"] == "closed"
    assert 1 <= origin["limit"] <= 3


def test_d51_a_number_in_per_origin_is_kept_to(sidecar, server):
    """D51: perOrigin fixes the limit, whatever the server says."""
    server.on("/x", rawserver.reply(429), rawserver.reply(429), rawserver.reply(200))
    sidecar.call("configure", concurrency={"total": 8, "reservedHigh": 0, "partsPerEntry": 1, "perOrigin": 5})
    for n in range(6):
        enqueue(sidecar, server.url("/x"), id=str(n))
    for n in range(6):
        assert sidecar.settled(str(n))["kind"] == "completed"
    [origin] = sidecar.call("stats")["origins"]
    assert origin["limit"] == 5


def test_d52_a_server_that_hangs_slows_no_other(sidecar, server, another_server):
    """D52: all of one origin goes out while another answers nothing."""
    gate = threading.Event()
    server.on("/x", rawserver.hold(gate))
    for n in range(10):
        enqueue(sidecar, server.url("/x"), id=f"hangs {n}")
    server.wait_requests(3, "/x")
    for n in range(40):
        enqueue(sidecar, another_server.url("/y"), id=f"goes {n}")
    for n in range(40):
        assert sidecar.settled(f"goes {n}")["kind"] == "completed"
    assert len(server.seen("/x")) <= 4
    gate.set()
    for n in range(10):
        assert sidecar.settled(f"hangs {n}")["kind"] == "completed"


def test_d52_a_server_that_fails_is_left_alone(start, server):
    """D52, D44: after five failures in a row it is left alone; a retry by hand tries it at once."""
    sidecar = start("--virtual-clock")
    sidecar.subscribe()
    server.on("/x", *[rawserver.reply(500)] * 5, rawserver.reply(200))
    for n in range(5):
        enqueue(sidecar, server.url("/x"), id=str(n), retry={"backoff": {"baseMs": 600000, "maxMs": 600000,
                                                                         "jitter": 0}})
        server.wait_requests(n + 1, "/x")
        sidecar.wait_events("attempt", n + 1)
    enqueue(sidecar, server.url("/x"), id="next")
    [origin] = sidecar.call("stats")["origins"]
    assert origin["circuit"] == "open" and origin["running"] == 0
    assert len(server.seen("/x")) == 5
    sidecar.call("retry", id="0")
    assert sidecar.settled("0")["kind"] == "completed"
    assert sidecar.settled("next")["kind"] == "completed"
    assert sidecar.call("stats")["origins"][0]["circuit"] == "closed"


def test_d53_bandwidth_counts_for_what_runs(sidecar, server, tmp_path):
    """D53: a limit holds a body back, and goes when it is taken away; the body is whole."""
    body = os.urandom(8 << 20)
    (tmp_path / "body").write_bytes(body)
    sidecar.call("configure", bandwidth={"total": 16384})
    enqueue(sidecar, server.url("/x"), id="x", file=str(tmp_path / "body"))
    sidecar.event("progress", id="x")
    assert 0 < sidecar.row("x")["bytesSent"] < 1 << 20
    sidecar.call("configure", bandwidth={"keys": {"another": 1, "k": 1 << 30}})
    outcome = sidecar.settled("x")
    assert outcome["kind"] == "completed" and outcome["attempts"] == 1
    [request] = server.seen("/x")
    assert request.body == body


def test_d53_being_held_back_is_no_stall(sidecar, server):
    """D53, D22: a pause of a limit that is longer than stallMs does not end the attempt."""
    came = threading.Event()

    def slowly(exchange):
        exchange.read_body(3)
        came.set()
        rawserver.reply(200)(exchange)

    server.on("/x", slowly)
    sidecar.call("configure", bandwidth={"keys": {"k": 2}})
    enqueue(sidecar, server.url("/x"), id="x", data="x" * 1000,
            timeouts={"stallMs": 100})
    assert came.wait(30)
    sidecar.call("configure", bandwidth=None)
    outcome = sidecar.settled("x")
    assert outcome["kind"] == "completed" and outcome["attempts"] == 1
