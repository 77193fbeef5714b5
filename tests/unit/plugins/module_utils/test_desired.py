# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wanted follows from lock and variables alone: files, daemon settings, units, and a digest over them."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import desired as rendering
from ansible_collections.goldennode.gpu.plugins.module_utils.model import to_plain
from ansible_collections.goldennode.gpu.plugins.module_utils.package_names import DRIVER_GLOBS, KERNEL_GLOBS, TOOLKIT
from ansible_collections.goldennode.gpu.plugins.module_utils.plain import desired_from_plain
from ansible_collections.goldennode.gpu.tests.unit.healthy import DRIVER, desired, lock, settings

LOGIN = {"registry": "nvcr.io", "username": "$oauthtoken", "password": "s3cr3t"}


def content(path, *arguments, **variables):
    return desired(*arguments, **variables).files[path].content


def refused(of_lock=None, **variables):
    with pytest.raises(rendering.DesiredError) as caught:
        desired(of_lock=of_lock, **variables)
    return [str(problem) for problem in caught.value.problems]


def only(of_lock=None, **variables):
    found = refused(of_lock, **variables)
    assert len(found) == 1, found
    return found[0]


# --- files --------------------------------------------------------------------------------------------------------


def test_every_file_of_the_table_is_there_with_its_digest():
    files = desired().files
    assert sorted(files) == [
        "/etc/ansible/facts.d/goldennode.fact",
        "/etc/apt/apt.conf.d/51goldennode",
        "/etc/apt/preferences.d/00goldennode",
        "/etc/apt/sources.list.d/goldennode-nvidia.sources",
        "/etc/dracut.conf.d/goldennode.conf",
        "/etc/modprobe.d/goldennode-blacklist.conf",
        "/etc/modprobe.d/goldennode-nvidia.conf",
        "/etc/systemd/system/docker.service.d/goldennode.conf",
        "/etc/systemd/system/goldennode-agent.service",
        "/etc/systemd/system/goldennode-uvm.service",
        "/etc/systemd/system/nvidia-cdi-refresh.service.d/goldennode.conf",
        "/etc/udev/rules.d/70-goldennode-uvm.rules",
        "/usr/local/lib/goldennode/agent.pyz",
    ]
    for path, file in files.items():
        assert file.path == path
        assert file.mode == (0o755 if path.endswith(".fact") else 0o644)
        if file.content is None:
            assert (file.sha256, file.source) == ("a" * 64, "/controller/agent.pyz")
        else:
            assert file.sha256 == hashlib.sha256(file.content.encode()).hexdigest()
            assert file.content.endswith("\n")
            assert "Managed by goldennode.gpu" in "".join(file.content.splitlines()[:2])


def test_every_package_of_the_lock_is_pinned_and_kept_out_of_unattended_upgrades():
    pins = content("/etc/apt/preferences.d/00goldennode")
    blacklist = content("/etc/apt/apt.conf.d/51goldennode")
    assert "Package: docker-ce\nPin: version 5:26.1.4-1~debian.13~trixie\nPin-Priority: 1001\n" in pins
    assert pins.count("Pin-Priority: 1001") == 12 + 1  # and one for what no lock names
    assert blacklist.count('$";') == 12 + len(DRIVER_GLOBS) + len(KERNEL_GLOBS)
    assert '    "linux-image-6\\.12\\.57\\+deb13-amd64$";\n' in blacklist
    assert '    "libnvidia-container1$";\n' in blacklist
    assert '    "linux-generic.*$";\n' in blacklist, "a metapackage would bring a kernel without the driver's modules"
    free = content("/etc/apt/apt.conf.d/51goldennode", kernel_pin=False)
    assert "linux-image-" not in free
    assert '    "linux-modules-nvidia-.*$";\n' in free


