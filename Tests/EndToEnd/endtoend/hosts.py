"""Several processes on one directory."""

GREETING = {"protocolVersion": 1, "client": {"name": "test", "version": "1"}}


def pair(start, **options):
    """The owner of a directory, and a process that attached to it."""
    first = start(**options)
    assert role(first) == "owner"
    second = start(**options)
    assert role(second) == "attached"
    return first, second


def role(sidecar):
    return sidecar.call("initialize", **GREETING)["role"]
