# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the agent: module_utils and the locked pynvml.py in one zip that Python runs, the same bytes everywhere.

Controller only. The digest of the zip is part of the desired digest, so nothing in it may depend on the time, the user
or the zlib of the machine: names are sorted, dates fixed, nothing is compressed.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
import os
import pathlib
import typing as t
import zipfile

from ansible_collections.goldennode.gpu.plugins.module_utils.bundle import MISSING, Problem
from ansible_collections.goldennode.gpu.plugins.plugin_utils import whole_file

MODULE_UTILS = pathlib.Path(__file__).resolve().parent.parent / "module_utils"

_MAIN = b"""import sys

from goldennode import zip_once

zip_once.install()

from goldennode.agent import main

sys.exit(main())
"""
_EPOCH = (1980, 1, 1, 0, 0, 0)


class AgentError(ValueError):
    """The controller cannot build the agent."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(str(problem))


def build(nvidia_ml_py: str, cache: t.Optional[pathlib.Path] = None) -> t.Tuple[str, pathlib.Path]:
    """Digest (hex) and path of the agent with this version of nvidia-ml-py.

    :arg nvidia_ml_py: the version that the lock wants
    :arg cache: where the zip is kept; by default in the user's cache directory
    :raises AgentError: when the controller has not that version, or cannot write
    """
    content = pack(MODULE_UTILS, pynvml(nvidia_ml_py).read_bytes())
    digest = hashlib.sha256(content).hexdigest()
    path = (cache or _cache_directory()) / ("agent-%s.pyz" % digest)
    try:
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            whole_file.write(path, content)
    except OSError as error:
        fix = "Make it writable, or set XDG_CACHE_HOME to a directory that is"
        raise AgentError(Problem(str(path), MISSING, "cannot be written: %s" % error.strerror, fix)) from error
    return digest, path


def installed() -> str:
    """The version of nvidia-ml-py that is installed beside Ansible.

    :raises AgentError: when there is none
    """
    try:
        return importlib.metadata.version("nvidia-ml-py")
    except importlib.metadata.PackageNotFoundError as error:
        fix = "Install it where ansible-playbook runs: pip install nvidia-ml-py"
        raise AgentError(Problem("nvidia-ml-py", MISSING, "is not installed on the controller", fix)) from error


def pynvml(wanted: str) -> pathlib.Path:
    """The file pynvml.py of the nvidia-ml-py that is installed beside Ansible, when it is the wanted version."""
    fix = "Install it where ansible-playbook runs: pip install nvidia-ml-py==%s" % wanted
    try:
        found = importlib.metadata.distribution("nvidia-ml-py")
    except importlib.metadata.PackageNotFoundError as error:
        raise AgentError(Problem("nvidia-ml-py", wanted, "is not installed on the controller", fix)) from error
    if found.version != wanted:
        message = "is in the lock, and the controller has %s" % found.version
        raise AgentError(
            Problem("nvidia-ml-py", wanted, message, fix + ", or change python.nvidia_ml_py in the bundle")
        )
    path = pathlib.Path(str(found.locate_file("pynvml.py")))
    if not path.is_file():
        raise AgentError(Problem("nvidia-ml-py", wanted, "is installed on the controller without its pynvml.py", fix))
    return path


def pack(module_utils: pathlib.Path, pynvml_py: bytes) -> bytes:
    """The bytes of the zip: ``goldennode/``, ``pynvml.py`` and what starts it."""
    members = {
        "goldennode/" + path.relative_to(module_utils).as_posix(): path.read_bytes()
        for path in module_utils.rglob("*.py")
    }
    members.update({"pynvml.py": pynvml_py, "__main__.py": _MAIN})
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(members):
            info = zipfile.ZipInfo(name, _EPOCH)
            info.create_system = 3
            info.external_attr = 0o644 << 16
            archive.writestr(info, members[name])
    return buffer.getvalue()


def _cache_directory() -> pathlib.Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (pathlib.Path(base) if base else pathlib.Path.home() / ".cache") / "goldennode"
