"""B98: the types say what is right and what is wrong."""

import importlib.util
import json
import re
import shutil
import subprocess
import sys

import pytest
from rig import CLIENT

TESTS = CLIENT / "tests"


def mypy(*files):
    if importlib.util.find_spec("mypy"):
        command = [sys.executable, "-m", "mypy"]
    elif shutil.which("mypy"):
        command = ["mypy"]
    else:
        pytest.skip("mypy is not installed")
    done = subprocess.run(
        [*command, "--strict", "--no-incremental", "--cache-dir=/dev/null", *files],
        capture_output=True,
        text=True,
        cwd=TESTS,
        env={"MYPYPATH": "../src:.", "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return {
        (path, int(line)) for path, line in re.findall(r"^(\S+?):(\d+): error", done.stdout, re.M)
    }, done.stdout


def pyright(tmp_path, *files):
    command = shutil.which("pyright") or shutil.which("basedpyright")
    if command is None:
        pytest.skip("pyright is not installed")
    settings = {
        "typeCheckingMode": "strict",
        "pythonVersion": "3.9",
        "extraPaths": [str(CLIENT / "src"), str(TESTS)],
        "include": [str(TESTS / one) if one.endswith(".py") else one for one in files],
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    done = subprocess.run([command, "--outputjson", "-p", str(tmp_path)], capture_output=True, text=True)
    problems = [one for one in json.loads(done.stdout)["generalDiagnostics"] if one["severity"] == "error"]
    return {
        (one["file"].rsplit("/", 1)[1], one["range"]["start"]["line"] + 1) for one in problems
    }, problems


def marked():
    lines = (TESTS / "typing_wrong.py").read_text().split("\n")
    return {("typing_wrong.py", number) for number, line in enumerate(lines, 1) if "# wrong" in line}


def test_B98_mypy_strict_accepts_the_package():
    found, output = mypy("../src/outtray")
    assert found == set(), output


def test_B98_mypy_accepts_right_code_and_refuses_wrong_code():
    found, output = mypy("typing_right.py", "typing_wrong.py")
    assert found == marked(), output


def test_B98_pyright_strict_accepts_the_package(tmp_path):
    found, problems = pyright(tmp_path, str(CLIENT / "src"))
    assert found == set(), problems


def test_B98_pyright_accepts_right_code_and_refuses_wrong_code(tmp_path):
    found, problems = pyright(tmp_path, "typing_right.py", "typing_wrong.py")
    assert found == marked(), problems
