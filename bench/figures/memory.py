"""Resident memory: idle, with a million entries waiting, during an upload of 10 GB, with 100,000 outcomes
that nobody has acknowledged. The peer of the idle one is curl with its libraries, in the middle of an
upload."""
import subprocess
import time

import measure
from sidecar import memory
from workshop import fill

NAME = "memory"
UPLOAD = 10 * 10**9
MOST_IDLE = measure.own_at_most(18, "MB")


def measured(workshop):
    waiting, outcomes = workshop.scaled(1_000_000), workshop.scaled(100_000)
    full, journal = workshop.queue(waiting), with_outcomes(workshop, outcomes)
    sparse = workshop.file(UPLOAD, sparse=True)
    url = f"http://127.0.0.1:{workshop.sink()}/"
    contenders = {
        "idle": lambda: held_by(workshop, "idle", workshop.queue(0)),
        "waiting": lambda: held_by(workshop, "waiting", full),
        "outcomes": lambda: held_by(workshop, "outcomes", journal, subscribed=True),
        "upload": lambda: uploading(workshop, url, sparse),
        "curl -T": lambda: curl(url, sparse)}
    taken = measure.rounds(contenders, workshop.pairs, warm=False)
    yield measure.compare("memory, idle", "MB", taken, "idle", "curl -T", MOST_IDLE)
    yield measure.compare("memory, idle, proportional (PSS)", "MB", taken, "idle PSS", "curl -T PSS")
    for name, what in (("waiting", f"{waiting} waiting"), ("upload", "during an upload of 10 GB"),
                       ("outcomes", f"{outcomes} outcomes not acknowledged")):
        yield measure.compare(f"memory, {what}", "MB", taken, name, "idle", measure.at_most(1.5))


def with_outcomes(workshop, count):
    """A queue whose journal holds so many outcomes: of entries that expired before they came."""
    directory = workshop.fresh()
    with workshop.serve(directory) as serving:
        fill(serving, count, key="late", expiresAt=1)
        while serving.call("stats")["entries"]["error"] < count:
            time.sleep(0.1)
    return directory


def samples(pid, name):
    resident, proportional = memory(pid)
    return {name: measure.Sample(resident), f"{name} PSS": measure.Sample(proportional)}


def held_by(workshop, name, directory, subscribed=False):
    with workshop.serve(directory) as serving:
        # After the record of the start is whole, what follows a start has been done.
        serving.call("takeDiagnostics")
        if subscribed:
            serving.call("subscribe", {"events": ["settled"], "window": 1024})
            serving.next_events()
        serving.call("getRequests", {"limit": 100})
        return samples(serving.pid, name)


def uploading(workshop, url, path):
    """The highest of what is seen during the upload."""
    directory = workshop.fresh()
    with workshop.serve(directory) as serving:
        serving.call("subscribe", {"events": ["settled", "progress"]})
        serving.call("enqueue", {"id": "u", "key": "file", "request": {
            "url": url, "method": "PUT", "file": str(path), "staging": "reference"}})
        most = {}
        while True:
            events = serving.next_events()
            for name, sample in samples(serving.pid, "upload").items():
                most[name] = max(most.get(name, sample), sample, key=lambda each: each.value)
            for event in events:
                if event["method"] == "settled":
                    assert event["params"]["kind"] == "completed", event
                    return most


def curl(url, path):
    with subprocess.Popen(["curl", "-sS", "-T", str(path), url], stdout=subprocess.DEVNULL) as process:
        time.sleep(0.5)
        seen = samples(process.pid, "curl -T")
        process.kill()
        return seen
