# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last command of goldennode-uvm.service in a real shell: links of the driver's nodes in /dev/char."""

from __future__ import annotations

import os
import pathlib
import subprocess
import typing as t

import pytest

from ansible_collections.goldennode.gpu.tests.unit import healthy

UNIT = "/etc/systemd/system/goldennode-uvm.service"
SHELLS = [path for path in ("/bin/dash", "/bin/bash") if os.path.exists(path)]

#: Numbers as stat prints them: in hex.
NUMBERS = {"nvidia0": "c3 0", "nvidiactl": "c3 ff", "nvidia-uvm": "1fc 0", "nvidia-caps/nvidia-cap1": "1ff 1"}


def script() -> str:
    """What the shell gets, once systemd has joined the lines and read its own signs."""
    text = (healthy.desired().files[UNIT].content or "").replace("\\\n", " ")
    (command,) = [line for line in text.splitlines() if line.startswith("ExecStart=/bin/sh") and "/dev/char" in line]
    inner = command.partition("'")[2]
    assert inner.endswith("'")
    return inner[:-1].replace("$$", "$").replace("%%", "%")


@pytest.fixture(params=SHELLS)
def run(tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> t.Callable[[], t.Dict[str, str]]:
    """Run it on a /dev of our own, and say what each link there says; a device is played by a link to one."""
    (tmp_path / "nvidia-caps").mkdir()
    programs = tmp_path / "bin"
    programs.mkdir()
    cases = "".join('*/%s) echo "%s";; ' % pair for pair in NUMBERS.items())
    (programs / "stat").write_text('#!/bin/sh\ncase "$3" in %sesac\n' % cases)
    (programs / "stat").chmod(0o755)
    for name in NUMBERS:
        (tmp_path / name).symlink_to("/dev/null")

    def call() -> t.Dict[str, str]:
        text = script().replace("/dev/", "%s/" % tmp_path)
        done = subprocess.run(
            [request.param, "-ec", text],
            env={"PATH": "%s:/usr/bin:/bin" % programs},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return {link.name: os.readlink(link) for link in (tmp_path / "char").iterdir()}

    return call


MADE = {
    "195:0": "../nvidia0",
    "195:255": "../nvidiactl",
    "508:0": "../nvidia-uvm",
    "511:1": "../nvidia-caps/nvidia-cap1",
}


def test_each_node_gets_its_link(run: t.Callable[[], t.Dict[str, str]]) -> None:
    assert run() == MADE


def test_what_is_right_is_left_and_what_leads_elsewhere_is_mended(
    run: t.Callable[[], t.Dict[str, str]], tmp_path: pathlib.Path
) -> None:
    links = tmp_path / "char"
    links.mkdir()
    (links / "195:0").symlink_to(tmp_path / "nvidia0")  # another way to say it
    (links / "195:255").symlink_to("../gone")
    (links / "508:0").symlink_to("/dev/zero")  # a number that another module had before
    (links / "1:3").symlink_to("../null")
    assert run() == {**MADE, "195:0": str(tmp_path / "nvidia0"), "1:3": "../null"}


def test_it_says_nothing_and_fails_not_where_there_is_no_node(
    run: t.Callable[[], t.Dict[str, str]], tmp_path: pathlib.Path
) -> None:
    for name in NUMBERS:
        (tmp_path / name).unlink()
    assert run() == {}
