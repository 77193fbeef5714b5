# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What cannot work together is refused with both sides and a pair that works; what is not known is never refused."""

from __future__ import annotations

import dataclasses
import datetime

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import bundle as bundles
from ansible_collections.goldennode.gpu.plugins.module_utils import compat
from ansible_collections.goldennode.gpu.plugins.module_utils.version import version_numbers
from ansible_collections.goldennode.gpu.tests.unit.bundles import platform_bundle

TODAY = datetime.date(2026, 11, 30)


def made(driver="580.159.03", flavour="open", build="dkms", source="nvidia", cuda="13.0", kernel="6.12.57", **axes):
    return platform_bundle(
        driver={"version": driver, "flavour": flavour, "build": build, "source": source},
        image={"cuda": cuda, **axes.pop("image", {})},
        kernel={"release": kernel},
        fabric_manager=None,
        **axes,
    )


def refusals(bundle, **arguments):
    return [str(problem) for problem in compat.problems(bundle, TODAY, **arguments)]


def only(bundle, **arguments):
    found = refusals(bundle, **arguments)
    assert len(found) == 1, found
    return found[0]


def test_a_sound_bundle_is_neither_refused_nor_warned_about():
    assert refusals(platform_bundle()) == []
    assert compat.warnings(platform_bundle(), TODAY) == []


# --- CUDA and the driver ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("driver", "cuda"),
    [
        ("580.65.06", "13.0"),
        ("580.159.03", "12.8"),
        ("580.159.03", "11.8"),
        ("620.70.06", "13.5"),
        ("615.71.10", "13.4"),
        ("570.26", "12.8"),
        ("525.60.13", "12.0"),
        ("535.309.01", "11.0"),
        ("595.71.05", "13.2"),
    ],
)
def test_a_driver_runs_its_own_cuda_and_every_older_one(driver, cuda):
    assert refusals(made(driver=driver, cuda=cuda)) == []


@pytest.mark.parametrize(
    ("driver", "cuda", "first"),
    [
        ("550.144.03", "12.8", "570.26"),  # the toolkit says: unsatisfied condition: cuda>=12.8
        ("580.159.03", "13.1", "590.44.01"),
        ("580.65.05", "13.0", "580.65.06"),
        ("535.309.01", "12.9", "575.51.03"),
        ("615.71.10", "13.5", "620"),
        ("535.309.01", "13.0", "580.65.06"),
        ("470.256.02", "12.0", "525.60.13"),
    ],
)
def test_an_image_newer_than_the_driver_is_refused_with_a_pair_that_works(driver, cuda, first):
    said = only(made(driver=driver, cuda=cuda, flavour="proprietary" if driver < "5" else "open"))
    assert "is CUDA %s" % cuda in said
    assert driver in said
    assert "Use driver %s or newer (" % first in said
    assert " for example) with this image, or an image of CUDA " in said


def test_versions_are_compared_as_numbers():
    """As text, "12.10" is older than "12.8", and "580.9" newer than "580.65"."""
    assert refusals(made(driver="580.9.01", cuda="13.0")) != []
    assert version_numbers("12.10") > version_numbers("12.8")


def test_leaning_on_minor_version_compatibility_is_allowed_when_it_is_said():
    bundle = made(driver="580.159.03", cuda="13.2", image={"cuda_compat": "minor"})
    assert refusals(bundle) == []
    assert "by minor compatibility only" in " ".join(compat.warnings(bundle, TODAY))


def test_minor_version_compatibility_does_not_reach_over_a_major_release():
    said = only(made(driver="570.211.01", cuda="13.0", image={"cuda_compat": "minor"}))
    assert "which no driver before 580.65.06 runs; the bundle has 570.211.01" in said
    assert "cuda_compat: forward" in said


def test_forward_compatibility_is_allowed_when_it_is_said():
    bundle = made(driver="570.211.01", cuda="13.0", image={"cuda_compat": "forward"})
    assert refusals(bundle) == []
    assert "by forward compatibility only" in " ".join(compat.warnings(bundle, TODAY))


