# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernel counts of waiting, and its lists of CPUs."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.model import CpuTimes, MemoryState, Reading, Stall
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import pressure
from ansible_collections.goldennode.gpu.tests.unit import fixtures

FILES = fixtures.a10_capture()["files"]


def _numbers(line: str) -> t.Iterator[float]:
    """The three averages, read in another way."""
    for word in line.split()[1:4]:
        yield float(word.partition("=")[2])


def test_real_files_of_linux_6_18() -> None:
    stall = pressure.stall(FILES["/proc/pressure/io"], "io")
    assert stall == Reading(Stall(*(tuple(_numbers(line)) for line in FILES["/proc/pressure/io"].splitlines())))
    assert pressure.load(FILES["/proc/loadavg"]) == Reading((4.01, 1.8, 0.77))
    memory = pressure.memory(FILES["/proc/meminfo"], FILES["/proc/vmstat"], FILES["/proc/sys/vm/swappiness"])
    assert memory == Reading(MemoryState(24683584, 23721632, 0, 0, 0, 60))
    times = pressure.cpu_times(FILES["/proc/stat"])
    assert times == Reading(CpuTimes(iowait=0.32, steal=0.02))


def test_before_linux_5_13_nothing_is_said_of_everything_waiting_for_a_cpu() -> None:
    found = pressure.stall("some avg10=1.50 avg60=2.00 avg300=100.00 total=5\n", "cpu")
    assert found == Reading(Stall((1.5, 2.0, 100.0), ()))


@pytest.mark.parametrize(
    "text", ["", "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n", "some avg10=x\n", "some avg10"]
)
def test_a_file_without_averages_is_unknown(text: str) -> None:
    assert pressure.stall(text, "/proc/pressure/io").error == "/proc/pressure/io has no line of averages"


@pytest.mark.parametrize(
    "text", ["", "cpu 1 2 3\n", "cpu  0 0 0 0 0 0 0 0\n", "intr 1 2 3 4 5 6 7 8\n", "cpu a b c d e f g h"]
)
def test_times_that_are_none(text: str) -> None:
    assert pressure.cpu_times(text).error == "/proc/stat has no times of the CPUs"


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("0-3,8,10-11\n", (0, 1, 2, 3, 8, 10, 11)), ("\n", ()), ("", ()), ("5", (5,))],
)
def test_a_list_of_cpus(text: str, cpus: t.Tuple[int, ...]) -> None:
    assert pressure.cpus(text, "online") == Reading(cpus)


@pytest.mark.parametrize(
    ("text", "said"), [("3-1", "3-1"), ("0-99999999999", "0-99999999999"), ("0,,1", "an empty item")]
)
def test_a_list_that_is_none_is_unknown(text: str, said: str) -> None:
    assert pressure.cpus(text, "online").error == "online is no list of CPUs: %s" % said


def test_swap_that_cannot_be_counted_is_left_out() -> None:
    text = "MemTotal: 10 kB\nMemAvailable: 5 kB\nSwapTotal: 4 kB\nSwapFree: 1 kB\n"
    assert pressure.memory(text, None, None) == Reading(MemoryState(10, 5, 4, 1))
    assert pressure.memory(text, "pswpin 7\n", "60\n") == Reading(MemoryState(10, 5, 4, 1, 7, 60))
    why = "/proc/meminfo does not say how much memory and swap there is"
    assert pressure.memory(text.replace("SwapFree", "x"), None, None).error == why
