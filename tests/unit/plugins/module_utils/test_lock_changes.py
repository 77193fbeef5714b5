# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What changes between two locks, on which layer, and what that risks."""

from __future__ import annotations

import copy
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import lock_changes, lock_risks
from ansible_collections.goldennode.gpu.plugins.module_utils.lock_risks import NOTE, REBOOT, RESTART, REVIEW
from ansible_collections.goldennode.gpu.plugins.module_utils.model import LAYERS
from ansible_collections.goldennode.gpu.tests.unit.bundles import FINGERPRINT, KEY, OTHER_FINGERPRINT, OTHER_KEY
from ansible_collections.goldennode.gpu.tests.unit.plugins.module_utils.test_lock import made

#: What is new in an axis; None takes it out.
Axes = t.Dict[str, t.Dict[str, t.Any]]


def changed(lock: t.Optional[t.Dict[str, t.Any]] = None, **axes: t.Any) -> t.Dict[str, t.Any]:
    """A lock with other values in some axes; ``packages`` are put beside those that are there, None takes one out."""
    found = copy.deepcopy(lock or made())
    for axis, values in axes.items():
        if not isinstance(values, dict) or not isinstance(found.get(axis), dict):
            found[axis] = values
            continue
        values = dict(values)
        found[axis]["packages"] = {**found[axis].get("packages", {}), **values.pop("packages", {})}
        found[axis]["packages"] = {name: full for name, full in found[axis]["packages"].items() if full}
        found[axis].update(values)
    return found


def compare(**axes: t.Any) -> t.List[lock_changes.Change]:
    before = axes.pop("before", None) or made()
    return list(lock_changes.changes(before, changed(before, **axes)))


def only(**axes: t.Any) -> lock_changes.Change:
    (found,) = compare(**axes)
    return found


def risks(change: lock_changes.Change, effect: str) -> t.List[str]:
    return [risk.text for risk in change.risks if risk.effect == effect]


def test_a_lock_and_itself_differ_in_nothing() -> None:
    assert lock_changes.changes(made(), made()) == ()
    assert lock_changes.changes(made(), changed(bundle="other", id="sha256:1", bundle_digest="sha256:2")) == ()


def test_changes_come_in_the_order_of_the_layers_and_name_each_package() -> None:
    found = compare(
        image={"cuda_check": "optional"},
        driver={"version": "580.178.04", "packages": {"nvidia-driver-cuda": "580.178.04-1"}},
        sources=[],
    )
    assert [(one.layer, one.axis, one.what, one.before, one.after) for one in found] == [
        ("packages", "sources", "nvidia", "https://vendor.example/nvidia stable main", None),
        ("host_driver", "driver", "version", "580.159.03", "580.178.04"),
        ("host_driver", "driver", "nvidia-driver-cuda", "580.159.03-1", "580.178.04-1"),
        ("image", "image", "cuda_check", "required", "optional"),
    ]
    assert [one.package for one in found] == [False, False, True, False]
    assert {one.layer for one in found} <= set(LAYERS)


# --- kernel and driver --------------------------------------------------------------------------------------------


def test_another_kernel_makes_a_reboot_due() -> None:
    name = "linux-image-6.12.57+deb13-amd64"
    found = compare(kernel={"release": "6.1.0-9-amd64", "packages": {name: None, "linux-image-6.1.0-9": "6.1.27-1"}})
    assert risks(found[0], REBOOT) == [
        "Another kernel: a reboot is due (by golden_allow_reboot), and the driver must have modules for it."
    ]
    assert risks(found[0], REVIEW) == ["The kernel goes down."]
    come, gone = found[1:]
    assert (gone.after, come.before) == (None, None)
    assert risks(gone, NOTE) == [
        "The lock names it no more: it stays, is held no longer, and apt-get autoremove may take it."
    ]
    assert risks(come, NOTE) == ["It comes: it is installed and held with the others."]


def test_the_same_kernel_built_anew_asks_for_no_reboot() -> None:
    found = only(kernel={"packages": {"linux-image-6.12.57+deb13-amd64": "6.12.57-2"}})
    assert risks(found, REBOOT) == []
    assert "it runs from the next reboot on, and nothing asks for one" in risks(found, NOTE)[0]


def test_a_driver_of_another_branch_is_a_reboot_and_to_be_looked_at() -> None:
    found = only(driver={"version": "595.71.05"})
    assert risks(found, REBOOT) == [
        "The driver in the kernel is replaced: a reboot is due (by golden_allow_reboot), or, where nothing uses the"
        " GPUs, driver_allow_reload does. Containers that run keep the old driver's files until they are restarted."
    ]
    assert risks(found, REVIEW) == ["Another branch of the driver: 595, it was 580."]