@pytest.mark.parametrize(
    ("cuda", "said"), [(None, "its CUDA version is not known"), ("14.0", "CUDA 14.0 is not in the tables")]
)
def test_what_is_not_known_of_an_image_is_a_warning(cuda, said):
    bundle = made(cuda=cuda)
    assert refusals(bundle) == []
    assert said in " ".join(compat.warnings(bundle, TODAY))


def test_the_tables_agree_with_each_other():
    for cuda, driver in compat.CUDA_DRIVERS.items():
        if cuda[1] > 0:
            assert version_numbers(driver) >= version_numbers(compat.MINOR_FLOORS[cuda[0]])
        branch = compat.BRANCHES[version_numbers(driver)[0]]
        assert branch.cuda >= cuda, "branch of %s reports an older CUDA than its own" % driver
    levels = [branch.cuda for _number, branch in sorted(compat.BRANCHES.items())]
    assert levels == sorted(levels)
    for version in compat.LONG_TERM:
        branch = compat.BRANCHES[version_numbers(version)[0]]
        assert branch.eol > (2027, 1)


# --- branches -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("driver", ["470.256.02", "450.80.02", "510.47.03"])
def test_there_are_no_open_modules_before_515(driver):
    assert "open modules begin with branch 515" in only(made(driver=driver, cuda="11.0"))
    assert refusals(made(driver=driver, cuda="11.0", flavour="proprietary")) == []


@pytest.mark.parametrize("driver", ["615.71.10", "620.70.06"])
def test_there_are_only_open_modules_from_615_on(driver):
    said = only(made(driver=driver, flavour="proprietary"))
    assert "driver.flavour: 'proprietary' does not exist for driver %s" % driver in said
    assert "Use open with %s, or proprietary with 580.159.03" % driver in said


@pytest.mark.parametrize(
    ("driver", "today", "said"),
    [
        ("535.309.01", (2026, 11), "past its end of life since 2026-06"),
        ("570.211.01", (2026, 11), "past its end of life since 2026-02"),
        ("565.57.01", (2026, 11), "past its end of life: no more"),
        ("595.104.02", (2027, 4), "past its end of life since 2027-03"),
        ("999.01.02", (2026, 11), "its branch is not in the tables"),
    ],
)
def test_an_end_of_life_and_an_unknown_branch_are_warnings(driver, today, said):
    bundle = made(driver=driver, cuda="12.0")
    assert refusals(bundle) == []
    assert said in " ".join(compat.warnings(bundle, datetime.date(*today, 1)))


@pytest.mark.parametrize(
    ("driver", "today"), [("595.104.02", (2027, 3)), ("535.309.01", (2026, 6)), ("590.48.01", (2026, 11))]
)
def test_a_branch_lives_until_the_end_of_its_last_month(driver, today):
    assert compat.warnings(made(driver=driver, cuda="12.0"), datetime.date(*today, 28)) == []


# --- toolkit and Docker -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("toolkit", ["1.16.2", "1.18.0", "1.19.0"])
def test_a_toolkit_with_known_holes_is_refused(toolkit):
    said = only(platform_bundle(toolkit={"version": toolkit}))
    assert "toolkit.version: '%s' is older than 1.19.1 and open to " % toolkit in said
    assert "CVE-2026-24260 (a container can get out)" in said


def waived(version="1.18.2", reason="driver 550 needs it", until="2026-12-31"):
    return platform_bundle(toolkit={"version": version, "waiver": bundles.Waiver(reason, until)})


@pytest.mark.parametrize("until", ["2026-11-30", "2026-12-31", "2027-11-30"])
def test_a_waiver_with_reason_and_day_lets_an_older_toolkit_pass_and_is_warned_of(until):
    bundle = waived(until=until)
    assert refusals(bundle) == []
    assert compat.warnings(bundle, TODAY) == [
        "toolkit 1.18.2 is open to CVE-2026-24260, waived until %s: driver 550 needs it" % until
    ]


def test_every_hole_that_a_waiver_covers_is_told():
    assert compat.toolkit_holes("1.17.3") == ["CVE-2025-23359", "CVE-2025-23266", "CVE-2025-23267", "CVE-2026-24260"]
    assert compat.toolkit_holes(compat.TOOLKIT_FLOOR) == []


