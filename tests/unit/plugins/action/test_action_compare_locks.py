# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two files in, one table and plain data out, with no host."""

from __future__ import annotations

import json
import pathlib
import typing as t

import pytest
from ansible.errors import AnsibleActionFail

from ansible_collections.goldennode.gpu.plugins.action import compare_locks as action
from ansible_collections.goldennode.gpu.tests.unit import actions
from ansible_collections.goldennode.gpu.tests.unit.plugins.module_utils.test_lock import made, sealed


@pytest.fixture
def files(tmp_path: pathlib.Path) -> t.Dict[str, str]:
    image = dict(made()["image"], cuda_check="optional")
    locks = {"before": made(), "after": sealed(image=image, bundle="pool-2026.12")}
    for name, lock in locks.items():
        (tmp_path / name).write_text(json.dumps(lock))
    return {name: str(tmp_path / name) for name in locks}


def run(arguments: t.Dict[str, t.Any]) -> t.Tuple[t.Dict[str, t.Any], str]:
    display = actions.Display()
    found = actions.run(action.ActionModule, arguments, {}, display=display)
    return found, "".join(display.shown)


def test_what_changes_is_shown_returned_and_written(files: t.Dict[str, str], tmp_path: pathlib.Path) -> None:
    found, text = run({**files, "result": str(tmp_path / "result")})
    assert "pool-2026.11" in text
    assert "1 change. Look at image." in text
    assert found["changed"] is False
    assert found["effects"] == {"reboot": [], "restart": [], "review": ["image"], "note": []}
    written = json.loads((tmp_path / "result").read_text())
    assert written["schema"] == 1
    assert written["changes"] == found["changes"]
    assert written["before"]["bundle"] == "pool-2026.11"


def test_the_same_lock_twice(files: t.Dict[str, str]) -> None:
    found, text = run({"before": files["before"], "after": files["before"]})
    assert found["same"] is True
    assert "Nothing that a node gets is another." in text


def test_one_that_was_changed_by_hand_is_said(files: t.Dict[str, str], tmp_path: pathlib.Path) -> None:
    (tmp_path / "after").write_text(json.dumps(dict(made(), bundle="x")))
    found, text = run(files)
    assert found["remarks"] == [
        "%s was changed by hand: its id is not the digest of its content, and a run refuses it." % files["after"]
    ]
    assert "was changed by hand" in text


def test_what_cannot_be_compared_or_written_is_one_error(files: t.Dict[str, str], tmp_path: pathlib.Path) -> None:
    with pytest.raises(AnsibleActionFail) as error:
        run({**files, "after": str(tmp_path / "no")})
    assert str(error.value).startswith("%s is not there. Name a file" % (tmp_path / "no"))
    with pytest.raises(AnsibleActionFail) as error:
        run({**files, "result": str(tmp_path / "no" / "such")})
    assert str(error.value) == (
        "result: %s cannot be written: No such file or directory. Name a file in a folder that is yours"
        % (tmp_path / "no" / "such")
    )
