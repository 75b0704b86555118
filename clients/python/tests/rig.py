"""What the tests share: a fake that is checked, lists and conditions to wait on, the binary under test."""

import json
import os
import pathlib
import sys
import threading

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
CLIENT = ROOT / "clients" / "python"
sys.path[:0] = [str(CLIENT / "src"), str(ROOT / "protocol")]

from validate import Validator  # noqa: E402

from outtray.testing import FakeSidecar  # noqa: E402

VALIDATOR = Validator(json.loads((ROOT / "protocol" / "openrpc.json").read_text(encoding="utf-8")))
PING = {"url": "https://api.test/ping"}
BINARY = os.environ.get("OUTTRAY", str(ROOT / ".build" / "outtray"))
# One that is named must be there; without a name the tests that need it are left out.
needs_binary = pytest.mark.skipif(
    "OUTTRAY" not in os.environ and not os.access(BINARY, os.X_OK),
    reason="no binary: set OUTTRAY or build it",
)


class CheckedFake(FakeSidecar):
    """Holds every call of a test against the document."""

    def call(self, method, params, start=True):
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": json.loads(params)}
        problems = VALIDATOR.check_request(request)
        assert problems == [], f"{method}: {problems}"
        return super().call(method, params, start)


class Seen:
    """A list that a test can wait on."""

    def __init__(self):
        self.items, self._changed = [], threading.Condition()

    def add(self, item):
        with self._changed:
            self.items.append(item)
            self._changed.notify_all()

    def wait(self, count, seconds=10):
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.items) >= count, seconds), self.items
            return list(self.items)


def until(condition, seconds=10):
    """Waits for a condition that other threads bring about."""
    gate = threading.Event()
    for _ in range(int(seconds * 200)):
        value = condition()
        if value:
            return value
        gate.wait(0.005)
    raise AssertionError("the condition did not come true")


def ping(client, key="ping", **more):
    return client.define(key=key, request=lambda vars: PING, **more)


def poster(client, server, key="note", **more):
    """A definition that posts its variables to the server."""
    return client.define(
        key=key, request=lambda vars: {"url": server.url + "/notes", "data": vars, "method": "POST"}, **more
    )