def test_a_waiver_that_is_over_is_refused():
    said = only(waived(until="2026-11-29"))
    assert "toolkit.waiver.until: '2026-11-29' is over, and toolkit 1.18.2 is open to CVE-2026-24260" in said


def test_a_waiver_without_an_end_in_sight_is_refused():
    said = only(waived(until="2099-01-01"))
    assert "is more than 366 days away" in said
    assert "Give a date up to 2027-12-01" in said


def test_a_waiver_that_is_not_needed_is_told():
    bundle = waived(version="1.20.0", until="2020-01-01")
    assert refusals(bundle) == []
    assert compat.warnings(bundle, TODAY) == [
        "toolkit 1.20.0: the waiver (driver 550 needs it) is not needed, no known hole is open; take it out"
    ]


@pytest.mark.parametrize("docker", ["25.0.0", "25.0.5", "26.0.2"])
def test_an_engine_that_reads_cdi_but_not_what_the_toolkit_writes_is_refused(docker):
    bundle = platform_bundle(docker={"version": docker})
    said = only(bundle)
    assert "reads CDI, but not version 0.7.0 of it, which toolkit 1.20.0 writes" in said
    assert "Use Docker 26.1 or newer (26.1.4 for example) with toolkit 1.20.0" in said
    assert refusals(bundle, cdi=False) == []
    assert refusals(bundle, cdi_gids=False) == []


@pytest.mark.parametrize(
    ("docker", "schema", "reads"),
    [
        ("24.0.9", "0.5.0", False),
        ("25.0.0", "0.6.0", True),
        ("25.0.0", "0.7.0", False),
        ("26.1.0", "0.7.0", True),
        ("26.1.0", "1.0.0", False),
        ("27.3.1", "0.8.0", False),
        ("27.4.0", "0.8.0", True),
        ("29.2.0", "1.0.0", None),
        ("29.2.0", "newest", None),
    ],
)
def test_which_engine_reads_which_schema(docker, schema, reads):
    assert compat.reads_cdi(docker, schema) is reads


def test_the_table_of_readers_rises():
    for column in zip(*compat.CDI_READERS):
        assert sorted(column, key=version_numbers) == list(column)
    assert compat.first_docker_for("0.7.0") == "26.1"
    assert compat.first_docker_for("9.0.0") is None


@pytest.mark.parametrize("docker", ["26.1.0", "26.1.5+dfsg1", "29.2.0", "20.10.24+dfsg1", "24.0.9"])
def test_an_engine_reads_the_specification_or_none_at_all(docker):
    assert refusals(platform_bundle(docker={"version": docker})) == []


# --- kernel and driver --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("driver", "kernel"),
    [
        ("535.216.03", "6.13.2"),
        ("550.163.01", "6.15.0-1"),
        ("550.163.01", "6.17.4-generic"),
        ("550.144.03", "6.14.0-27-generic"),
        ("560.35.03", "6.13"),
        ("570.123.01", "6.15.1"),
        ("570.153.02", "6.17"),
        ("575.64.05", "6.17"),
        ("580.65.06", "6.17"),
        ("535.261.03", "7.0.0-15-generic"),
        ("590.48.01", "6.19.1"),
    ],
)
def test_a_driver_that_does_not_build_on_the_kernel_is_refused(driver, kernel):
    said = only(made(driver=driver, kernel=kernel, cuda="12.0"))
    assert "driver.version: '%s' does not build on kernel %s" % (driver, kernel) in said
    assert "with this kernel, or a kernel older than" in said


@pytest.mark.parametrize(
    ("driver", "kernel"),
    [
        ("535.216.03", "6.12.57+deb13-amd64"),
        ("535.247.01", "6.13.2"),
        ("535.274.02", "6.17"),
        ("550.163.01", "6.14.0"),
        ("570.190", "6.17.0"),
        ("580.82.07", "6.17.0"),
        ("580.159.03", "7.0.0-15-generic"),
        ("590.48.01", "6.18.2"),
        ("620.70.06", "9.0"),
        ("999.01.02", "6.17"),
    ],
)
def test_a_driver_that_builds_or_of_which_nothing_is_known_is_not_refused(driver, kernel):
    assert refusals(made(driver=driver, kernel=kernel, cuda="12.0")) == []


