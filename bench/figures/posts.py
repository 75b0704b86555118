"""10,000 JSON posts of 1 KiB, from enqueue to acknowledged outcome, beside clients that send the same and
keep nothing: aiohttp, requests, node's fetch. All to one sink; those that can have 64 under way."""
import json
import time

import measure
import sidecar

NAME = "posts"
COUNT = 10_000
AT_ONCE = 64
TARGETS = {"aiohttp": measure.at_least(1), "requests": measure.at_least(5)}


def measured(workshop):
    count = workshop.scaled(COUNT)
    url = f"http://127.0.0.1:{workshop.sink()}/notes"
    body = {"note": "n" * 1000, "position": [48.1]}
    payload = workshop.fresh("payload")
    payload.write_text(json.dumps(body), encoding="ascii")
    common = url, count, AT_ONCE, payload

    def peer(*command):
        return rate(workshop.told(*command, *common))

    contenders = {
        "outtray": lambda: ours(workshop, url, body, count, AT_ONCE + 1),
        "outtray, 4 at once": lambda: ours(workshop, url, body, count, None),
        "aiohttp": lambda: rate(workshop.python("post_aiohttp.py", *common)),
        "requests": lambda: rate(workshop.python("post_requests.py", *common)),
        "node fetch": lambda: peer("node", workshop.source("post_fetch.mjs"))}
    taken = measure.rounds(contenders, workshop.pairs, warm=False)
    for name in ("aiohttp", "requests", "node fetch"):
        yield measure.compare(f"{count} posts, durable", "/s", taken, "outtray", name, TARGETS.get(name))
    yield measure.compare(
        f"{count} posts, durable, as it is without configure", "/s", taken, "outtray, 4 at once", "aiohttp")


def rate(told):
    return measure.Sample(told["count"] / told["seconds"], told["cpu"] / told["count"])


def ours(workshop, url, body, count, total):
    with workshop.serve(workshop.fresh()) as serving:
        if total:
            concurrency = {"total": total, "reservedHigh": 1, "partsPerEntry": 3}
            serving.call("configure", {"concurrency": concurrency})
        serving.call("subscribe", {"events": ["settled"], "window": 1024})
        requests = [
            sidecar.line(n, "enqueue", {"id": str(n), "key": "note", "request": {"url": url, "data": body}})
            for n in range(count)]
        cpu, began = serving.cpu, time.perf_counter()
        assert all(outcome["kind"] == "completed" for outcome in serving.settle(requests, count))
        took = time.perf_counter() - began
        return measure.Sample(count / took, (serving.cpu - cpu) / count)
