import signal

import pytest
from rig import BINARY, CheckedFake, Seen

from outtray import UploadClient

# A shell has it ignored in what it runs in the background, and programs that are started here would inherit
# that: they are interrupted by some tests.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def warnings():
    return []


@pytest.fixture
def fake():
    return CheckedFake(ack_timeout_ms=5000)


@pytest.fixture
def client(fake, warnings):
    made = UploadClient(sidecar=fake, on_warning=lambda message, detail: warnings.append(message))
    yield made
    made.close()


@pytest.fixture
def open_client(tmp_path):
    """Opens clients of one queue with the real sidecar."""
    def make(**options):
        warned = Seen()
        client = UploadClient(
            tmp_path / "queue", binary=BINARY, on_warning=lambda m, d: warned.add(m), **options
        )
        client.warned = warned
        return client

    return make