def test_the_gpus_that_a_driver_no_longer_drives_are_named() -> None:
    closed = changed(driver={"flavour": "proprietary"})
    assert risks(only(before=closed, driver={"version": "595.71.05"}), REVIEW) == [
        "Another branch of the driver: 595, it was 580. It no longer drives Maxwell, Pascal, Volta."
    ]
    assert risks(only(before=closed, driver={"flavour": "open"}), REVIEW) == [
        "Kernel modules of another make: open. It no longer drives Maxwell, Pascal, Volta."
    ]
    assert risks(only(driver={"flavour": "proprietary"}), REVIEW) == [
        "Kernel modules of another make: proprietary. It no longer drives Grace Hopper, Blackwell."
    ]


def test_a_driver_of_the_same_branch_that_goes_down_is_said() -> None:
    assert risks(only(driver={"version": "580.65.06"}), REVIEW) == ["The driver goes down."]
    assert risks(only(driver={"version": "580.178.04"}), REVIEW) == []


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"build": "precompiled"}, "Modules come built, for one kernel alone"),
        ({"source": "distro"}, "Packages of another maker (distro), some with other names."),
        ({"packages": {"nvidia-driver-cuda": "580.159.03-2"}}, "The same driver in other packages"),
    ],
)
def test_another_build_or_source_of_the_same_driver_asks_for_no_reboot(values: t.Any, said: str) -> None:
    found = only(driver=values)
    assert said in " ".join(risk.text for risk in found.risks)
    assert risks(found, REBOOT) == []


def test_a_fabric_manager_comes_and_goes() -> None:
    without = changed(fabric_manager=None)
    come = compare(before=without, fabric_manager=made()["fabric_manager"])
    assert [(one.what, one.before) for one in come] == [("version", None), ("nvidia-fabricmanager", None)]
    gone = list(lock_changes.changes(made(), without))
    assert [(one.what, one.after) for one in gone] == [("version", None), ("nvidia-fabricmanager", None)]
    assert "it moves along or is removed" in risks(gone[1], NOTE)[0]


# --- Docker and the toolkit ---------------------------------------------------------------------------------------


def test_a_change_of_docker_restarts_it() -> None:
    found = compare(docker={"version": "26.1.5", "packages": {"docker-ce": "5:26.1.5-1~debian.13~trixie"}})
    assert "that needs docker_allow_restart" in risks(found[0], RESTART)[0]
    assert risks(found[1], RESTART) == [], "once for the axis"
    assert lock_changes.effects(found) == {"reboot": [], "restart": ["docker"], "review": [], "note": []}


def test_a_docker_that_goes_down_or_is_the_29th_is_to_be_looked_at() -> None:
    assert risks(only(docker={"version": "20.10.24"}), REVIEW) == [
        "Docker goes down: it does not promise to read data that a newer one has written.",
        "It reads no CDI, it was CDI up to 0.7.0.",
    ]
    newer = only(docker={"version": "29.1.3"})
    assert "refuses clients before Docker 25 (API 1.44)" in risks(newer, REVIEW)[0]
    assert risks(newer, NOTE) == ["It reads CDI up to 0.8.0, it was CDI up to 0.7.0."]


def test_one_package_that_goes_down_is_said_also_where_its_axis_does_not() -> None:
    before = changed(docker={"packages": {"containerd.io": "2.1.5-1~debian.13~trixie"}})
    found = only(before=before, docker={"packages": {"containerd.io": "1.7.24-1~debian.13~trixie"}})
    assert risks(found, REVIEW) == ["It goes down."]
    up = only(before=before, docker={"packages": {"containerd.io": "1:1.0-1"}})
    assert risks(up, REVIEW) == [], "an epoch counts first"


def test_holes_that_are_open_again_and_the_waiver_for_them() -> None:
    found = compare(toolkit={"version": "1.17.8", "waiver": {"reason": "driver 550", "until": "2027-03-31"}})
    assert [one.what for one in found] == ["version", "waiver.reason", "waiver.until"]
    assert risks(found[0], REVIEW) == [
        "The toolkit goes down.",
        "Weaker: open again are CVE-2026-24260 (a container can get out).",
    ]
    assert risks(found[1], REVIEW) == ["Weaker: the waiver is new. It leaves open CVE-2026-24260, until 2027-03-31."]


def test_a_waiver_that_holds_for_longer_has_another_reason_or_is_gone() -> None:
    waived = changed(toolkit={"version": "1.17.8", "waiver": {"reason": "a", "until": "2027-03-31"}})
    later = only(before=waived, toolkit={"waiver": {"reason": "a", "until": "2027-06-30"}})
    assert risks(later, REVIEW) == ["Weaker: the waiver holds for longer."]
    sooner = only(before=waived, toolkit={"waiver": {"reason": "a", "until": "2027-01-31"}})
    assert sooner.risks == ()
    other = only(before=waived, toolkit={"waiver": {"reason": "b", "until": "2027-03-31"}})
    assert risks(other, REVIEW)[0].startswith("Weaker: the waiver has another reason.")
    gone = compare(before=waived, toolkit={"waiver": None})
    assert risks(gone[0], NOTE) == ["The waiver of the toolkit's known holes is gone."]
    assert lock_changes.effects(gone)["review"] == []


# --- the image ----------------------------------------------------------------------------------------------------


