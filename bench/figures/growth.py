"""The same operations beside 10^3, 10^4, 10^5 and 10^6 waiting entries. The peer of the largest queue is
the smallest: what grows with the logarithm takes twice as long there. Draws dist/bench/growth.svg."""
import contextlib
import itertools
import statistics
import time

import measure
import plot
from workshop import HELD, ROOT, entry

NAME = "growth"
SIZES = (10**3, 10**4, 10**5, 10**6)
# Calls that one sample is the median of.
CALLS = 40
# Numbers of entries that no filled queue has.
APART = 10_000_000
PICTURE = ROOT / "dist/bench/growth.svg"

# Each gets the sidecar, the number of waiting entries, a number that rises, and the sink's URL.
OPERATIONS = {
    "enqueue": lambda serving, size, new, url: serving.call("enqueue", entry(APART + new)),
    "enqueue, same id": lambda serving, size, new, url: serving.call("enqueue", entry(new * 7919 % size)),
    "enqueue and cancel": lambda serving, size, new, url: (
        serving.call("enqueue", entry(3 * APART + new)),
        serving.call("cancel", {"id": entry(3 * APART + new)["id"]})),
    "to its outcome": lambda serving, size, new, url: settle(serving, entry(2 * APART + new, url, key="now")),
    "explain": lambda serving, size, new, url: serving.call(
        "explain", {"id": entry(new * 7919 % size)["id"]}),
    "a row by its id": lambda serving, size, new, url: serving.call(
        "getRequests", {"id": entry(new * 7919 % size)["id"]}),
    "first 100 rows": lambda serving, size, new, url: serving.call("getRequests", {"limit": 100}),
    "pause": lambda serving, size, new, url: serving.call("pause", {"keys": [HELD, f"other {new}"]}),
    "resume": lambda serving, size, new, url: serving.call("resume", {"keys": [f"other {new}"]}),
    "updateHeaders": lambda serving, size, new, url: serving.call(
        "updateHeaders", {"headers": {"authorization": f"Bearer {new}"}}),
    "stats": lambda serving, size, new, url: serving.call("stats"),
}


def measured(workshop):
    sizes = SIZES[:-1] if workshop.quick else SIZES
    url = f"http://127.0.0.1:{workshop.sink()}/"
    with contextlib.ExitStack() as opened:
        queues = {size: opened.enter_context(workshop.serve(workshop.queue(size))) for size in sizes}
        for serving in queues.values():
            serving.call("subscribe", {"events": ["settled"], "keys": ["now"]})
        numbers = {size: {name: itertools.count(1) for name in OPERATIONS} for size in sizes}

        def contender(name, size):
            return lambda: timed(OPERATIONS[name], queues[size], size, numbers[size][name], url)

        taken = measure.rounds({(name, size): contender(name, size)
                                for name in OPERATIONS for size in sizes}, workshop.pairs)
    draw(taken, sizes)
    for name in OPERATIONS:
        yield measure.compare(
            f"{name}, beside {sizes[-1]:.0e} waiting", "µs", taken, (name, sizes[-1]), (name, sizes[0]),
            measure.at_most(2), peer_name=f"beside {sizes[0]:.0e}")


def timed(operation, serving, size, numbers, url):
    took, cpu = [], serving.cpu
    for _ in range(CALLS):
        new, began = next(numbers), time.perf_counter()
        operation(serving, size, new, url)
        took.append(time.perf_counter() - began)
    return measure.Sample(statistics.median(took) * 1e6, (serving.cpu - cpu) / CALLS)


def settle(serving, params):
    serving.call("enqueue", params)
    outcome = serving.next_events()[0]["params"]
    assert outcome["kind"] == "completed", outcome
    serving.call("ackEvents", {"eventIds": [outcome["eventId"]]})


def draw(taken, sizes):
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    PICTURE.write_text(plot.panels({
        name: [(size, measure.Spread.of(turn[name, size].value for turn in taken)) for size in sizes]
        for name in OPERATIONS}, "µs", "waiting entries"), encoding="utf-8")