def test_the_pair_that_is_named_for_a_kernel_works():
    said = only(made(driver="580.65.06", kernel="6.17.3"))
    assert "Use driver 580.82.07 or newer of this branch with this kernel, or a kernel older than 6.17" in said
    assert refusals(made(driver="580.82.07", kernel="6.17.3")) == []
    assert refusals(made(driver="580.65.06", kernel="6.16.9")) == []
    said = only(made(driver="550.163.01", kernel="6.17.3", cuda="12.4"))
    assert "Use driver 580.159.03 with this kernel, or a kernel older than 6.15" in said
    assert refusals(made(driver="580.159.03", kernel="6.17.3")) == []
    assert refusals(made(driver="550.163.01", kernel="6.14.9", cuda="12.4")) == []


@pytest.mark.parametrize("how", [{"build": "precompiled"}, {"source": "distro"}])
def test_modules_that_others_build_or_patch_are_not_refused(how):
    assert refusals(made(driver="550.163.01", kernel="6.17.3", cuda="12.4", **how)) == []


def test_a_kernel_of_which_nothing_is_known_is_a_warning():
    assert "nothing is known about building it" in " ".join(compat.warnings(made(kernel="7.3.4+deb13-amd64"), TODAY))
    assert "nothing is known" in " ".join(compat.warnings(made(driver="580.95.05", kernel="6.19.1"), TODAY))
    assert compat.warnings(made(driver="580.159.03", kernel="6.19.1"), TODAY) == []


def kernel_warning(release, driver="550.163.01", **how):
    return compat.kernel_warning(made(driver=driver, cuda="12.4", **how), release)


def test_a_distributions_own_driver_is_not_known_to_build_where_nvidias_sources_do_not():
    """It patches its package, or it does not: neither a refusal nor silence is the truth."""
    said = kernel_warning("6.17.3+deb13-amd64", source="distro")
    assert said.startswith("driver 550.163.01: NVIDIA's own sources of it do not build on kernel 6.17.3+deb13-amd64; ")
    assert "whether the distribution has mended its package for it is not known" in said
    assert said in compat.warnings(
        made(kernel="6.17.3+deb13-amd64", cuda="12.4", driver="550.163.01", source="distro"), TODAY
    )
    assert "nothing is known about building it" in kernel_warning("7.3.4+deb13-amd64", "580.159.03", source="distro")


def test_a_distributions_own_driver_is_well_where_the_table_says_so():
    assert kernel_warning("6.12.57+deb13-amd64", source="distro") == ""
    assert kernel_warning("6.14.9-amd64", source="distro") == ""


@pytest.mark.parametrize("how", [{"source": "distro", "build": "precompiled"}, {}])
def test_what_is_not_built_or_is_refused_is_not_warned_about(how):
    assert kernel_warning("6.17.3", **how) == ""


@pytest.mark.parametrize(
    ("platform", "release", "said"),
    [
        ("debian-13-x86_64", "debian13", ""),
        (
            "debian-13-x86_64",
            "debian12",
            "repository nvidia: it is NVIDIA's for debian12, and the platform is debian-13",
        ),
        ("ubuntu-24.04-aarch64", "ubuntu2404", ""),
        ("ubuntu-24.04-aarch64", "ubuntu2204", "(its directory would be ubuntu2404)"),
    ],
)
def test_nvidias_repository_for_another_release_is_a_warning(platform, release, said):
    uri = "https://developer.download.nvidia.com/compute/cuda/repos/%s/x86_64" % release
    (source,) = platform_bundle().sources
    bundle = platform_bundle(platform=platform, sources=(dataclasses.replace(source, uris=(uri,)),))
    assert bool(said) is bool(compat.warnings(bundle, TODAY))
    assert said in "".join(compat.warnings(bundle, TODAY))


def test_the_kernel_of_a_metapackage_is_judged_when_it_is_known():
    bundle = platform_bundle(
        driver={"version": "580.65.06"},
        kernel={"release": None, "metapackage": "linux-image-amd64"},
        fabric_manager=None,
    )
    assert refusals(bundle) == []
    assert len(compat.kernel_problems(bundle, "6.17.3")) == 1


# --- GPUs ---------------------------------------------------------------------------------------------------------
