# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waves and budgets: tables for what people write, and properties that hold for any pool of up to 10,000 hosts."""

from __future__ import annotations

import math
import random

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import waves
from ansible_collections.goldennode.gpu.plugins.module_utils.waves import Size, Wave

NAMES = ["n%d" % number for number in range(1, 11)]


def cut(hosts, canaries, *sizes):
    names = waves.canary_names(canaries, hosts)
    return [(wave.name, list(wave.hosts)) for wave in waves.waves(hosts, names, [waves.size(size) for size in sizes])]


# --- sizes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "number", "percent"),
    [
        (5, 5, False),
        ("5", 5, False),
        (0, 0, False),
        ("25%", 25, True),
        ("25 %", 25, True),
        (" 25% ", 25, True),
        ("0%", 0, True),
        ("100%", 100, True),
        ("007", 7, False),
    ],
)
def test_a_size_as_people_write_it(value, number, percent):
    assert waves.size(value) == Size(number, percent)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("101%", "is more than all nodes"),
        ("", "is neither a number of nodes nor a percentage"),
        ("%", "is neither"),
        ("25%%", "is neither"),
        ("%25", "is neither"),
        ("-1", "is neither"),
        (-1, "is neither"),
        (2.5, "is neither"),
        ("12.5%", "is neither"),
        ("1e3", "is neither"),
        (True, "is neither"),
        (None, "is neither"),
        ([1], "is neither"),
        ("\u0665", "is neither"),  # a digit of another script, which int() would take
        ("9" * 5000, "is neither"),  # int() refuses it with words of its own
        ("5\n5", "is neither"),
    ],
)
def test_what_is_no_size_is_told(value, said):
    with pytest.raises(ValueError, match=said):
        waves.size(value)


@pytest.mark.parametrize(
    ("size", "total", "up", "down"),
    [
        ("25%", 8, 2, 2),
        ("25%", 9, 3, 2),
        ("1%", 10, 1, 0),
        ("1%", 0, 0, 0),
        ("100%", 7, 7, 7),
        ("0%", 7, 0, 0),
        ("29%", 100, 29, 29),  # as a binary fraction it would be 29.000000000000004 or 28.999999999999996
        (3, 2, 3, 3),
    ],
)
def test_percentages_are_rounded_without_fractions(size, total, up, down):
    parsed = waves.size(size)
    assert (parsed.rounded_up(total), parsed.rounded_down(total)) == (up, down)


@pytest.mark.parametrize(
    ("allowed", "total", "number"), [(0, 9, 0), ("0%", 9, 0), ("25%", 9, 2), ("100%", 9, 9), (50, 9, 9), ("99%", 1, 0)]
)
def test_a_budget(allowed, total, number):
    assert waves.budget(waves.size(allowed), total) == number


# --- waves --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hosts", "canaries", "sizes", "expected"),
    [
        (NAMES[:4], 1, ["25%"], [["n1"], ["n2"], ["n3"], ["n4"]]),
        (NAMES[:4], 1, ["50%"], [["n1"], ["n2", "n3"], ["n4"]]),
        (NAMES[:5], 2, [1, "100%"], [["n1"], ["n2"], ["n3"], ["n4", "n5"]]),
        (NAMES[:6], ["n3"], [2], [["n3"], ["n1", "n2"], ["n4", "n5"], ["n6"]]),
        (NAMES[:3], ["n3", "n1"], ["100%"], [["n3"], ["n1"], ["n2"]]),
        (NAMES[:3], ["n2", "n2"], ["100%"], [["n2"], ["n1", "n3"]]),
        (["only"], 1, ["25%"], [["only"]]),
        (["only"], 7, ["25%"], [["only"]]),
        (["only"], 0, ["25%"], [["only"]]),
        (NAMES[:3], 0, ["100%"], [["n1", "n2", "n3"]]),
        (NAMES[:3], [], [99], [["n1", "n2", "n3"]]),
        (["a", "b", "a", "b"], 1, [9], [["a"], ["b"]]),
        ([], 1, ["25%"], []),
        (["\u00fc", "\u202ea", "a b", ""], 1, [3], [["\u00fc"], ["\u202ea", "a b", ""]]),
    ],
)
def test_waves(hosts, canaries, sizes, expected):
    assert [hosts for _name, hosts in cut(hosts, canaries, *sizes)] == expected


def test_waves_have_names_that_are_counted():
    assert [name for name, _hosts in cut(NAMES[:5], 2, 1)] == ["canary-1", "canary-2", "wave-1", "wave-2", "wave-3"]


def test_a_wave_of_nothing_would_never_end():
    assert [len(hosts) for _name, hosts in cut(NAMES[:3], 0, "0%")] == [1, 1, 1]
    with pytest.raises(ValueError, match="waves need at least one size"):
        waves.waves(NAMES, (), [])