def test_case_041_the_toolkits_four_packages_are_pinned_each_by_its_name():
    """A node is asked for nvidia-container-toolkit, and apt takes the other three in whatever version it likes."""
    pins = content("/etc/apt/preferences.d/00goldennode")
    for name in TOOLKIT:
        assert "Package: %s\nPin: version 1.20.0-1\nPin-Priority: 1001\n" % name in pins


def test_no_other_kernel_comes_by_a_metapackage_that_the_lock_does_not_name():
    pins = content("/etc/apt/preferences.d/00goldennode")
    exact, installed, last = pins.rsplit("\n\n", 2)
    assert installed.endswith("\nPin: release a=now\nPin-Priority: 100")
    assert last.startswith("Package: linux-image-* linux-headers-* linux-modules-* linux-kbuild-* linux-*-headers-* ")
    assert last.endswith("\nPin: release *\nPin-Priority: -1\n")
    assert "Package: linux-image-amd64\nPin: version 6.12.57-1\n" in exact, "the lock's own must be read before"
    assert "Pin-Priority: -1" not in content("/etc/apt/preferences.d/00goldennode", kernel_pin=False)


def test_parts_of_the_driver_that_no_lock_names_cannot_move_either():
    """lyulyul/shine-cluster#30: libnvidia-common-460 moved, as nobody had thought of it."""
    pins = content("/etc/apt/preferences.d/00goldennode")
    stanza, revisions = [pin for pin in pins.split("\n\n") if "Package: nvidia-* " in pin]
    assert revisions.endswith("\nPin: version 580.159.03-*\nPin-Priority: 1000")
    assert "Pin: version %s-1\nPin-Priority: 1001" % DRIVER in stanza
    patterns = re.findall(r'^    "(.+)";$', content("/etc/apt/apt.conf.d/51goldennode"), re.MULTILINE)
    for name in ("libnvidia-common-460", "xserver-xorg-video-nvidia-460", "linux-modules-nvidia-580-generic"):
        assert any(re.match(pattern, name) for pattern in patterns), name
    for name in ("openssl", "linux-libc-dev", "libcuda10", "docker-compose-plugin"):
        assert not any(re.match(pattern, name) for pattern in patterns), name


def test_the_kernel_is_not_pinned_when_that_is_not_wanted():
    for path in ("/etc/apt/preferences.d/00goldennode", "/etc/apt/apt.conf.d/51goldennode"):
        assert "linux-image" in content(path)
        assert "linux-image" not in content(path, kernel_pin=False)


def test_sources_have_their_key_inside():
    text = content("/etc/apt/sources.list.d/goldennode-nvidia.sources")
    assert "Types: deb\nURIs: http://vendor.testbed/nvidia/debian13\nSuites: stable\nComponents: main\n" in text
    assert "Architectures: amd64\nSigned-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n AAAA\n -----END" in text


def test_a_flat_repository_has_no_components():
    source = {"name": "x", "uris": ["http://a", "http://b"], "suites": ["/"], "components": [], "key": "K"}
    assert rendering.deb822(source, "arm64") == (
        "Types: deb\nURIs: http://a http://b\nSuites: /\nArchitectures: arm64\nSigned-By:\n K\n"
    )


def test_a_repository_of_the_distribution_names_its_keyring():
    keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
    source = {"name": "x", "uris": ["http://a"], "suites": ["trixie"], "components": ["non-free"], "key": None}
    assert rendering.deb822(dict(source, keyring=keyring), "amd64") == (
        "Types: deb\nURIs: http://a\nSuites: trixie\nComponents: non-free\nArchitectures: amd64\n"
        "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n"
    )


def test_nouveau_is_kept_away_in_all_three_ways():
    text = content("/etc/modprobe.d/goldennode-blacklist.conf")
    for line in ("blacklist nouveau", "install nouveau /bin/false", "options nouveau modeset=0", "blacklist nova_core"):
        assert line + "\n" in text
    assert "nouveau" not in content("/etc/modprobe.d/goldennode-blacklist.conf", kernel_blacklist=["nvidiafb"])


