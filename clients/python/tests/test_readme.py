"""What README.md shows runs, and the reference is up to date."""

import json
import os
import re
import subprocess
import sys

from rig import BINARY, CLIENT, needs_binary
from web import Server

BLOCKS = re.findall(r"```python\n(.*?)```", (CLIENT / "README.md").read_text(encoding="utf-8"), re.S)


def run(code, tmp_path, url="https://api.example.com"):
    environment = {**os.environ, "OUTTRAY_BINARY": BINARY, "PYTHONPATH": str(CLIENT / "src")}
    code = code.replace("https://api.example.com", url).replace("/tmp/plan.txt", str(tmp_path / "plan.txt"))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        env=environment,
        text=True,
        capture_output=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_binary
def test_the_quick_starts_run(tmp_path):
    with Server(lambda request: (201, b'{"comment": {"id": 7}}')) as server:
        assert run(BLOCKS[0], tmp_path, server.url) == "added 7 to s1\n"
        assert run(BLOCKS[1], tmp_path, server.url) == "stored plan 201\n"
    first, second = server.requests
    assert (first["path"], first["body"]) == ("/sites/s1/comments", b'{"text":"hello"}')
    assert first["headers"]["Authorization"] == "Bearer t1"
    assert (second["method"], second["body"]) == ("PUT", b"a plan")


@needs_binary
def test_D45_D46_D48_D50_the_pipeline_runs(tmp_path):
    ids = {"/photos": 5, "/observations": 7}
    with Server(lambda request: (201, json.dumps({"id": ids.get(request["path"], 9)}).encode())) as server:
        said = run(BLOCKS[2], tmp_path, server.url)
    assert said == "observation/7 has the number 7\nobservation/7 is through: 3 completed\n"
    assert [request["path"] for request in server.requests] == [*ids, "/observations/7/photos"]
    assert server.requests[2]["body"] == b'{"photo_id":5}'


def test_the_example_of_a_unit_test_runs_without_a_binary(tmp_path):
    assert len(BLOCKS) == 4
    run(BLOCKS[3], tmp_path)


def test_the_reference_is_up_to_date():
    done = subprocess.run([sys.executable, CLIENT / "docs" / "generate.py", "--check"])
    assert done.returncode == 0, "run python3 clients/python/docs/generate.py"


def test_every_file_of_the_package_is_in_the_table():
    text = (CLIENT / "README.md").read_text(encoding="utf-8")
    files = {path.name for path in (CLIENT / "src" / "outtray").glob("*.py")}
    missing = {name for name in files if f"`{name}`" not in text}
    assert missing == {
        "__init__.py",
        "_errors.py",
        "_json.py",
        "_backlog.py",
        "_version.py",
        "_fakequeue.py",
        "_fakelinks.py",
        "_fakegroups.py",
    }
