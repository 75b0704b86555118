"""The frame of the benchmark computes what it says, and every figure runs. Nothing here says how long
anything may take: that is for the table, on a machine that has time."""
import importlib
import json
import os
import pathlib
import subprocess
import sys
import xml.etree.ElementTree

import measure
import plot
import pytest
import run
from measure import Sample, Spread
from workshop import Workshop

BINARY = os.environ.get("OUTTRAY", str(pathlib.Path(__file__).resolve().parents[1] / ".build/outtray"))


def taken(*pairs):
    return [{"ours": Sample(ours), "peer": Sample(peer)} for ours, peer in pairs]


def test_a_ratio_is_taken_in_each_round_and_the_median_is_of_the_ratios():
    """Not the ratio of the medians, which is 4 here: a slow round slows both of a pair."""
    row = measure.compare("f", "/s", taken((1, 1), (40, 10), (60, 20)), "ours", "peer")
    assert row.ratio == Spread(3, 1, 4)
    assert row.outtray == Spread(40, 1, 60)
    assert row.peer == Spread(10, 1, 20)
    assert row.pairs == 3


def test_a_peer_of_zero_has_no_ratio_and_cpu_needs_both():
    row = measure.compare("f", "", taken((0, 0), (1, 0)), "ours", "peer", measure.own_at_most(0, ""))
    assert row.ratio is None and row.cpu_ratio is None
    assert row.verdict == "missed by 0.5"
    both = [{"ours": Sample(1, 6), "peer": Sample(1, 3)}]
    assert measure.compare("f", "", both, "ours", "peer").cpu_ratio == Spread(2, 2, 2)
    assert measure.compare("f", "", both, "ours", "peer", of="cpu").ratio == Spread(2, 2, 2)


@pytest.mark.parametrize(("target", "ours", "peer", "verdict"), [
    (measure.at_least(10), 100, 10, "met"), (measure.at_least(10), 50, 10, "missed by 50%"),
    (measure.at_most(2), 20, 10, "met"), (measure.at_most(2), 30, 10, "missed by 50%"),
    (measure.own_at_most(18, "MB"), 18, 1, "met"), (measure.own_at_most(18, "MB"), 27, 100, "missed by 50%")])
def test_a_target_is_met_or_missed_by_a_share_of_its_bound(target, ours, peer, verdict):
    assert measure.compare("f", "MB", taken((ours, peer)), "ours", "peer", target).verdict == verdict


def test_contenders_run_interleaved_and_none_is_always_first():
    order = []
    contenders = {name: lambda name=name: order.append(name) or Sample(1) for name in "abc"}
    assert len(measure.rounds(contenders, 3)) == 3
    assert "".join(order) == "abc" "abc" "bca" "cab"


def test_one_run_can_tell_several_samples():
    turns = measure.rounds({"a": lambda: {"a p50": Sample(1), "a p99": Sample(2)}}, 1, warm=False)
    assert turns == [{"a p50": Sample(1), "a p99": Sample(2)}]


def test_the_table_says_all_of_it_and_survives_json():
    row = measure.compare("accepts", "/s", taken((12_345, 1000)), "ours", "peer", measure.at_least(20))
    text = measure.table([row])
    for part in ("accepts", "12.3k /s", "1000 /s, peer", "12.3 (12.3–12.3)", "≥ 20×", "missed by 38%"):
        assert part in text
    assert json.loads(json.dumps(row.as_json()))["missedBy"] == pytest.approx(0.38, abs=0.01)
    assert measure.table([row], markdown=True).count("\n") == 2


def test_the_picture_is_svg_with_a_panel_for_each_operation():
    points = [(10**n, Spread(n, n / 2, 2 * n)) for n in range(3, 7)]
    root = xml.etree.ElementTree.fromstring(plot.panels({"a & b": points, "c": points}, "µs", "entries"))
    assert len(root.findall("{http://www.w3.org/2000/svg}polyline")) == 2


def test_every_figure_is_in_the_table_and_says_what_it_is():
    files = {path.stem for path in pathlib.Path(run.HERE, "figures").glob("*.py")}
    assert files == set(run.FIGURES)
    for name in run.FIGURES:
        figure = importlib.import_module(f"figures.{name}")
        assert figure.NAME == name and figure.__doc__


@pytest.mark.parametrize("name", ["rows", "roundtrip"])
def test_a_quick_figure_runs_and_gives_numbers(name, tmp_path):
    """Through the command, as a person runs it; OUTTRAY and every peer answer, and what was made goes."""
    told = tmp_path / "told.json"
    done = subprocess.run(
        [sys.executable, str(run.HERE / "run.py"), "--only", name, "--pairs", "1", "--quick",
         "--json", str(told)],
        capture_output=True, text=True, check=False, env={**os.environ, "OUTTRAY": BINARY})
    assert done.returncode == 0, done.stderr
    result = json.loads(told.read_text(encoding="utf-8"))
    assert result["failed"] == [] and result["rows"]
    for row in result["rows"]:
        assert row["outtray"]["median"] > 0 and row["peer"]["median"] > 0 and row["ratio"]["median"] > 0
    assert result["machine"]["cpu"] and result["machine"]["curl"]
    assert row["figure"] in done.stdout


def test_a_workshop_leaves_nothing_behind():
    with Workshop(BINARY, 1, quick=True) as shop:
        port, folder = shop.sink(), shop.folder
        assert port > 0 and folder.exists()
    assert not folder.exists()
