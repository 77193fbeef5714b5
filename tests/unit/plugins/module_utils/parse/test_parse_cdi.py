# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CDI specifications as nvidia-ctk and people write them, read without a YAML parser."""

from __future__ import annotations

import json

import pytest
import yaml

from ansible_collections.goldennode.gpu.plugins.module_utils.model import CdiSpec
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import cdi

SPEC = {
    "cdiVersion": "0.7.0",
    "kind": "nvidia.com/gpu",
    "containerEdits": {
        "env": ["NVIDIA_VISIBLE_DEVICES=void"],
        "hooks": [{"hookName": "createContainer", "path": "/usr/bin/nvidia-cdi-hook", "args": ["nvidia-cdi-hook"]}],
        "mounts": [{"hostPath": "/usr/lib/libcuda.so.580.95.05", "containerPath": "/usr/lib/libcuda.so.580.95.05"}],
    },
    "devices": [
        {"name": "0", "containerEdits": {"deviceNodes": [{"path": "/dev/nvidia0"}], "additionalGids": [44]}},
        {"containerEdits": {"hooks": [{"name": "inner"}]}, "name": "GPU-1"},
        {"name": "all", "annotations": {"name": "deep"}},
    ],
}
READ = CdiSpec("nvidia.com/gpu", "0.7.0", "580.95.05", ("0", "GPU-1", "all"), True)


def indented(text):
    """Lists indented below their key, as other writers do it."""
    lines, inside = [], False
    for line in text.splitlines(keepends=True):
        inside = inside and line[:1] in " -"
        lines.append("  " + line if inside else line)
        inside = inside or line == "devices:\n"
    return "".join(lines)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("---\n" + yaml.safe_dump(SPEC), id="yaml"),
        pytest.param(yaml.safe_dump(SPEC, sort_keys=False), id="yaml in another order"),
        pytest.param(indented(yaml.safe_dump(SPEC)), id="lists indented"),
        pytest.param(yaml.safe_dump(SPEC).replace("\n", "\n# devices:\n"), id="comments"),
        pytest.param(json.dumps(SPEC), id="json"),
        pytest.param(json.dumps(SPEC, indent=4), id="json over lines"),
    ],
)
def test_a_specification_of_nvidia_ctk(text):
    assert yaml.safe_load(text) == SPEC
    assert cdi.parse(text) == READ


@pytest.mark.parametrize(
    "text",
    [
        "",
        "kind: amd.com/gpu\n# not nvidia.com/gpu\n",
        "{}",
        '{"kind": "intel.com/gpu"}',
        "- kind\n",
        "kind: [nvidia.com/gpu]",
    ],
)
def test_what_is_not_about_nvidias_devices(text):
    assert cdi.parse(text) is None


def test_a_specification_that_somebody_wrote():
    own = cdi.parse("cdiVersion: '0.5.0'\nkind: \"nvidia.com/half\"\ndevices:\n  - name: 'left'\n  - {name: right}\n")
    assert own == CdiSpec("nvidia.com/half", "0.5.0", None, ("left",), False)


def test_the_versions_of_a_mixture_are_all_told():
    mixed = yaml.safe_dump(SPEC) + "# libnvidia-ml.so.580.159.03\n"
    found = cdi.parse(mixed)
    assert found is not None
    assert found.driver == "580.159.03, 580.95.05"


@pytest.mark.parametrize(
    ("text", "target"),
    [
        (None, "/var/run/cdi/nvidia.yaml"),
        ("# NVIDIA_CTK_CDI_OUTPUT_FILE_PATH=/etc/cdi/nvidia.yaml\n", "/var/run/cdi/nvidia.yaml"),
        ("NVIDIA_CTK_CDI_OUTPUT_FILE_PATH=/etc/cdi/nvidia.yaml\n", "/etc/cdi/nvidia.yaml"),
        ('A=1\n NVIDIA_CTK_CDI_OUTPUT_FILE_PATH = "/x/y z.yaml" \n', "/x/y z.yaml"),
        ("NVIDIA_CTK_CDI_OUTPUT_FILE_PATH=/a\nNVIDIA_CTK_CDI_OUTPUT_FILE_PATH='/b'", "/b"),
        ("NVIDIA_CTK_CDI_OUTPUT_FILE_PATH=\n", "/var/run/cdi/nvidia.yaml"),
    ],
)
def test_where_the_units_write(text, target):
    assert cdi.target(text) == target
