# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines between the rooms of the house: what is pure stays pure, and what goes to a node works there."""

from __future__ import annotations

import ast
import pathlib
import typing as t

import pytest

PLUGINS = pathlib.Path(__file__).parents[2] / "plugins"
MODULE_UTILS = PLUGINS / "module_utils"
EVERY_FILE = sorted(MODULE_UTILS.rglob("*.py"))

#: All else is pure, also a file that is new.
NOT_PURE = (
    "probe",
    "agent.py",
    "apt_root.py",
    "apt_sources.py",
    "backups.py",
    "boot_default.py",
    "cdi_refresh.py",
    "docker_config.py",
    "docker_refusals.py",
    "docker_state.py",
    "drain.py",
    "driver_reload.py",
    "gpu_idle.py",
    "gpu_users.py",
    "initramfs.py",
    "kept_packages.py",
    "lock_available.py",
    "mapped_nodes.py",
    "mark.py",
    "package_apt.py",
    "package_dkms.py",
    "package_halfway.py",
    "package_manager.py",
    "package_set.py",
    "package_told.py",
    "rollout_state.py",
    "system.py",
    "toolkit_config.py",
)

#: Modules of Python through which a machine could be asked.
IMPURE = {"asyncio", "ctypes", "glob", "http", "os", "pathlib", "shutil", "signal", "socket", "subprocess", "tempfile"}


def imports(path: pathlib.Path) -> t.Iterator[t.Tuple[int, str]]:
    """Level (0 is absolute) and name of every import, inside functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield 0, alias.name
        elif isinstance(node, ast.ImportFrom):
            yield node.level, node.module or ""


def pure_files() -> t.List[pathlib.Path]:
    for name in NOT_PURE:
        assert (MODULE_UTILS / name).exists(), "%s is gone: take it out of the list" % name
    return [path for path in EVERY_FILE if path.relative_to(MODULE_UTILS).parts[0] not in NOT_PURE]


def name_of(path: pathlib.Path) -> str:
    return str(path.relative_to(PLUGINS))


@pytest.mark.parametrize("path", pure_files(), ids=name_of)
def test_pure_code_can_ask_no_machine(path):
    tops = {name.partition(".")[0] for level, name in imports(path) if level == 0}
    assert not tops & IMPURE


@pytest.mark.parametrize("path", pure_files(), ids=name_of)
def test_pure_code_leans_on_pure_code_only(path):
    pure = set(pure_files())
    for level, name in imports(path):
        if level == 0:
            continue
        base = path.parents[level - 1].joinpath(*name.split(".")) if name else path.parents[level - 1]
        target = base.with_suffix(".py") if base.with_suffix(".py").exists() else base / "__init__.py"
        assert target in pure or target == MODULE_UTILS / "__init__.py", "%s imports %s" % (name_of(path), name)


@pytest.mark.parametrize("path", EVERY_FILE, ids=name_of)
def test_module_utils_are_the_agent_too(path):
    """Packed under another name and run without Ansible: every import of our own is relative."""
    tops = {name.partition(".")[0] for level, name in imports(path) if level == 0}
    assert not tops & {"ansible", "ansible_collections", "goldennode"}


@pytest.mark.parametrize("path", EVERY_FILE + sorted((PLUGINS / "modules").glob("*.py")), ids=name_of)
def test_code_for_nodes_is_python_3_9(path):
    ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))
