import json
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "protocol"))


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def document():
    return json.loads((ROOT / "protocol" / "openrpc.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def validator(document):
    from validate import Validator

    return Validator(document)
