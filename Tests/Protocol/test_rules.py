"""rules.md and cases.md have every number once, and agree on what has no counterpart."""
import re

AREAS = {"FORM": 7, "BODY": 9, "FILE": 10, "URL": 8, "REDIR": 6, "EARLY": 6, "CONN": 11, "RESP": 9,
         "RETRY": 10, "AUTH": 6, "STORE": 10, "DELIV": 7, "QUEUE": 11, "PROG": 5, "RPC": 11}
SOURCE = r"\((?:compare )?[^()]+/[^()]+#\d+[^()]*\)"


# Of the decisions.
NUMBERS = {*range(1, 54)}


def lines(root, *path):
    return root.joinpath(*path).read_text(encoding="utf-8").split("\n")


def rules(root):
    return "\n".join(lines(root, "protocol", "rules.md"))


def test_every_decision_is_published(root):
    numbers = re.findall(r"^\*\*D(\d+)\. [^*]+\.\*\* \S", rules(root), re.M)
    assert sorted(map(int, numbers)) == sorted(NUMBERS)


def test_every_behaviour_is_listed_in_order(root):
    numbers = [int(found[1]) for line in lines(root, "Tests", "cases.md")
               if (found := re.fullmatch(r"- B(\d+)\. (?:\*none\* )?[A-Za-z0-9].{10,}\.", line))]
    assert numbers == list(range(1, 307))


def test_every_bug_report_is_listed_with_its_source(root):
    numbers = [(found[1], int(found[2])) for line in lines(root, "Tests", "cases.md")
               if (found := re.fullmatch(r"- A-([A-Z]+)-(\d\d)\. .{10,}\. " + SOURCE, line))]
    assert numbers == [(area, number) for area, count in AREAS.items() for number in range(1, count + 1)]
    assert len(numbers) == 126


def test_the_table_of_areas_is_right(root):
    rows = re.findall(r"^\| ([A-Z]+) \| (\d+) \|$", "\n".join(lines(root, "Tests", "cases.md")), re.M)
    assert {area: int(count) for area, count in rows} == AREAS


def test_what_has_no_counterpart_is_the_same_in_both(root):
    marked = [int(found[1]) for line in lines(root, "Tests", "cases.md")
              if (found := re.match(r"- B(\d+)\. \*none\*", line))]
    listed = rules(root).partition("not tested:")[2].partition(".")[0]
    assert [int(number) for number in re.findall(r"B(\d+)", listed)] == marked
    assert len(marked) == 38


def test_rules_named_elsewhere_exist(root):
    for name in ("protocol/README.md", "protocol/reference.md", "Tests/cases.md"):
        text = root.joinpath(name).read_text(encoding="utf-8")
        assert NUMBERS.issuperset(int(number) for number in re.findall(r"\bD(\d+)\b", text)), name
        assert all(1 <= int(number) <= 306 for number in re.findall(r"\bB(\d+)\b", text)), name