def test_dracut_leaves_the_same_modules_out_under_either_name():
    """The module nova_drm lies in a file that is called nova-drm.ko."""
    text = content("/etc/dracut.conf.d/goldennode.conf", kernel_blacklist=["nouveau", "nova_drm"])
    assert text.splitlines()[1:] == [
        'omit_drivers+=" nouveau nova_drm nova-drm "',
        'install_optional_items+=" /etc/modprobe.d/goldennode-blacklist.conf "',
    ]
    assert "omit_drivers" not in content("/etc/dracut.conf.d/goldennode.conf", kernel_blacklist=[])


@pytest.mark.parametrize(("mode", "written"), [("0660", "0660"), ("660", "0660"), ("0666", "0666"), ("664", "0664")])
def test_the_mode_is_octal_everywhere(mode, written):
    """modprobe reads a number without a leading zero as decimal: 660 would be 01224."""
    options = content("/etc/modprobe.d/goldennode-nvidia.conf", device_access_mode=mode)
    assert "NVreg_DeviceFileMode=%s\n" % written in options
    assert "/bin/chmod %s /dev/nvidia-uvm " % written in content(
        "/etc/systemd/system/goldennode-uvm.service", device_access_mode=mode
    )
    assert "/bin/chmod %s /dev/nvidia-uvm " % written in content(
        "/etc/udev/rules.d/70-goldennode-uvm.rules", device_access_mode=mode
    )


@pytest.mark.parametrize(
    ("platform", "variables", "gid"),
    [
        ("debian-13-x86_64", {}, 44),
        ("ubuntu-24.04-aarch64", {}, 44),
        ("debian-13-x86_64", {"device_access_group": "root", "device_access_mode": "0666"}, 0),
        ("debian-13-x86_64", {"device_access_group": "gpu", "device_access_gid": 2001}, 2001),
    ],
)
def test_the_driver_gets_the_number_of_the_group(platform, variables, gid):
    text = content("/etc/modprobe.d/goldennode-nvidia.conf", of_lock=lock(platform=platform), **variables)
    assert "NVreg_DeviceFileGID=%d " % gid in text


def test_uvm_nodes_get_the_group_by_name():
    text = content("/etc/systemd/system/goldennode-uvm.service", device_access_group="gpu", device_access_gid=2001)
    assert "ExecStart=/bin/chgrp gpu /dev/nvidia-uvm /dev/nvidia-uvm-tools\n" in text


def test_the_boot_unit_stands_behind_all_that_it_looks_at():
    text = content("/etc/systemd/system/goldennode-agent.service", golden_look_timeout=100)
    for unit in (
        "docker.service",
        "goldennode-uvm.service",
        "nvidia-persistenced.service",
        "nvidia-cdi-refresh.service",
    ):
        assert unit in text
    assert "ExecStart=/usr/bin/python3 /usr/local/lib/goldennode/agent.pyz verify --boot\n" in text
    assert "TimeoutStartSec=380\n" in text


def test_the_daemon_of_ubuntus_archive_keeps_the_gpus_awake():
    """Its unit has --no-persistence-mode and StopWhenUnneeded."""
    of_lock = lock(platform="ubuntu-24.04-x86_64", driver={"source": "distro"})
    text = content(rendering.PERSISTENCED_PATH, of_lock=of_lock)
    assert "\nStopWhenUnneeded=no\n" in text
    assert "\nExecStart=\nExecStart=/usr/bin/nvidia-persistenced --user nvidia-persistenced --persistence-mode " in text


@pytest.mark.parametrize(
    ("platform", "source", "variables"),
    [
        ("ubuntu-24.04-x86_64", "nvidia", {}),
        ("debian-13-x86_64", "distro", {}),
        ("ubuntu-24.04-x86_64", "distro", {"driver_persistenced": False}),
    ],
)
def test_any_other_daemon_is_left_as_it_is(platform, source, variables):
    of_lock = lock(platform=platform, driver={"source": source})
    assert rendering.PERSISTENCED_PATH not in desired(of_lock=of_lock, **variables).files


