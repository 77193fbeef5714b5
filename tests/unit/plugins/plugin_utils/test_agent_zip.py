# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The agent is the same bytes on every controller, starts, and is made of the locked nvidia-ml-py alone."""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
import os
import subprocess
import sys
import zipfile

import pytest

from ansible_collections.goldennode.gpu.plugins.plugin_utils import agent_zip


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An nvidia-ml-py that is installed, and a module_utils of three files."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "pynvml.py").write_text("VERSION = 1\n")
    tree = tmp_path / "module_utils"
    (tree / "checks").mkdir(parents=True)
    (tree / "__init__.py").touch()
    (tree / "checks" / "__init__.py").touch()
    (tree / "zip_once.py").write_bytes((agent_zip.MODULE_UTILS / "zip_once.py").read_bytes())
    (tree / "agent.py").write_text(
        "import sys\n\n\ndef main():\n    import pynvml\n    print(pynvml.VERSION, sys.argv[1:])\n    return 3\n"
    )
    (tree / "notes.txt").write_text("not python")

    class Distribution:
        version = "13.615.71"

        def locate_file(self, name):
            return tmp_path / "site" / name

    monkeypatch.setattr(importlib.metadata, "distribution", lambda _name: Distribution())
    monkeypatch.setattr(agent_zip, "MODULE_UTILS", tree)
    return tmp_path


def build(package):
    return agent_zip.build("13.615.71", package / "cache")


def test_the_agent_is_named_by_its_digest_and_starts(package):
    digest, path = build(package)
    assert path.name == "agent-%s.pyz" % digest
    assert hashlib.sha256(path.read_bytes()).hexdigest() == digest
    done = subprocess.run([sys.executable, str(path), "verify", "--boot"], capture_output=True, text=True, check=False)
    assert done.stdout == "1 ['verify', '--boot']\n"
    assert done.returncode == 3


def test_nothing_in_it_depends_on_time_user_or_zlib(package):
    first, path = build(package)
    for file in package.rglob("*.py"):
        os.utime(file, (1, 1))
        file.chmod(0o600)
    assert build(package)[0] == first
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
    assert [member.filename for member in members] == [
        "__main__.py",
        "goldennode/__init__.py",
        "goldennode/agent.py",
        "goldennode/checks/__init__.py",
        "goldennode/zip_once.py",
        "pynvml.py",
    ]
    assert {member.compress_type for member in members} == {zipfile.ZIP_STORED}
    assert {member.date_time for member in members} == {(1980, 1, 1, 0, 0, 0)}
    assert {member.external_attr >> 16 for member in members} == {0o644}


@pytest.mark.parametrize("file", ["module_utils/agent.py", "module_utils/checks/__init__.py", "site/pynvml.py"])
def test_the_digest_follows_every_file(package, file):
    before = build(package)[0]
    with open(package / file, "a", encoding="utf-8") as stream:
        stream.write("# more\n")
    assert build(package)[0] != before


def test_an_agent_that_was_damaged_is_made_again_and_a_sound_one_is_kept(package):
    _digest, path = build(package)
    sound = path.read_bytes()
    os.utime(path, (1, 1))
    assert build(package)[1].stat().st_mtime == 1
    path.write_bytes(b"half")
    assert build(package)[1].read_bytes() == sound
    assert [file.name for file in path.parent.iterdir()] == [path.name], "a temporary file was left"


def test_another_version_of_nvidia_ml_py_is_refused(package):
    with pytest.raises(agent_zip.AgentError) as caught:
        agent_zip.build("13.580.65", package / "cache")
    said = str(caught.value)
    assert "nvidia-ml-py: '13.580.65' is in the lock, and the controller has 13.615.71" in said
    assert "pip install nvidia-ml-py==13.580.65" in said


def test_a_controller_without_nvidia_ml_py_is_told(package, monkeypatch):
    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", missing)
    with pytest.raises(agent_zip.AgentError, match="is not installed on the controller"):
        build(package)


def test_an_installation_without_its_file_is_told(package):
    (package / "site" / "pynvml.py").unlink()
    with pytest.raises(agent_zip.AgentError, match="without its pynvml.py"):
        build(package)


def test_a_cache_that_cannot_be_written_is_told(package):
    (package / "cache").write_text("a file")
    with pytest.raises(agent_zip.AgentError, match="cannot be written: .*XDG_CACHE_HOME"):
        build(package)


@pytest.mark.parametrize("variable", [True, False])
def test_the_cache_is_the_users(package, monkeypatch, variable):
    monkeypatch.setenv("HOME", str(package))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    if variable:
        monkeypatch.setenv("XDG_CACHE_HOME", str(package / "xdg"))
    _digest, path = agent_zip.build("13.615.71")
    assert path.parent == package / ("xdg" if variable else ".cache") / "goldennode"


def test_the_real_tree_packs_without_ansible():
    """Everything that a node's agent imports must be in the zip; ansible is not on the node."""
    with zipfile.ZipFile(io.BytesIO(agent_zip.pack(agent_zip.MODULE_UTILS, b""))) as archive:
        for name in archive.namelist():
            source = archive.read(name).decode()
            assert "import ansible" not in source, name
            assert "from ansible" not in source, name
        assert "goldennode/model.py" in archive.namelist()
