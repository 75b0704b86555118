"""Enqueueing, as the tests do it."""

FAST = {"baseMs": 50, "maxMs": 200, "jitter": 0}
# Longer than any test: what fails once is not tried again.
NEVER = {"baseMs": 600_000, "maxMs": 600_000, "jitter": 0}


def descriptor(url, **fields):
    """A descriptor with a fast backoff, unless `retry` names one."""
    retry = {"backoff": FAST, **fields.pop("retry", {})}
    return {"url": url, "retry": retry, **fields}


def enqueue(sidecar, url, id=None, key="k", vars=None, **fields):
    """Enqueues and returns the result."""
    params = {"key": key, "request": descriptor(url, **fields)}
    if id is not None:
        params["id"] = id
    if vars is not None:
        params["vars"] = vars
    return sidecar.call("enqueue", **params)
