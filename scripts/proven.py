# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether tests that take too long for every change have passed on what they cover as it is now.

A run that passes writes a digest of all that it covers to its record, which is committed; where the digest is another
one, the tests are due.
"""

from __future__ import annotations

import dataclasses
import hashlib
import typing as t
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: How packages, kernel, initramfs and boot loader are changed, and what they are asked.
_PACKAGES = (
    "roles/bundle/**/*.yml",
    "roles/driver/tasks/install.yml",
    "roles/driver/vars/*.yml",
    "roles/golden/tasks/reboot.yml",
    "roles/kernel/**/*.yml",
    "roles/packages/**/*.yml",
    "playbooks/lock.yml",
    "plugins/filter/*.py",
    "plugins/modules/apt_sources.py",
    "plugins/modules/boot_default.py",
    "plugins/modules/initramfs.py",
    "plugins/modules/lock_resolve.py",
    "plugins/modules/package_set.py",
    "plugins/module_utils/apt_*.py",
    "plugins/module_utils/boot_default.py",
    "plugins/module_utils/initramfs.py",
    "plugins/module_utils/kept_packages.py",
    "plugins/module_utils/node_sources.py",
    "plugins/module_utils/package*.py",
    "plugins/module_utils/plan.py",
    "plugins/module_utils/system.py",
    "plugins/module_utils/parse/apt_*.py",
    "plugins/module_utils/parse/dkms*.py",
    "plugins/module_utils/parse/dpkg.py",
    "plugins/module_utils/parse/grub.py",
    "plugins/module_utils/parse/initramfs.py",
    "plugins/module_utils/parse/kept_packages.py",
    "plugins/module_utils/probe/boot_default.py",
    "plugins/module_utils/probe/initramfs.py",
    "plugins/module_utils/probe/kernel.py",
    "plugins/module_utils/probe/packages.py",
    "plugins/module_utils/probe/sources.py",
    "plugins/module_utils/probe/children/initramfs.py",
)

#: How Docker and the container toolkit are changed, and how a container proves its GPUs.
_ENGINES = (
    "roles/device_access/**/*.yml",
    "roles/docker/**/*.yml",
    "roles/toolkit/**/*.yml",
    *("plugins/modules/%s.py" % name for name in ("cdi_spec", "docker_daemon", "image_pull", "toolkit_config")),
    *(
        "plugins/module_utils/%s.py" % name
        for name in (
            *("access_settings", "backups", "cdi_*", "daemon_*", "docker*", "image_pull", "toml_*", "toolkit_*"),
            "trees",
        )
    ),
    *(
        "plugins/module_utils/checks/%s.py" % name
        for name in (
            *("container_runtime", "daemon_reload", "data_root", "denials", "dev_char", "image", "running"),
            *("policy", "requests", "seen_gpus", "start_errors", "toolkit", "which_daemon"),
        )
    ),
    *(
        "plugins/module_utils/parse/%s.py" % name
        for name in ("cdi", "container*", "device_answers", "docker_*", "mountinfo", "running_*", "toolkit_config")
    ),
    *(
        "plugins/module_utils/probe/%s.py" % name
        for name in ("container*", "docker*", "reload", "requests", "running", "security", "toolkit")
    ),
    "tests/testbed/vendor/files/toolkit/**/*.py",
)


@dataclasses.dataclass(frozen=True)
class Record:
    """``path`` holds the digest, below the root. ``covered``: patterns of what the tests go through."""

    path: str
    covered: t.Tuple[str, ...]

    def files(self, root: Path = ROOT) -> t.List[Path]:
        """Every covered file.

        :raises RuntimeError: when a pattern finds none: it names something that has moved
        """
        found = set()
        for pattern in self.covered:
            matching = [path for path in root.glob(pattern) if path.is_file()]
            if not matching:
                raise RuntimeError("scripts/proven.py covers %s, and there is no such file" % pattern)
            found.update(matching)
        return sorted(found)

    def digest(self, root: Path = ROOT) -> str:
        total = hashlib.sha256()
        for path in self.files(root):
            total.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
        return "sha256:" + total.hexdigest()

    def is_proven(self, root: Path = ROOT) -> bool:
        record = root / self.path
        return record.exists() and self.digest(root) in record.read_text().split()

    def write(self, words: str, root: Path = ROOT) -> None:
        """:arg words: what is to be remembered of the run that passed, in one line"""
        text = "# Written by a run that passed whole, for the files that scripts/proven.py names.\n# %s\n%s\n"
        (root / self.path).write_text(text % (words, self.digest(root)))


#: What drives which GPU, and what a node starts with.
_BOOT = (
    "roles/driver/**/*.yml",
    "roles/golden/tasks/*.yml",
    "roles/kernel/**/*.yml",
    *(
        "plugins/module_utils/%s.py" % name
        for name in ("boot_default", "compat", "driver_reload", "generations", "initramfs", "verdict")
    ),
    *(
        "plugins/module_utils/checks/%s.py" % name
        for name in (
            "blockers",
            "boot",
            "flavour",
            "hardware",
            "module",
            "not_loaded",
            "refusal_reasons",
            "secure_boot",
        )
    ),
    *("plugins/module_utils/probe/%s.py" % name for name in ("boot_default", "driver", "kernel", "secure_boot")),
)

#: Real packages and a real boot (make test-real).
REAL = Record("tests/real/proven.txt", (*_PACKAGES, "tests/real/**/*.py", "tests/real/**/*.yml", "tests/real/node/*"))

#: Package managers that fail, wait and are interrupted, on simulated nodes (make test-packages).
PACKAGES = Record(
    "tests/pool/proven-packages.txt",
    (*_PACKAGES, "tests/pool/test_packages.py", "tests/pool/test_ubuntu.py"),
)

#: Real engines, the toolkit and the containers of users, on simulated nodes (make test-engines).
ENGINES = Record(
    "tests/pool/proven-engines.txt",
    (*_ENGINES, *("tests/pool/test_%s.py" % name for name in ("container", "containers", "docker", "mig"))),
)

#: Which kernel and which driver a node starts with, and whose GPUs are left alone (make test-boot).
BOOT = Record("tests/pool/proven-boot.txt", (*_BOOT, "tests/pool/test_boot.py", "tests/pool/test_refusals.py"))

#: The page of a pool in a real browser (make test-browser).
BROWSER = Record(
    "tests/browser/proven.txt",
    (
        "playbooks/templates/report.*",
        *("plugins/plugin_utils/%s.py" % name for name in ("page", "page_view", "results")),
        "tests/browser/*.py",
        "tests/unit/reports.py",
    ),
)

#: Each fault named first, on nodes and from captures (make test-diagnosis): all that is read, judged and told.
DIAGNOSIS = Record(
    "tests/pool/proven-diagnosis.txt",
    (
        "playbooks/diagnose.yml",
        "playbooks/report.yml",
        *("plugins/action/%s.py" % name for name in ("diagnose", "report")),
        "plugins/modules/node_verify.py",
        "plugins/module_utils/checks/*.py",
        "plugins/module_utils/parse/*.py",
        "plugins/module_utils/probe/**/*.py",
        *(
            "plugins/module_utils/%s.py" % name
            for name in ("behind", "chain", "compare", "diagnosis*", "inferred*", "mask*", "verdict", "waivers")
        ),
        *("plugins/plugin_utils/%s.py" % name for name in ("captures", "pool", "results*")),
        "tests/pool/test_diagnose.py",
        "tests/testbed/fakes/*.[ch]",
    ),
)

#: A pool from bundle to bundle, and back (make test-rollout).
ROLLOUT = Record(
    "tests/pool/proven-rollout.txt",
    (
        "playbooks/rollback.yml",
        "playbooks/rollout.yml",
        "playbooks/tasks/**/*.yml",
        "roles/golden/tasks/*.yml",
        "roles/rollout/**/*.yml",
        "plugins/action/rollout.py",
        *("plugins/modules/%s.py" % name for name in ("docker_drain", "golden_mark", "gpu_idle", "rollout_node")),
        *("plugins/module_utils/%s.py" % name for name in ("drained", "gpu_idle", "mark", "rollout*", "waves")),
        "plugins/plugin_utils/rollout_pool.py",
        "tests/pool/test_rollout.py",
    ),
)
