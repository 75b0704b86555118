"""protocol/certify.py passes this client, and notices a client that is wrong."""

import subprocess
import sys

import pytest
from rig import CLIENT, ROOT

CERTIFY = [sys.executable, str(ROOT / "protocol" / "certify.py")]
DRIVER = [sys.executable, str(CLIENT / "tests" / "driver.py")]


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_the_client_is_certified(kind):
    done = subprocess.run([*CERTIFY, *DRIVER, kind], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "21 passed, 0 failed"), done.stdout


@pytest.mark.parametrize(
    "fault, check",
    [
        ("ack early", "acknowledged_after_the_handler"),
        ("ack failures", "a_failing_handler_releases"),
        ("ack unknown kinds", "an_unknown_kind_is_released"),
        ("no order", "one_id_in_order_others_go_on"),
        ("handle twice", "a_redelivery_is_handled_once"),
        ("subscribe early", "nothing_before_configure"),
        ("sloppy vars", "enqueue_is_exact"),
        ("extra params", "get_requests_walks_the_pages"),
        ("one page", "resync_reads_every_page"),
        ("handler first", "caller_first_then_handler"),
    ],
)
def test_a_faulty_client_is_noticed(fault, check):
    faulty = [sys.executable, str(CLIENT / "tests" / "faulty_driver.py"), fault]
    done = subprocess.run(
        [*CERTIFY, "--only", check, *faulty],
        capture_output=True,
        text=True,
        timeout=120,
        env={"PATH": "/usr/bin:/bin", "CERTIFY_SECONDS": "2"},
    )
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "0 passed, 1 failed"), done.stdout


def test_wrong_usage():
    for wrong in ([], ["--only", "no such check", "x"], ["--other"]):
        assert subprocess.run([*CERTIFY, *wrong], capture_output=True).returncode == 64
