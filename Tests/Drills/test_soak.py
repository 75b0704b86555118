"""What the soak takes for growth, and what for noise."""
import random

import pytest

import soak
from drills.command import Result
from drills.usage import Sample, growth


def life(cycles, **leaks):
    """Samples of a life with noise, in which each attempt leaves so much behind."""
    chance = random.Random(7)
    samples = []
    for work in range(250, 250 * (cycles + 1), 250):
        values = {"resident": 14_000_000 + chance.randrange(300_000),
                  "blocks": 10_400 + chance.randrange(100), "heap": 5_300_000 + chance.randrange(30_000),
                  "used": 64 + chance.randrange(2)}
        values = {name: value + int(work * leaks.get(name, 0)) for name, value in values.items()}
        samples.append(Sample(work, {"pipe": 2, "connection": 3}, 7, database=3 << 20, log=4 << 20, **values))
    return samples


def faults(samples):
    result = Result("soak", 7)
    soak.judge(samples, result)
    return result.faults


@pytest.mark.parametrize("cycles", [8, 250])
def test_a_life_without_growth_holds(cycles):
    assert faults(life(cycles)) == []


@pytest.mark.parametrize("cycles, leaks", [
    (8, {"blocks": 1}), (8, {"heap": 4000}), (250, {"blocks": 0.05}), (250, {"heap": 50}),
    (250, {"resident": 200}), (250, {"used": 0.01}),
])
def test_what_each_attempt_leaves_behind_is_found(cycles, leaks):
    found = faults(life(cycles, **leaks))
    assert len(found) == 1 and next(iter(leaks)) in found[0], found


def test_single_samples_that_stand_out_decide_nothing():
    samples = life(250)
    for sample in samples[200::7]:
        sample.resident += 8 << 20
    assert faults(samples) == []
    assert growth(samples, "resident") < 20_000


def test_the_last_of_a_few_samples_decides_nothing():
    samples = life(8)
    samples[-1].blocks += 700
    assert faults(samples) == []


@pytest.mark.parametrize("first", range(8))
def test_what_is_kept_from_some_day_on_is_no_growth(first):
    samples = life(8)
    for sample in samples[first:]:
        sample.blocks += 700
    assert faults(samples) == []


def test_connections_and_a_log_beyond_their_bounds_are_found():
    samples = life(5)
    samples[2].descriptors["connection"] = 9
    samples[3].log = 21 << 20
    assert len(faults(samples)) == 2