def test_other_content_under_the_same_tag_is_to_be_looked_at() -> None:
    digest = "sha256:" + "d" * 64
    assert "somebody has pushed it anew" in risks(only(image={"digest": digest}), REVIEW)[0]
    other = compare(image={"digest": digest, "reference": "registry.example/cuda:13.0.2-base"})
    assert lock_changes.effects(other)["review"] == [], "another tag has another digest"


def test_another_major_cuda_is_to_be_looked_at() -> None:
    found = only(image={"cuda": "12.9"})
    assert risks(found, REVIEW) == [
        "CUDA of the image goes down.",
        "Another major CUDA: what was built for CUDA 13 does not find its libraries in an image of CUDA 12.",
    ]
    assert only(image={"cuda": "13.1"}).risks == ()


def test_a_proof_that_becomes_weaker_is_to_be_looked_at() -> None:
    weaker = only(image={"cuda_check": "optional"})
    assert risks(weaker, REVIEW) == ["Weaker: a node may be golden, and CUDA in the container not be proven."]
    back = list(lock_changes.changes(changed(image={"cuda_check": "optional"}), made()))
    assert [risk.effect for risk in back[0].risks] == [NOTE]
    assert "Weaker" in risks(only(image={"cuda_compat": "forward"}), REVIEW)[0]
    assert "see that it fails" in risks(only(image={"cuda_command": ["/bin/true"]}), REVIEW)[0]


# --- sources ------------------------------------------------------------------------------------------------------


def source(**fields: t.Any) -> t.Dict[str, t.Any]:
    return dict(made()["sources"][0], **fields)


def test_another_key_is_named_by_its_fingerprint() -> None:
    found = only(sources=[source(key=OTHER_KEY)])
    assert (found.what, found.before, found.after) == ("nvidia.key", FINGERPRINT, OTHER_FINGERPRINT)
    assert risks(found, REVIEW) == [
        "Packages are trusted by another key. Check with its owner that the key is %s: whoever has it can install"
        " anything on every node." % OTHER_FINGERPRINT
    ]


def test_the_same_key_signed_anew_and_one_that_cannot_be_read() -> None:
    anew = only(sources=[source(key=KEY + "\n")])
    assert (anew.before, anew.after) == (FINGERPRINT, FINGERPRINT + ", signed anew")
    assert [risk.effect for risk in anew.risks] == [NOTE]
    assert only(sources=[source(key="x")]).after == "a key that cannot be read"
    assert only(sources=[source(key=None, keyring="/usr/share/keyrings/x.gpg")]).after == "/usr/share/keyrings/x.gpg"


def test_another_place_and_one_without_encryption() -> None:
    assert risks(only(sources=[source(uris=["http://mirror.example/nvidia"])]), REVIEW) == [
        "Packages are taken from another place.",
        "http://mirror.example/nvidia is not encrypted, and what it replaces was.",
    ]
    assert [risk.effect for risk in only(sources=[source(suites=["testing"])]).risks] == [NOTE]


def test_a_source_that_comes_is_to_be_looked_at_and_one_that_goes_is_told() -> None:
    come = only(sources=[source(), source(name="docker", uris=["https://docker.example"])])
    assert (come.what, come.before, come.after) == ("docker", None, "https://docker.example stable main")
    assert FINGERPRINT in risks(come, REVIEW)[0]
    assert [risk.effect for risk in only(sources=[]).risks] == [NOTE]


# --- what is not known yet ----------------------------------------------------------------------------------------


def test_fields_and_axes_of_a_later_version_are_compared_too() -> None:
    field = only(driver={"firmware": {"gsp": True}})
    assert (field.what, field.before, field.after) == ("firmware.gsp", None, "true")
    axis = only(framework={"name": "pytorch", "packages": {}})
    assert (axis.layer, axis.axis, axis.what, axis.after) == ("image", "framework", "name", "pytorch")
    text = only(nccl="2.27")
    assert (text.axis, text.what, text.after) == ("nccl", "", "2.27")
    assert only(package_manager="dnf").risks[0].effect == REVIEW


def test_every_rule_is_of_a_field_that_locks_have() -> None:
    waived = changed(toolkit={"waiver": {"reason": "a", "until": "b"}})
    for axis, field in lock_risks._RULES:
        where = waived[axis]
        for part in filter(None, field.split(".")):
            assert part in where, "%s.%s" % (axis, field)
            where = where[part]


def test_for_machines_it_is_plain_data() -> None:
    after = changed(image={"cuda_check": "optional"})
    found = lock_changes.changes(made(), after)
    plain = lock_changes.plain(made(), after, found)
    assert plain["before"] == {"bundle": "pool-2026.11", "id": made()["id"]}
    assert plain["same"] is False
    assert plain["effects"]["review"] == ["image"]
    assert plain["changes"] == [
        {
            "layer": "image",
            "axis": "image",
            "what": "cuda_check",
            "before": "required",
            "after": "optional",
            "package": False,
            "risks": [
                {
                    "effect": "review",
                    "text": "Weaker: a node may be golden, and CUDA in the container not be proven.",
                }
            ],
        }
    ]