def random_pool(seed):
    chance = random.Random(seed)
    count = chance.choice([0, 1, 2, 3, 4, 10, 99, 100, 101, 1000, 10000])
    hosts = ["h%d" % number for number in chance.sample(range(10**6), count)]
    canaries = chance.choice(
        [
            chance.randrange(5),
            chance.sample(hosts, min(len(hosts), chance.randrange(4))),
            count + 1 if count < 99 else 3,
        ]
    )
    sizes = [
        Size(chance.randrange(1, 101), True) if chance.random() < 0.5 else Size(chance.randrange(1, 50))
        for _number in range(chance.randrange(1, 5))
    ]
    return hosts, canaries, sizes


@pytest.mark.parametrize("seed", range(200))
def test_what_holds_for_every_pool(seed):
    hosts, wanted, sizes = random_pool(seed)
    canaries = waves.canary_names(wanted, hosts)
    found = waves.waves(hosts, canaries, sizes)
    there = [name for wave in found for name in wave.hosts]
    assert sorted(there) == sorted(hosts)  # every host in exactly one wave
    assert [wave.hosts for wave in found[: len(canaries)]] == [(name,) for name in canaries]  # canaries first, alone
    rest = found[len(canaries) :]
    left = [name for name in hosts if name not in set(canaries)]
    assert there[len(canaries) :] == left  # the order of the inventory
    for number, wave in enumerate(rest):
        size = sizes[min(number, len(sizes) - 1)]
        full = max(math.ceil(size.number * len(left) / 100) if size.percent else size.number, 1)
        # A float may be one too high at a whole number; ours is exact.
        assert len(wave.hosts) in (full, full - 1) or wave is rest[-1]
        assert 0 < len(wave.hosts) <= full
    assert found == waves.waves(hosts, canaries, sizes)


@pytest.mark.parametrize("total", [0, 1, 2, 7, 100, 10000])
def test_a_higher_percentage_never_means_a_smaller_budget(total):
    numbers = [waves.budget(Size(percent, True), total) for percent in range(101)]
    assert numbers == sorted(numbers)
    assert (numbers[0], numbers[-1]) == (0, total)


# --- after a wave -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", ["rolled_back", "failed", "lost", "busy", "stopped", "", "GOLDEN", "\x1b[2J"])
def test_a_canary_with_any_outcome_but_golden_stops(outcome):
    then = waves.after_wave({"c": outcome}, ["c"], 100)
    assert then.stop
    assert then.reason.startswith("a canary did not become golden: c is ")
    assert "\x1b" not in then.reason


@pytest.mark.parametrize(
    ("outcomes", "allowed", "stop"),
    [
        ("golden golden", 0, False),
        ("golden rolled_back", 0, True),
        ("golden rolled_back", 1, False),
        ("failed rolled_back", 1, True),
        ("failed rolled_back", 2, False),
        ("failed rolled_back lost", 2, True),
        ("failed rolled_back lost", 3, False),
        ("busy busy busy", 0, False),
        ("stopped", 0, False),
        ("nobody_knows", 0, True),
    ],
)
def test_the_budget_decides_about_production_nodes(outcomes, allowed, stop):
    came = {"n%d" % number: outcome for number, outcome in enumerate(outcomes.split())}
    assert waves.after_wave({"c": "golden", **came}, ["c"], allowed).stop is stop


def test_why_it_stops():
    assert waves.after_wave({"b": "lost", "a": "failed"}, [], 1).reason == (
        "2 production nodes failed, and the budget is 1: b, a"
    )
    assert waves.after_wave({"a": "golden"}, ["a"], 0) == waves.Next(False, "")


@pytest.mark.parametrize(
    ("outcomes", "again"),
    [
        ({"a": "busy"}, True),
        ({"a": "busy", "b": "golden"}, True),
        ({"a": "busy", "b": "rolled_back"}, False),
        ({"a": "lost"}, False),
        ({"c": "failed"}, False),
    ],
)
def test_a_canary_that_is_at_work_has_not_failed_so_the_others_keep_waiting(outcomes, again):
    then = waves.after_wave(outcomes, ["a", "b"], 0)
    assert (then.stop, then.again) == (True, again)
    many = waves.after_wave({"n%d" % number: "lost" for number in range(50)}, [], 0)
    assert many.reason.endswith("n6, n7 and 42 more")


@pytest.mark.parametrize("seed", range(50))
def test_what_stops_with_a_budget_stops_with_every_smaller_one(seed):
    chance = random.Random(seed)
    came = {"n%d" % number: chance.choice(waves.OUTCOMES) for number in range(chance.randrange(40))}
    stops = [waves.after_wave(came, [], allowed).stop for allowed in range(41)]
    assert stops == sorted(stops, reverse=True)
    assert not stops[-1]


def test_waves_are_values():
    assert Wave("wave-1", ("a",)) == Wave("wave-1", ("a",))
