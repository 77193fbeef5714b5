# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the files around the collection must agree on."""

from __future__ import annotations

import ast
import configparser
import importlib.util
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

import pytest
import yaml

from ansible_collections.goldennode.gpu.plugins.module_utils import node_sources

ROOT = pathlib.Path(__file__).resolve().parents[2]


def configuration(path):
    parser = configparser.ConfigParser(interpolation=None)
    assert parser.read(ROOT / path)
    return {section: dict(parser[section]) for section in parser.sections()}


def test_playbooks_run_with_the_same_settings_from_inside_their_folder():
    outside, inside = configuration("ansible.cfg"), configuration("playbooks/ansible.cfg")
    assert outside["defaults"].pop("collections_path") == "collections"
    assert inside["defaults"].pop("collections_path") == "../collections"
    assert inside == outside


def test_make_help_knows_every_target():
    text = (ROOT / "Makefile").read_text()
    phony = re.findall(r"^\.PHONY: (\S+)$", text, re.MULTILINE)
    explained = re.findall(r"^([a-z-]+):.*?## \S", text, re.MULTILINE)
    assert "pool" in phony
    assert phony == explained


def test_both_locked_lists_are_of_the_same_tools_and_pin_exactly():
    names = []
    for path in ("requirements/py311.txt", "requirements/py312plus.txt"):
        pins = [line for line in (ROOT / path).read_text().splitlines() if not line.startswith("#")]
        assert all(re.fullmatch(r"[A-Za-z0-9_.-]+==[0-9][A-Za-z0-9.]*", pin) for pin in pins)
        names.append({pin.partition("==")[0] for pin in pins})
    direct = re.findall(r"^([A-Za-z0-9-]+)", (ROOT / "requirements/direct.txt").read_text(), re.MULTILINE)
    for locked in names:
        assert set(direct) <= locked


def test_every_role_and_the_readme_name_the_platforms_whose_sources_are_known():
    """Galaxy knows releases by codename; the README has their numbers."""
    names = {"debian": "Debian", "ubuntu": "Ubuntu"}
    codenames, numbers = {}, {}
    for platform, codename in node_sources.CODENAMES.items():
        distribution, number = platform.split("-", 1)
        codenames.setdefault(names[distribution], []).append(codename)
        numbers.setdefault(names[distribution], []).append(number)
    for path in (ROOT / "roles").glob("*/meta/main.yml"):
        platforms = yaml.safe_load(path.read_text(encoding="utf-8"))["galaxy_info"]["platforms"]
        assert {one["name"]: one["versions"] for one in platforms} == codenames, path
    said = ", ".join("%s %s" % (name, "/".join(of)) for name, of in numbers.items())
    assert "This release does apt platforms (%s)." % said in (ROOT / "README.md").read_text(encoding="utf-8")


