# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lock that somebody hands in is read whole, or refused with the one reason."""

from __future__ import annotations

import copy
import json
import os
import pathlib
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.plugin_utils import lock_file
from ansible_collections.goldennode.gpu.tests.unit.plugins.module_utils.test_lock import made, sealed

FIX = " Name a file NAME.PLATFORM.lock.json as it stands beside its bundle; an older one is in version control."


def refused(path: pathlib.Path) -> str:
    with pytest.raises(lock_file.LockFileError) as caught:
        lock_file.read(path)
    return str(caught.value)


def broken(axis: str, value: t.Any) -> t.Dict[str, t.Any]:
    return dict(made(), **{axis: value})


def in_source(**fields: t.Any) -> t.Dict[str, t.Any]:
    lock = copy.deepcopy(made())
    lock["sources"][0].update(fields)
    return lock


def test_a_lock_is_read_as_it_is(tmp_path: pathlib.Path) -> None:
    (tmp_path / "x").write_text("\ufeff" + json.dumps(made()), encoding="utf-8")
    assert lock_file.read(tmp_path / "x") == made()
    assert lock_file.remarks(made(), "x") == []


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "is not JSON: Expecting value: line 1 column 1 (char 0)." + FIX),
        (b"bundle: x\n", "is not JSON: Expecting value: line 1 column 1 (char 0)." + FIX),
        (b"\xff\xfe{\x00}\x00", "is not UTF-8: byte 0 cannot be read. Save it as UTF-8; a shell that writes UTF-16"),
        (b"[" * 100000, "is no lock: it is nested too deep." + FIX),
        (b"[]", "is no lock: it holds no JSON object." + FIX),
        (b"{}", "is no lock: it has schema null, and this version of the collection reads 1." + FIX),
        (b'{"schema": true}', "is no lock: it has schema true, and"),
        (b'{"schema": 1}', "is no lock: it lacks id, bundle, bundle_digest, platform,"),
        (b" " * (1 << 20) + b" ", "is no lock: it has more than 1 MiB." + FIX),
    ],
)
def test_a_file_that_holds_no_lock_is_one_clear_error(tmp_path: pathlib.Path, raw: bytes, said: str) -> None:
    (tmp_path / "x").write_bytes(raw)
    assert refused(tmp_path / "x").startswith("%s %s" % (tmp_path / "x", said))


@pytest.mark.parametrize(
    ("lock", "said"),
    [
        (broken("platform", 1), "platform: text is expected, not 1"),
        (broken("driver", None), "driver: an object is expected, not null"),
        (broken("image", "x"), 'image: an object is expected, not "x"'),
        (broken("kernel", {"release": "6"}), "kernel.packages: an object is expected, not null"),
        (broken("toolkit", {"packages": {"a": 1}}), "toolkit.packages.a: text is expected, not 1"),
        (broken("sources", {}), "sources: a list is expected, not {}"),
        (broken("sources", [1]), "sources[0]: a source with a name is expected, not 1"),
        (in_source(uris=None), "sources[0].uris: a list of text is expected, not null"),
        (in_source(suites=[1]), "sources[0].suites: a list of text is expected, not [1]"),
        (broken("docker", {"version": "9" * 5000, "packages": {}}), "docker.version has 5000 characters"),
        (broken("python", {"x" * 5000: 1}), "python has a name of 5000 characters"),
    ],
)
def test_what_is_not_where_it_should_be_is_named(lock: t.Any, said: str) -> None:
    assert lock_file.misshapen(lock) == said
    assert lock_file.misshapen(made()) == ""
    assert lock_file.misshapen(broken("fabric_manager", None)) == ""


def test_files_that_cannot_be_read(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert refused(tmp_path / "x") == "%s is not there.%s" % (tmp_path / "x", FIX)
    assert refused(tmp_path) == "%s is no file.%s" % (tmp_path, FIX)
    os.mkfifo(tmp_path / "pipe")
    assert refused(tmp_path / "pipe") == "%s is no file.%s" % (tmp_path / "pipe", FIX)
    assert "cannot be read: " in refused(tmp_path / ("x" * 300))
    (tmp_path / "closed").write_text("{}")

    def denied(*_arguments: t.Any, **_named: t.Any) -> t.Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(pathlib.Path, "open", denied)
    said = "%s cannot be read: Permission denied. Check the path and the permissions."
    assert refused(tmp_path / "closed") == said % (tmp_path / "closed")


def test_locks_of_two_platforms_are_not_compared(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a").write_text(json.dumps(made()))
    (tmp_path / "b").write_text(json.dumps(sealed(platform="debian-12-x86_64")))
    with pytest.raises(lock_file.LockFileError) as caught:
        lock_file.pair(tmp_path / "a", tmp_path / "b")
    assert str(caught.value) == (
        "%s is of debian-13-x86_64, and %s is of debian-12-x86_64. Compare two locks of the same platform."
        % (tmp_path / "a", tmp_path / "b")
    )


def test_one_that_was_changed_by_hand_is_compared_and_said(tmp_path: pathlib.Path) -> None:
    assert lock_file.remarks(broken("bundle", "x"), "b.json") == [
        "b.json was changed by hand: its id is not the digest of its content, and a run refuses it."
    ]
