"""Every drill in its short form; the seed of a failure is in its message."""
import os

import pytest

import fuzz
from all_drills import EVERY
from drills import command

# scripts/run-tests has a step of its own for the fuzzers.
HERE = [short for short in EVERY if short.module is not fuzz]


@pytest.mark.parametrize("short", HERE, ids=lambda short: short.name.replace(" ", "_"))
def test_d35_d36_nothing_is_lost_and_nothing_told_again(short, capsys):
    """D35, D36, A-STORE-07: the ledgers of hosts and server agree, whatever befell them."""
    seed = int(os.environ.get("DRILL_SEED") or int.from_bytes(os.urandom(4), "big"))
    result = short.run(seed)
    with capsys.disabled():
        print("\n" + command.table([result]))
        command.report(result)
    if result.skipped:
        pytest.skip(f"{short.name} DID NOT RUN: {result.skipped}")
    assert result.verdict == "holds", f"DRILL_SEED={seed}: {result.as_json()}"
