"""A file of 1 GiB from acceptance to outcome, beside `curl -T` to the same sink: staged by each kind, in
parts, over TLS and HTTP/2. The copy for `copy` is made before the acceptance and has a row of its own,
beside `cp` and `sync`."""
import os
import resource
import subprocess
import time

import measure
import tlsserver
from sidecar import cpu_of

NAME = "uploads"
SIZE = 1 << 30
PARTS = (1, 3, 8)
MEBIBYTE = 1 << 20


def measured(workshop):
    size = workshop.scaled(SIZE, 16)
    source = workshop.file(size)
    yield from in_the_clear(workshop, source, size)
    for kind, version in (("TLS", None), ("HTTP/2", "h2")):
        yield from over_tls(workshop, source, size, kind, version)


def in_the_clear(workshop, source, size):
    url = f"http://127.0.0.1:{workshop.sink()}/"

    def staged(kind):
        with Uploads(workshop) as uploads:
            sample = uploads.send(workshop, url, source, size, kind)
        return {kind: sample, f"{kind}, accept": measure.Sample(uploads.staging)}

    def in_parts(count):
        with Uploads(workshop, parts=count) as uploads:
            return uploads.send(workshop, url, source, size, "reference", parts=count)

    def copied():
        target = workshop.fresh("copy")
        began = time.perf_counter()
        subprocess.run(["cp", source, target], check=True)
        subprocess.run(["sync", target], check=True)
        took = time.perf_counter() - began
        target.unlink()
        return measure.Sample(took)

    contenders = {"curl -T": lambda: curl(url, source, size)}
    for kind in ("copy", "move", "reference"):
        contenders[kind] = lambda kind=kind: staged(kind)
    for count in PARTS:
        contenders[count] = lambda count=count: in_parts(count)
    contenders["cp, sync"] = copied
    taken = measure.rounds(contenders, workshop.pairs)
    for kind in ("copy", "move", "reference"):
        yield measure.compare(f"upload, {kind}", "MiB/s", taken, kind, "curl -T", measure.at_least(1.2))
    for count in PARTS:
        yield measure.compare(f"upload, {count} parts at once", "MiB/s", taken, count, "curl -T")
    for count in PARTS[1:]:
        yield measure.compare(
            f"{count} parts at once to one stream", "MiB/s", taken, count, "reference", measure.at_least(1))
    yield measure.compare("accept by copy", "s", taken, "copy, accept", "cp, sync")


def over_tls(workshop, source, size, kind, version):
    certificate = tlsserver.certificate(workshop)
    if version:
        port = tlsserver.nghttpd(workshop, certificate)
    else:
        port = workshop.sink(certificate)
    url = f"https://127.0.0.1:{port}/put"

    def ours():
        with Uploads(workshop, tls={"caFile": str(certificate[0])}, http2=bool(version)) as uploads:
            return uploads.send(workshop, url, source, size, "reference")

    options = ["--cacert", str(certificate[0]), "--http2" if version else "--http1.1"]
    contenders = {"outtray": ours, f"curl -T, {kind}": lambda: curl(url, source, size, *options)}
    taken = measure.rounds(contenders, workshop.pairs)
    yield measure.compare(
        f"upload, {kind}", "MiB/s", taken, "outtray", f"curl -T, {kind}", measure.at_least(1))
    yield measure.compare(
        f"upload, {kind}: CPU", "s/GiB", taken, "outtray", f"curl -T, {kind}", measure.at_most(1), of="cpu")


def curl(url, source, size, *options):
    """One `curl -T`, timed by its own clock, which leaves its start out."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        ["curl", "-sS", "-o", "/dev/null", "-H", "Expect:", "-w", "%{http_code} %{time_total} %{size_upload}",
         *options, "-T", str(source), url], stdout=subprocess.PIPE, check=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    _, seconds, sent = done.stdout.split()
    assert int(sent) == size, done.stdout
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return measure.Sample(size / MEBIBYTE / float(seconds), cpu * 2**30 / size)


class Uploads:
    """A sidecar on an empty queue that sends one file; `staging` is how long the acceptance took."""

    def __init__(self, workshop, parts=3, **configuration):
        self.serving = workshop.serve(workshop.fresh())
        concurrency = {"total": parts + 1, "reservedHigh": 1, "partsPerEntry": parts}
        self.serving.call("configure", {"concurrency": concurrency, **configuration})
        self.serving.call("subscribe", {"events": ["settled"]})
        self.staging = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.serving.close()

    def send(self, workshop, url, source, size, staging, parts=0):
        path = source
        if staging == "move":
            path = workshop.fresh("moved")
            os.link(source, path)
        request = {"url": url, "method": "PUT", "file": str(path), "staging": staging,
                   "accept": [{"status": 404}]}
        if parts:
            step = -(-size // parts)
            request["parts"] = [
                {"url": url, "range": {"start": start, "end": min(start + step, size)}}
                for start in range(0, size, step)]
            del request["url"]
        cpu, began = cpu_of(self.serving.pid), time.perf_counter()
        self.serving.call("enqueue", {"id": "upload", "key": "file", "request": request})
        accepted = time.perf_counter()
        outcome = self.serving.next_events()[0]["params"]
        took = time.perf_counter() - accepted
        cpu = cpu_of(self.serving.pid) - cpu
        assert outcome["kind"] == "completed" and outcome["bytesSent"] == size, outcome
        self.serving.call("ackEvents", {"eventIds": [outcome["eventId"]]})
        self.staging = accepted - began
        return measure.Sample(size / MEBIBYTE / took, cpu * 2**30 / size)
