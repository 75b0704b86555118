"""SECURITY.md names a test for each promise; here it is held to them."""
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
NAMED = re.findall(r"\[`(\w+)`\]\(([^)]+)\)", TEXT)


def names_in(path):
    """The names of the tests in a file, Python or Swift."""
    return set(re.findall(r"^(?:def|  func) (\w+)\(", path.read_text(encoding="utf-8"), re.MULTILINE))


def test_every_test_that_security_md_names_is_there():
    """Each by its name and in its file."""
    assert len(NAMED) > 40
    files = {place: ROOT / place for _, place in NAMED}
    assert [place for place, path in files.items() if not path.is_file()] == []
    assert [pair for pair in NAMED if pair[0] not in names_in(files[pair[1]])] == []


def test_every_attack_is_in_security_md():
    """A test of these files that nobody finds proves nothing to a reader."""
    named = set(NAMED)
    for path in sorted(Path(__file__).parent.glob("test_security_*.py")):
        if path.name != Path(__file__).name:
            place = str(path.relative_to(ROOT))
            assert {(name, place) for name in names_in(path) if name.startswith("test_")} <= named


def test_every_promise_names_a_test():
    """Section "What is promised": each point, and each paragraph without points."""
    promised = TEXT.partition("## What is promised")[2].partition("\n## ")[0]
    blocks = [block for block in re.split(r"\n\n|\n(?=- )", promised) if block.strip()]
    assert len(blocks) > 15
    heads = [block for block in blocks if block.startswith("**") and not re.search(r"\[`\w+`\]\(", block)]
    # A heading in bold stands for the points that follow it.
    assert all(blocks[blocks.index(head) + 1].startswith("- ") for head in heads)
    assert [block for block in blocks if block not in heads and not re.search(r"\[`\w+`\]\(", block)] == []
