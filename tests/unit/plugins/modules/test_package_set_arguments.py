# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""package_set: arguments that cannot be meant so, before anything is looked at."""

from __future__ import annotations

import json

import pytest
from ansible.module_utils.testing import patch_module_args

from ansible_collections.goldennode.gpu.plugins.modules import package_set


@pytest.mark.parametrize("version", [1.2, None, ""])
@pytest.mark.parametrize("option", ["packages", "keep"])
def test_a_version_that_yaml_has_made_a_number_of_is_refused(capsys, monkeypatch, option, version):
    monkeypatch.setattr(package_set, "System", None)
    with patch_module_args({"packages": {}, option: {"runc": version}}), pytest.raises(SystemExit):
        package_set.main()
    answer = json.loads(capsys.readouterr().out)
    assert answer["failed"]
    assert answer["msg"] == "%s.runc: %r is no full version. Write it in quotes." % (option, version)
