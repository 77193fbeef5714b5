# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import zipfile
import zipimport

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import zip_once

MODULES = {"house/__init__.py": "", "house/rooms/__init__.py": "", "house/rooms/kitchen.py": "import house.door\n"}

#: Says how often each file of the zip was compiled, and what the modules think that their files are.
COUNT = """
import json, sys
compiled = []
sys.addaudithook(lambda event, about: compiled.append(str(about[1])) if event == "compile" else None)
sys.path.insert(0, sys.argv[1])
from house import zip_once
done = zip_once.install() if sys.argv[2] == "once" else None
import house.rooms.kitchen
from house.rooms import kitchen
files = {name: module.__file__ for name, module in sys.modules.items() if name.startswith("house")}
source = kitchen.__loader__.get_source("house.rooms.kitchen")
try:
    import house.cellar
except ImportError as error:
    missing = str(error)
print(json.dumps({"compiled": compiled, "done": done, "files": files, "source": source, "missing": missing}))
"""


@pytest.fixture
def archive(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "code.zip"
    with zipfile.ZipFile(path, "w") as file:
        for name, text in {**MODULES, "house/door.py": ""}.items():
            file.writestr(name, text)
        file.writestr("house/zip_once.py", pathlib.Path(zip_once.__file__).read_bytes())
    return path


def count(path: pathlib.Path, how: str) -> dict:
    argv = [sys.executable, "-I", "-B", "-c", COUNT, str(path), how]
    return json.loads(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)


def test_what_is_imported_afterwards_is_compiled_once(archive):
    said = count(archive, "once")
    assert said["done"] is True
    for name in ("house/door.py", "house/rooms/__init__.py", "house/rooms/kitchen.py"):
        assert said["compiled"].count("%s/%s" % (archive, name)) == 1


def test_nothing_but_that_is_changed(archive):
    once, twice = count(archive, "once"), count(archive, "as ever")
    for what in ("files", "source", "missing"):
        assert once[what] == twice[what]
    assert once["files"]["house.rooms"] == "%s/house/rooms/__init__.py" % archive
    assert once["missing"] == "No module named 'house.cellar'"


def test_code_in_a_directory_is_left_alone(archive):
    hooks = list(sys.path_hooks)
    assert zip_once.install() is False
    assert sys.path_hooks == hooks


def test_other_zips_are_left_alone(archive, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "path_hooks", [])
    monkeypatch.setattr(sys, "path_importer_cache", {str(archive): "old", "%s/house" % archive: "old", "/else": "kept"})
    assert zip_once.install(zipimport.zipimporter(str(archive))) is True
    assert sys.path_importer_cache == {"/else": "kept"}
    with pytest.raises(ImportError, match="other.zip is not in "):
        sys.path_hooks[0](str(tmp_path / "other.zip"))
    assert isinstance(sys.path_hooks[0](str(archive)), zip_once.Once)
