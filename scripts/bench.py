#!/usr/bin/env python3
# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run of site.yml costs on nodes that are golden already, next to a play that only gathers facts.

Both run in turn on the same nodes, so that the ratio means something on any machine. Local facts are left out of the
other play: on golden nodes they would run our own agent.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import typing as t
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GOAL = 1.2

FACTS_ONLY = """
- name: Gather facts and do nothing else
  hosts: gpu_nodes
  gather_facts: true
  fact_path: /nonexistent
"""


def main(argv: t.Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--inventory", required=True, help="inventory of golden nodes")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each play (default: %(default)s)")
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        facts_only = Path(folder) / "facts.yml"
        facts_only.write_text(FACTS_ONLY)
        plays = {"facts only": facts_only, "site.yml": ROOT / "playbooks" / "site.yml"}
        for play in plays.values():
            changed, _seconds = run(play, arguments.inventory)
        if changed:
            print("the nodes were not golden: the last run has changed them; run again", file=sys.stderr)
            return 1
        seconds: t.Dict[str, t.List[float]] = {name: [] for name in plays}
        for _round in range(arguments.rounds):
            for name, play in plays.items():
                seconds[name].append(run(play, arguments.inventory)[1])
    for name, all_runs in seconds.items():
        print("%-12s %6.2f s  (%s)" % (name, statistics.median(all_runs), " ".join("%.2f" % s for s in all_runs)))
    ratio = statistics.median(seconds["site.yml"]) / statistics.median(seconds["facts only"])
    print("ratio        %6.2f    (goal: at most %.1f)" % (ratio, GOAL))
    return 0


def run(play: Path, inventory: str) -> t.Tuple[bool, float]:
    """Whether the run has changed something, and how long it took."""
    command = [str(ROOT / ".venv" / "bin" / "ansible-playbook"), str(play), "--inventory", inventory]
    environment = {**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"}
    start = time.monotonic()
    done = subprocess.run(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    seconds = time.monotonic() - start
    if done.returncode != 0:
        sys.exit("%s ended with %d:\n%s%s" % (play.name, done.returncode, done.stdout, done.stderr))
    return re.search(r"changed=[1-9]", done.stdout) is not None, seconds


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
