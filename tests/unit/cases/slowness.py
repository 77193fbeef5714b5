# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files that say what a node waits for, of a machine on which nothing waits: 8 CPUs, one NUMA node, 64 GiB."""

from __future__ import annotations

import typing as t

CPU_TIMES = "cpu  95584 30357 63854 9660075 1781 0 778 0 0 0\n"


def stall(some: float = 0.0, full: float = 0.0) -> str:
    """A file of /proc/pressure: the same average over ten seconds, one minute and five."""
    words = ("%s avg10=%.2f avg60=%.2f avg300=%.2f total=1234\n" % (name, one, one, one)
             for name, one in (("some", some), ("full", full)))  # fmt: skip
    return "".join(words)


FILES: t.Dict[str, str] = {
    **{"/proc/pressure/" + name: stall() for name in ("cpu", "memory", "io")},
    "/proc/loadavg": "1.00 1.00 1.00 1/234 5678\n",
    "/proc/meminfo": "MemTotal: 67108864 kB\nMemAvailable: 50331648 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n",
    "/proc/vmstat": "pswpin 0\n",
    "/proc/sys/vm/swappiness": "60\n",
    "/sys/devices/system/cpu/online": "0-7\n",
    "/sys/devices/system/cpu/isolated": "\n",
    "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor": "performance\n",
    "/sys/devices/system/cpu/cpufreq/policy0/scaling_driver": "intel_pstate\n",
    "/sys/devices/system/node/node0/cpulist": "0-7\n",
    "/sys/fs/cgroup/cgroup.controllers": "cpuset cpu io memory pids\n",
    "/usr/lib/systemd/system/user@.service": "[Service]\nDelegate=pids memory cpu\n",
}