def test_uvm_and_gpu_nodes_need_two_calls_of_nvidia_modprobe():
    """With -u it makes nvidia-uvm's nodes and no others, whatever the minor numbers are."""
    calls = [
        line for line in content("/etc/systemd/system/goldennode-uvm.service").splitlines() if "nvidia-modprobe" in line
    ]
    assert len(calls) == 2
    assert "-c 255" in calls[0]
    assert " -u" not in calls[0]
    assert calls[1].endswith("-u -c 0")


def fact(tmp_path, agent):
    """What the local fact prints with this agent.pyz."""
    script = tmp_path / "goldennode.fact"
    script.write_text(content("/etc/ansible/facts.d/goldennode.fact").replace(rendering.AGENT_PATH, str(agent)))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_the_fact_says_not_golden_without_an_agent(tmp_path):
    said = fact(tmp_path, tmp_path / "agent.pyz")
    assert said["golden"] is False
    assert "%s/agent.pyz cannot be loaded: No module named 'goldennode'" % tmp_path in said["reason"]


def test_the_fact_calls_the_agent(tmp_path):
    (tmp_path / "zip" / "goldennode").mkdir(parents=True)
    (tmp_path / "zip" / "goldennode" / "__init__.py").touch()
    (tmp_path / "zip" / "goldennode" / "agent.py").write_text(
        "import json, sys\ndef main():\n    print(json.dumps({'argv': sys.argv[1:]}))\n    return 0\n"
    )
    assert fact(tmp_path, tmp_path / "zip") == {"argv": ["fact"]}


# --- daemon.json --------------------------------------------------------------------------------------------------


def test_daemon_settings():
    assert desired().daemon == {
        "log-opts": {"max-size": "10m"},
        "default-runtime": "runc",
        "runtimes": {"nvidia": {"args": [], "path": "nvidia-container-runtime"}},
        "features": {"cdi": True},
    }


def test_options_are_merged_beside_ours():
    options = {"runtimes": {"kata": {"path": "kata"}}, "features": {"buildkit": True}, "live-restore": True}
    found = desired(docker_daemon_options=options, docker_default_runtime="kata").daemon
    assert sorted(found["runtimes"]) == ["kata", "nvidia"]
    assert found["features"] == {"buildkit": True, "cdi": True}
    assert found["live-restore"] is True
    assert found["default-runtime"] == "kata"
    assert options == {"runtimes": {"kata": {"path": "kata"}}, "features": {"buildkit": True}, "live-restore": True}


@pytest.mark.parametrize(
    ("docker", "cdi", "features"),
    [
        ("26.1.4", True, {"cdi": True}),
        ("26.1.4", False, {"cdi": False}),  # on by default from 28.2 on: off must be said
        ("25.0.0", True, {"cdi": True}),
        ("24.0.9", True, None),
        ("20.10.24+dfsg1", True, None),
    ],
)
def test_cdi_is_asked_for_where_the_engine_reads_it(docker, cdi, features):
    found = desired(of_lock=lock(docker={"version": docker}), toolkit_cdi=cdi)
    assert found.daemon.get("features") == features
    wanted = features == {"cdi": True}
    assert ("cdi" in found.settings["golden"]["golden_container_injections"]) is wanted
    assert ("nvidia-cdi-refresh.path" in found.units) is wanted


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"default-runtime": "nvidia"},
            "docker_daemon_options.default-runtime: 'nvidia' is managed by a variable of its own. Set docker_default_r",
        ),
        ({"runtimes": {"nvidia": {"path": "/x"}}}, "docker_daemon_options.runtimes.nvidia: {'path': '/x'} is managed"),
        (
            {"features": {"cdi": True}},
            "docker_daemon_options.features.cdi: True is managed by a variable of its own. Set toolkit_cdi",
        ),
        ({"runtimes": []}, "docker_daemon_options.runtimes: [] is not an object. Write it so"),
        ({"features": "cdi"}, "docker_daemon_options.features: 'cdi' is not an object. Write it so"),
        (
            {"ipv6": "true"},
            "docker_daemon_options.ipv6: 'true' is not true or false. Write it so, dockerd takes nothing",
        ),
        ({"log-opts": {"max-file": 3}}, "docker_daemon_options.log-opts.max-file: 3 is not text. Write it so"),
        ({"runtimes": {"runc": {"path": "x"}}}, "docker_daemon_options.runtimes.runc: {'path': 'x'} is a runtime of a"),
        (
            {"runtimes": {"mine": {"path": "x", "args": ["--debug"]}}},
            "docker_daemon_options.runtimes.mine.args: ['--debug'] is a key that no engine reads. Call it runtimeArgs",
        ),
    ],
)
def test_an_option_never_overrides_ours_in_silence(options, said):
    assert said in only(docker_daemon_options=options)