def test_only_the_product_is_published(tmp_path):
    """Also from a tree in which people work: what tools leave behind, at any depth, stays out."""
    tree = tmp_path / "tree"
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".*", "collections", "output", "__pycache__"))
    left_behind = (".venv/x", "plugins/module_utils/.mypy_cache/x", "collections/x", "goldennode-gpu-0.0.1.tar.gz")
    for left in left_behind:
        (tree / left).parent.mkdir(parents=True, exist_ok=True)
        (tree / left).touch()
    built = subprocess.run(
        [sys.executable, "-m", "ansible.cli.galaxy", "collection", "build", "--output-path", str(tmp_path)],
        check=False,
        cwd=tree,
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
    (path,) = tmp_path.glob("goldennode-gpu-*.tar.gz")
    with tarfile.open(path) as archive:
        names = archive.getnames()
    made = {"MANIFEST.json", "FILES.json"}
    assert {name.partition("/")[0] for name in names} - made == {
        *("CHANGELOG.rst", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "LICENSE", "README.md"),
        *("bundles", "changelogs", "docs", "meta", "playbooks", "plugins", "roles"),
    }
    assert [name for name in names if "/." in name] == []


@pytest.fixture
def runner(monkeypatch):
    spec = importlib.util.spec_from_file_location("run_tests", ROOT / "scripts" / "run_tests.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "run_tests", module)  # dataclasses look their module up
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("status", "counts", "passed", "failed", "remark"),
    [
        pytest.param(0, None, 1, 0, "", id="a tool that is content"),
        pytest.param(2, None, 0, 1, "exit status 2", id="a tool that is not"),
        pytest.param(0, (5, 0, 1), 5, 0, "", id="all tests passed"),
        pytest.param(1, (5, 2, 0), 5, 2, "exit status 1", id="two failed"),
        pytest.param(3, (5, 0, 0), 5, 1, "exit status 3", id="broken off without a failed test"),
        pytest.param(0, (0, 0, 0), 0, 1, "no test was run", id="nothing ran"),
        pytest.param(0, (0, 0, 9), 0, 1, "no test was run", id="all were skipped"),
        pytest.param(0, (5, 1, 0), 5, 1, "", id="a failed test counts whatever the exit status says"),
        pytest.param(None, (5, 0, 0), 5, 1, "ended after its limit of 600 s", id="hung"),
    ],
)
def test_how_a_part_counts(runner, status, counts, passed, failed, remark):
    result = runner.judge(runner.Part("x", ("x",)), status, counts, 1.0)
    assert (result.passed, result.failed, result.remark) == (passed, failed, remark)


def test_the_closing_line(runner):
    part = runner.Part("x", ("x",))
    results = [runner.Result(part, 3, 0, 0, 1.0), runner.Result(part, 4, 1, 2, 1.0)]
    assert runner.summary(results).splitlines()[-1] == "7 passed, 1 failed, 2 skipped"
    assert runner.summary(results[:1]).splitlines()[-1] == "3 passed, 0 failed"


@pytest.mark.parametrize(
    "proven", [[], ["packages"], ["engines", "real"], ["boot", "browser", "diagnosis", "engines", "packages", "real"]]
)
def test_ci_runs_what_is_not_proven(runner, monkeypatch, proven):
    ran = []
    monkeypatch.setattr(runner, "run", lambda part: ran.append(part.name) or runner.Result(part, 1, 0, 0, 1.0))
    monkeypatch.setattr(runner.proven.Record, "write", lambda record, words: None)
    paths = [runner.GROUPS[group][0].record.path for group in proven]
    monkeypatch.setattr(runner.proven.Record, "is_proven", lambda record: record.path in paths)
    assert runner.main(["--ci", "lint"]) == 0
    assert [name for name in ran if name in runner.RECORDED] == [name for name in runner.RECORDED if name not in proven]
    ran.clear()
    assert runner.main([]) == 0
    assert not set(ran) & set(runner.RECORDED)


@pytest.mark.parametrize("group", ["boot", "browser", "diagnosis", "engines", "packages", "real"])
@pytest.mark.parametrize(("failed", "skipped", "recorded"), [(0, 0, True), (1, 0, False), (0, 1, False)])
def test_only_a_run_that_passed_whole_is_remembered(runner, monkeypatch, group, failed, skipped, recorded):
    written = []
    monkeypatch.setattr(runner, "run", lambda part: runner.Result(part, 5, failed, skipped, 700.0))
    monkeypatch.setattr(runner.proven.Record, "is_proven", lambda record: False)
    monkeypatch.setattr(runner.proven.Record, "write", lambda record, words: written.append(record.path))
    runner.main([group])
    assert written == ([runner.GROUPS[group][0].record.path] if recorded else [])


@pytest.mark.parametrize(
    ("name", "role"), [("BOOT", "driver"), ("ENGINES", "docker"), ("PACKAGES", "kernel"), ("REAL", "kernel")]
)
def test_what_is_proven_is_the_content_of_every_covered_file(runner, tmp_path, name, role):
    record = getattr(runner.proven, name)
    for path in record.files():
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    assert not record.is_proven(tmp_path)
    record.write("5 tests passed", tmp_path)
    assert record.is_proven(tmp_path)
    with (tmp_path / "roles" / role / "tasks" / "main.yml").open("a") as file:
        file.write("\n")
    assert not record.is_proven(tmp_path)
    shutil.rmtree(tmp_path / "roles" / role)
    with pytest.raises(RuntimeError, match="roles/" + role):
        record.is_proven(tmp_path)


def _constants(path, *names):
    """Lists of text that a module of the tests defines, without running it: it needs a node."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = {node.targets[0].id: node.value for node in tree.body if isinstance(node, ast.Assign)}
    return [word for name in names for word in ast.literal_eval(found[name])]


def test_a_run_is_killed_at_tasks_that_there_are():
    """A task that is called otherwise now would never be announced."""
    tasks = [path for top in ("roles", "playbooks") for path in (ROOT / top).rglob("*.yml")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in tasks)
    boundaries = _constants(ROOT / "tests" / "pool" / "test_killed.py", "BOUNDARIES", "MORE_BOUNDARIES")
    assert boundaries
    for name in boundaries:
        plain, colon, _variable = name.partition(": ")
        assert re.search(r"- name: \"?%s" % re.escape(plain + colon), text), name


def test_the_browser_is_due_when_the_page_has_changed(runner, tmp_path):
    record = runner.proven.BROWSER
    for path in record.files():
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    record.write("5 tests passed", tmp_path)
    for name in ("playbooks/templates/report.css", "plugins/plugin_utils/page.py", "tests/browser/test_in_browser.py"):
        content = (tmp_path / name).read_bytes()
        assert record.is_proven(tmp_path)
        (tmp_path / name).write_bytes(content + b"\n")
        assert not record.is_proven(tmp_path)
        (tmp_path / name).write_bytes(content)
