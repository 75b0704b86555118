"""Every rule and case has a test that names it, and the script that says so can tell."""
import shutil
import subprocess
import sys

import pytest

RULES = "**D1. One.** Text.\n\n**D2. Two.** Text.\n"
CASES = """
- B1. The first behaviour.
- B2. *none* The second behaviour.
- B3. The third behaviour.
- B4. The fourth behaviour.
- A-X-01. A report. (a/b#1)

- B4: there is nothing to break.
"""
SWIFT = """
@Suite struct SomeTests {
  // B9 in a comment is no name.
  @Test(
    "D1 to D2: names two")
  func two() {}
}
"""
PYTHON = '''
def test_three():
    """B3."""
'''


@pytest.fixture
def tree(root, tmp_path):
    """A small repository with the script; everything in order."""
    for name in ("Tests/Some", "protocol", "clients/js/test", "clients/js/src"):
        (tmp_path / name).mkdir(parents=True)
    shutil.copy(root / "Tests" / "rule-coverage", tmp_path / "Tests")
    write(tmp_path, "protocol/rules.md", RULES)
    write(tmp_path, "Tests/cases.md", CASES)
    write(tmp_path, "Tests/rule-coverage.to-come", "# Later\nB1\n")
    write(tmp_path, "Tests/Some/SomeTests.swift", SWIFT)
    write(tmp_path, "Tests/Some/test_some.py", PYTHON)
    write(tmp_path, "clients/js/test/a.test.js", "test('A-X-01: named', () => {});\n")
    write(tmp_path, "clients/js/src/index.js", "test('B77: not in a test');\n")
    return tmp_path


def write(tree, name, text):
    (tree / name).write_text(text, encoding="utf-8")


def run(tree, *arguments):
    return subprocess.run([sys.executable, str(tree / "Tests" / "rule-coverage"), *arguments],
                          capture_output=True, text=True, check=False)


def test_every_number_is_named_by_a_test(root):
    ended = run(root, "--missing")
    assert (ended.returncode, ended.stderr) == (0, "")


def test_the_list_tells_the_tests_of_each_number(tree):
    ended = run(tree)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.split("\n") == [
        "D1  Tests/Some/SomeTests.swift:5", "D2  Tests/Some/SomeTests.swift:5", "B1  to come", "B2  none",
        "B3  Tests/Some/test_some.py:2", "B4  without a test", "A-X-01  clients/js/test/a.test.js:1", ""]


@pytest.mark.parametrize("name, text, fault", [
    ("Tests/Some/test_some.py", "", "B3: no test names it"),
    ("clients/js/test/a.test.js", "// A-X-01 in a comment\n", "A-X-01: no test names it"),
    ("Tests/Some/test_some.py", PYTHON.replace("B3", "B3, B8"), "B8: there is no such number"),
    ("Tests/Some/test_some.py", PYTHON.replace("B3", "B2, B3"), "B2: has no counterpart here"),
    ("Tests/Some/test_some.py", PYTHON.replace("B3", "B1, B3"), "B1: no longer to come"),
    ("Tests/rule-coverage.to-come", "B1 B12\n", "B12: is listed, but there is no such number")])
def test_what_is_wrong_is_named(tree, name, text, fault):
    write(tree, name, text)
    ended = run(tree, "--missing")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith(f"rule-coverage: {fault}") and ended.stderr.count("\n") == 1


def test_shrinking_takes_off_what_has_come(tree):
    write(tree, "Tests/rule-coverage.to-come", "# Later\nB1 B3\n\n# Soon\nB3\n")
    assert run(tree, "--shrink").returncode == 0
    text = (tree / "Tests" / "rule-coverage.to-come").read_text(encoding="utf-8")
    assert text == "# Later\nB1\n\n# Soon\n"