# --- units --------------------------------------------------------------------------------------------------------


def test_units():
    assert desired().units == {
        "docker.service": "active+enabled",
        "containerd.service": "active+enabled",
        "goldennode-uvm.service": "enabled",
        "goldennode-agent.service": "enabled",
        "nvidia-persistenced.service": "active+enabled",
        "nvidia-cdi-refresh.path": "active+enabled",
        "nvidia-cdi-refresh.service": "enabled",
    }
    assert "nvidia-persistenced.service" not in desired(driver_persistenced=False).units


# --- what contradicts itself --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"device_access_mode": "438"}, "device_access_mode: '438' is not a mode in octal"),
        ({"device_access_mode": "66"}, "device_access_mode: '66' is not"),
        ({"device_access_mode": "01666"}, "device_access_mode: '01666' is not"),
        ({"device_access_mode": "rw-rw-rw-"}, "is not a mode in octal"),
        ({"golden_expected_gpus": 0}, "golden_expected_gpus: 0 is less than 1. Say how many GPUs"),
        ({"golden_container_injections": []}, "golden_container_injections: [] is empty"),
        ({"golden_look_timeout": 2}, "golden_look_timeout: 2 is too short"),
        ({"kernel_arguments": ["iommu=pt quiet"]}, "kernel_arguments: 'iommu=pt quiet' is not one plain word"),
        ({"kernel_arguments": ['x="1"']}, "is not one plain word of a kernel's command line"),
        ({"kernel_arguments": ["$(reboot)"]}, "is not one plain word of a kernel's command line"),
        ({"kernel_arguments": ["a\nb"]}, "is not one plain word of a kernel's command line"),
        ({"kernel_blacklist": ["nouveau; rm -rf /"]}, "kernel_blacklist: 'nouveau; rm -rf /' is not the name"),
        ({"device_access_users": ["alice", "bob the builder"]}, "device_access_users: 'bob the builder' is not a name"),
        (
            {"device_access_group": "gpu\nusers", "device_access_gid": 1},
            "device_access_group: 'gpu\\nusers' is not a name",
        ),
        (
            {"device_access_group": "gpu"},
            "device_access_group: 'gpu' has no number that is known for debian-13-x86_64. Set device_access_gid",
        ),
        ({"docker_default_runtime": "crun"}, "docker_default_runtime: 'crun' is a runtime that Docker would not know"),
        ({"golden_container_injections": ["cdi"], "toolkit_cdi": False}, "asks for CDI alone, which is not in use"),
    ],
)
def test_what_contradicts_itself_is_refused(variables, said):
    assert said in only(**variables)


def test_a_package_manager_that_is_not_known_yet_is_refused():
    assert any(
        "'rocky-9-x86_64' is not supported yet" in line
        for line in refused(lock(package_manager="dnf", platform="rocky-9-x86_64"))
    )


def test_all_contradictions_are_told_at_once():
    assert (
        len(refused(device_access_mode="x", golden_expected_gpus=0, docker_daemon_options={"default-runtime": "x"}))
        == 3
    )


