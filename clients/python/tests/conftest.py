import pytest
from rig import CheckedFake

from outtray import UploadClient


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
