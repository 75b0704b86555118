"""protocol/certify.py passes this client, and notices a client that is wrong."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from rig import CLIENT, ROOT

CERTIFY = [sys.executable, str(ROOT / "protocol" / "certify.py")]
DRIVER = [sys.executable, str(CLIENT / "tests" / "driver.py")]


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_the_client_is_certified(kind):
    done = subprocess.run([*CERTIFY, *DRIVER, kind], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "21 passed, 0 failed"), done.stdout


FAULTS = {
    "ack early": "acknowledged_after_the_handler",
    "ack failures": "a_failing_handler_releases",
    "ack unknown kinds": "an_unknown_kind_is_released",
    "no order": "one_id_in_order_others_go_on",
    "handle twice": "a_redelivery_is_handled_once",
    "subscribe early": "nothing_before_configure",
    "sloppy vars": "enqueue_is_exact",
    "extra params": "get_requests_walks_the_pages",
    "one page": "resync_reads_every_page",
    "handler first": "caller_first_then_handler",
}


def certify_faulty(fault):
    faulty = [sys.executable, str(CLIENT / "tests" / "faulty_driver.py"), fault]
    return subprocess.run(
        [*CERTIFY, "--only", FAULTS[fault], *faulty],
        capture_output=True,
        text=True,
        timeout=120,
        env={"PATH": "/usr/bin:/bin", "CERTIFY_SECONDS": "2"},
    )


@pytest.fixture(scope="module")
def certified():
    """All at once: a check that fails has waited in vain."""
    with ThreadPoolExecutor() as pool:
        return dict(zip(FAULTS, pool.map(certify_faulty, FAULTS)))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_client_is_noticed(fault, certified):
    done = certified[fault]
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "0 passed, 1 failed"), done.stdout


def test_wrong_usage():
    for wrong in ([], ["--only", "no such check", "x"], ["--other"]):
        assert subprocess.run([*CERTIFY, *wrong], capture_output=True).returncode == 64