# --- the digest ---------------------------------------------------------------------------------------------------


def test_the_digest_is_the_same_for_the_same_wish():
    assert desired().digest == desired().digest
    assert desired().digest.startswith("sha256:")


@pytest.mark.parametrize(
    "variables",
    [
        {"kernel_blacklist": ["nouveau"]},
        {"kernel_arguments": ["iommu=pt"]},
        {"kernel_pin": False},
        {"packages_keep": False},
        {"driver_persistenced": False},
        {"docker_daemon_options": {}},
        {"docker_daemon_options": {"log-opts": {"max-size": "11m"}}},
        {"docker_default_runtime": "nvidia"},
        {"docker_data_root": "/srv/docker"},
        {"toolkit_cdi": False},
        {"toolkit_cdi_additional_gids": False},
        {"toolkit_runtime_mode": "legacy"},
        {"toolkit_multi_tenant": True},
        {"toolkit_config_options": {"disable-require": True}},
        {"device_access_group": "render", "device_access_gid": 44},
        {"device_access_mode": "0666"},
        {"device_access_selinux_boolean": False},
        {"device_access_users": ["alice"]},
        {"device_access_gid": 2001},
        {"golden_expected_gpus": 4},
        {"golden_container_injections": ["runtime"]},
        {"golden_look_timeout": 61},
        {"golden_waivers": [{"id": "policy.units", "reason": "r", "until": "2027-03-31"}]},
    ],
)
def test_the_digest_follows_every_variable_that_affects_the_node(variables):
    assert desired(**variables).digest != desired().digest


def test_the_digest_does_not_follow_what_only_steers_the_run():
    base = desired()
    consents = ("golden_allow_reboot", "docker_allow_restart", "driver_allow_reload")
    for name in (*consents, "golden_allow_daemon_reload", "docker_allow_container_restart"):
        assert desired(**{name: True}).digest == base.digest
    assert desired(packages_allow_remove=["docker.io"]).digest == base.digest
    assert desired(docker_allow_data_root_change=True).digest == base.digest
    assert desired(docker_registries=[LOGIN]).digest == base.digest
    assert desired(golden_reboot_timeout=1).digest == base.digest
    assert desired(bundle_file="/elsewhere/pool.yml").digest == base.digest
    for name in settings()["rollout"]:
        assert desired(**{name: "another"}).digest == base.digest
    without = {role: values for role, values in settings().items() if role != "rollout"}
    assert rendering.build(lock(), without, "a" * 64, None).digest == base.digest  # pools of before stay golden
    for role in base.settings.values():
        for name in role:
            assert "_allow_" not in name


def test_the_digest_follows_lock_and_agent_but_not_where_the_agent_is():
    assert desired(of_lock=lock(docker={"version": "26.1.5"})).digest != desired().digest
    of = [
        rendering.build(lock(), settings(), sha, path).digest for sha, path in (("a", "/x"), ("a", None), ("b", "/x"))
    ]
    assert of[0] == of[1] != of[2]


def test_every_public_variable_is_tried_above():
    """A new variable must be put into one of the two tests of the digest."""
    tried = {"bundle_file", "golden_reboot_timeout"}
    tried |= {"golden_allow_reboot", "docker_allow_restart", "driver_allow_reload", "packages_allow_remove"}
    tried |= {"docker_allow_data_root_change", "docker_registries"}
    tried |= {"golden_allow_daemon_reload", "docker_allow_container_restart", *settings()["rollout"]}
    marks = test_the_digest_follows_every_variable_that_affects_the_node.pytestmark
    tried |= {name for variables in marks[0].args[1] for name in variables}
    assert tried == {name for role in settings().values() for name in role} | {
        "device_access_gid",
        "docker_data_root",
    }


def test_it_survives_the_way_through_json():
    assert desired_from_plain(json.loads(json.dumps(to_plain(desired())))) == desired()
