# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything that can be known before a node is touched: read, checked and told at once."""

from __future__ import annotations

import datetime
import json
import pathlib
import subprocess
import sys
import time

import pytest
import yaml
from ansible.errors import AnsibleActionFail

from ansible_collections.goldennode.gpu.plugins.action import desired as action
from ansible_collections.goldennode.gpu.plugins.module_utils import lock as locks
from ansible_collections.goldennode.gpu.plugins.plugin_utils import agent_zip, bundle_file
from ansible_collections.goldennode.gpu.tests.unit import actions
from ansible_collections.goldennode.gpu.tests.unit.bundles import KEY, PLATFORM, SHA1_FINGERPRINT, SHA1_KEY, data
from ansible_collections.goldennode.gpu.tests.unit.plugins.module_utils.test_lock import DIGEST, PACKAGES

OTHER = "debian-12-x86_64"


@pytest.fixture(autouse=True)
def agent(monkeypatch, tmp_path):
    """The agent is not this file's business; what it was asked for is."""
    asked = []

    def build(version):
        asked.append(version)
        return "a" * 64, tmp_path / "agent.pyz"

    monkeypatch.setattr(agent_zip, "build", build)
    return asked


@pytest.fixture
def pool(tmp_path):
    (tmp_path / "pool.yml").write_text(yaml.safe_dump(data()))
    (tmp_path / "vendor.asc").write_text(KEY)
    return tmp_path


def variables(pool, **more):
    return {
        "inventory_dir": str(pool),
        "playbook_dir": "/nowhere",
        "bundle_file": "pool.yml",
        "golden_expected_gpus": 8,
        **more,
    }


def lock_for(pool, platform=PLATFORM):
    bundle = bundle_file.read_bundle(pool / "pool.yml").platforms[platform]
    return locks.build(bundle, "apt", "6.12.57+deb13-amd64", PACKAGES, DIGEST)


def write_lock(pool, platform=PLATFORM, lock=None):
    path = bundle_file.lock_path(pool / "pool.yml", platform)
    bundle_file.write_lock(path, lock or lock_for(pool, platform))
    return path


def run(pool, arguments=None, check=False, **more):
    return actions.run(action.ActionModule, arguments or {}, variables(pool, **more), check)


def refused(pool, arguments=None, **more):
    with pytest.raises(AnsibleActionFail) as caught:
        run(pool, arguments, **more)
    return str(caught.value)


def change_bundle(pool, **axes):
    (pool / "pool.yml").write_text(yaml.safe_dump(data(**axes)))


def test_waivers_are_judged_before_anything_is_changed_and_reach_the_node(pool):
    write_lock(pool)
    until = datetime.datetime.now(datetime.timezone.utc).date() + datetime.timedelta(days=30)
    waiver = {"id": "policy.units", "reason": "a unit of the site's own", "until": until}  # as YAML reads a bare day
    found = run(pool, golden_waivers=[waiver])
    kept = found["desired"][PLATFORM]["settings"]["golden"]["golden_waivers"]
    assert kept == [{"id": "policy.units", "entity": None, "reason": waiver["reason"], "until": until.isoformat()}]
    assert refused(pool, golden_waivers=[{**waiver, "until": "2026-01-31"}]) == (
        "golden_waivers[0].until: '2026-01-31' is over, and policy.units counts again. Mend what it was for and take "
        "the waiver out; or look at it again, and give it another day."
    )
    del waiver["reason"]
    assert "missing required arguments: reason found in golden_waivers" in refused(pool, golden_waivers=[waiver])


def test_the_variables_of_a_rollout_are_judged_with_all_others_and_count_for_nothing(pool):
    write_lock(pool)
    usual = run(pool)
    found = run(pool, rollout_budget="10%", rollout_canaries=["a"], rollout_drain="docker", rollout_retry=True)
    assert found["settings"]["rollout"]["rollout_canaries"] == ["a"]
    assert found["desired"][PLATFORM] == usual["desired"][PLATFORM]
    assert "rollout" not in usual["desired"][PLATFORM]["settings"]
    assert refused(pool, rollout_waves=["101%"], golden_look_timeout=1) == (
        "2 problems, and nothing was changed:\n"
        "- golden_look_timeout: 1 is too short for any look. Give it 5 seconds or more, 60 is usual.\n"
        "- rollout_waves: '101%' is more than all nodes. Write a number of nodes, as 5, or a percentage of the "
        'production nodes, as "25%".'
    )


@pytest.mark.parametrize("zone", ["Etc/GMT+12", "Etc/GMT-14"])
def test_a_waiver_ends_with_the_day_in_utc_wherever_the_controller_is(pool, monkeypatch, zone):
    write_lock(pool)
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    today = datetime.datetime.now(datetime.timezone.utc).date()
    waiver = {"id": "policy.units", "reason": "a unit of the site's own", "until": today.isoformat()}
    over = {**waiver, "until": (today - datetime.timedelta(days=1)).isoformat()}
    try:
        assert run(pool, golden_waivers=[waiver])["desired"]
        assert "is over, and policy.units counts again" in refused(pool, golden_waivers=[over])
    finally:
        monkeypatch.undo()
        time.tzset()


# --- without a lock -----------------------------------------------------------------------------------------------


def test_a_bundle_without_locks_is_told_to_be_resolved(pool):
    found = run(pool)
    assert found["changed"] is False
    assert found["desired"] == {}
    assert found["missing_locks"] == [PLATFORM]
    assert found["bundles"][PLATFORM]["driver"]["version"] == "580.159.03"
    assert found["bundles"][PLATFORM]["sources"][0]["key"] == KEY
    assert found["expected_gpus"] == 8
    assert found["settings"]["docker"]["docker_allow_restart"] is False
    assert found["bundle_file"] == str(pool / "pool.yml")
    assert found["run"] == action.RUN


def test_the_result_is_plain_data(pool):
    write_lock(pool)
    found = run(pool, docker_daemon_options="{{ {'log-opts': {'max-size': size}} }}", size="10m")

    def kinds(value):
        if isinstance(value, dict):
            return {type(key) for key in value} | {kind for item in value.values() for kind in kinds(item)}
        if isinstance(value, list):
            return {kind for item in value for kind in kinds(item)}
        return {type(value)}

    assert kinds({key: found[key] for key in ("desired", "bundles", "settings")}) <= {str, int, bool, type(None)}
    assert found["settings"]["docker"]["docker_daemon_options"] == {"log-opts": {"max-size": "10m"}}


# --- with locks ---------------------------------------------------------------------------------------------------


def test_a_platform_with_a_lock_has_what_is_desired(pool, agent):
    write_lock(pool)
    found = run(pool)
    desired = found["desired"][PLATFORM]
    assert found["missing_locks"] == []
    assert desired["platform"] == PLATFORM
    assert desired["digest"].startswith("sha256:")
    assert desired["lock"]["driver"]["packages"] == PACKAGES["driver"]
    assert desired["files"]["/usr/local/lib/goldennode/agent.pyz"]["source"] == str(pool / "agent.pyz")
    assert agent == ["13.615.71"]


def test_values_are_templated_and_typed(pool):
    write_lock(pool)
    found = run(
        pool, golden_expected_gpus="{{ gpus * 2 }}", gpus=4, device_access_users="{{ ['alice'] + more }}", more=["bob"]
    )
    assert found["expected_gpus"] == 8
    assert found["desired"][PLATFORM]["settings"]["device_access"]["device_access_users"] == ["alice", "bob"]


def test_a_variable_changes_the_digest_and_consent_does_not(pool):
    write_lock(pool)
    digests = [
        run(pool, **more)["desired"][PLATFORM]["digest"]
        for more in ({}, {"golden_allow_reboot": True}, {"driver_persistenced": False})
    ]
    assert digests[0] == digests[1] != digests[2]


def test_a_lock_that_does_not_fit_is_an_error(pool):
    write_lock(pool)
    change_bundle(pool, docker={"version": "26.1.5"})
    said = refused(pool)
    assert "pool.debian-13-x86_64.lock.json was resolved from another state of the bundle" in said
    assert "Run ansible-playbook goldennode.gpu.lock" in said
    assert run(pool, {"ignore_locks": True})["missing_locks"] == [PLATFORM]


def test_the_kernel_of_the_lock_is_held_against_the_driver(pool):
    change_bundle(pool, driver={"version": "580.65.06"}, fabric_manager=None, kernel=None)
    text = yaml.safe_load((pool / "pool.yml").read_text())
    text["kernel"] = {"metapackage": "linux-image-amd64"}
    (pool / "pool.yml").write_text(yaml.safe_dump(text))
    lock = lock_for(pool)
    lock["kernel"]["release"] = "6.17.3+deb13-amd64"
    write_lock(pool, lock=dict(lock, id=locks.lock_id(lock)))
    assert "does not build on kernel 6.17.3+deb13-amd64" in refused(pool)


# --- a new lock ---------------------------------------------------------------------------------------------------


def test_a_new_lock_is_used_and_written(pool):
    path = bundle_file.lock_path(pool / "pool.yml", PLATFORM)
    lock = lock_for(pool)
    found = run(pool, {"lock": lock})
    assert found["changed"] is False
    assert not path.exists()
    assert found["desired"][PLATFORM]["lock"] == lock
    assert found["missing_locks"] == []
    found = run(pool, {"lock": lock, "write": True}, check=True)
    assert (found["changed"], path.exists()) == (False, False)
    found = run(pool, {"lock": lock, "write": True})
    assert found["changed"] is True
    assert json.loads(path.read_text()) == lock
    assert run(pool, {"lock": lock, "write": True})["changed"] is False


def test_while_a_new_lock_is_made_the_others_wait_for_their_turn(pool):
    plain = data()
    plain["platforms"][OTHER] = {}
    (pool / "pool.yml").write_text(yaml.safe_dump(plain))
    write_lock(pool, OTHER)
    plain["toolkit"] = {"version": "1.20.1"}
    (pool / "pool.yml").write_text(yaml.safe_dump(plain))
    assert OTHER in refused(pool)
    found = run(pool, {"lock": lock_for(pool), "write": True})
    assert list(found["desired"]) == [PLATFORM]
    assert found["missing_locks"] == [OTHER]


@pytest.mark.parametrize(
    ("lock", "said"),
    [
        ({"platform": PLATFORM}, "the new lock has schema None"),
        ({"platform": "haiku"}, "lock: 'haiku' is of no platform of the bundle"),
        ({}, None),
    ],
)
def test_a_new_lock_that_is_none_is_refused(pool, lock, said):
    if said is None:
        assert run(pool, {"lock": lock})["missing_locks"] == [PLATFORM]
    else:
        assert said in refused(pool, {"lock": lock})


def test_a_lock_that_cannot_be_written_is_told(pool, monkeypatch):
    def fail(*_arguments):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(bundle_file, "write_lock", fail)
    assert "lock.json cannot be written: Permission denied" in refused(pool, {"lock": lock_for(pool), "write": True})


# --- bad input ----------------------------------------------------------------------------------------------------


def test_no_bundle_is_told_with_the_fix(pool):
    said = refused(pool, bundle_file=None)
    assert said.startswith(
        "bundle_file is not set. Set it for the group gpu_nodes, for example bundle_file: bundles/debian13.yml."
    )


def test_a_bundle_that_is_not_there_is_told_with_what_was_tried(pool):
    assert "(tried: %s/none.yml, /nowhere/none.yml)" % pool in refused(pool, bundle_file="none.yml")


def test_everything_is_told_in_one_message_a_line_each(pool):
    change_bundle(pool, driver={"flavour": "opne"}, toolkit={"version": "x"})
    said = refused(
        pool,
        golden_expected_gpus="many",
        golden_allow_rebot=True,
        device_access_mode=432,
        docker_daemon_options={"default-runtime": "x"},
    )
    lines = said.splitlines()
    assert lines[0] == "6 problems, and nothing was changed:"
    assert len(lines) == 7
    assert all(line.startswith("- ") for line in lines[1:])
    for word in ("golden_allow_rebot", "golden_expected_gpus", "device_access_mode", "default-runtime"):
        assert word in said
    assert "- pool.yml: driver.flavour: 'opne' is none of open, proprietary. Did you mean open?" in lines
    assert "- pool.yml: toolkit.version: 'x'" in said


def test_a_file_that_is_no_bundle_does_not_fill_the_screen(pool):
    change_bundle(pool, **{"k%d" % number: 1 for number in range(1000)})
    lines = refused(pool).splitlines()
    assert lines[0] == "1000 problems, and nothing was changed:"
    assert (len(lines), lines[-1]) == (22, "- and 980 more")


def test_what_cannot_work_together_is_told_before_anything_is_resolved(pool):
    change_bundle(pool, toolkit={"version": "1.18.0"}, image={"reference": "registry.example/cuda:13.2.0-base"})
    said = refused(pool)
    assert "CVE-2026-24260" in said
    assert "is CUDA 13.2, and driver 580.159.03 is older" in said


def test_case_040_a_key_that_apt_will_refuse_is_told_before_anything_is_resolved(pool):
    plain = data()
    plain["platforms"][PLATFORM]["sources"][0]["fingerprint"] = SHA1_FINGERPRINT
    (pool / "pool.yml").write_text(yaml.safe_dump(plain))
    (pool / "vendor.asc").write_text(SHA1_KEY)
    with pytest.raises(AnsibleActionFail, match="is bound by a SHA1 signature, which apt of debian-13-x86_64 does not"):
        run(pool)


def test_the_same_problem_of_two_platforms_is_told_once(pool):
    plain = data(toolkit={"version": "1.18.0"})
    plain["platforms"][OTHER] = {}
    (pool / "pool.yml").write_text(yaml.safe_dump(plain))
    assert refused(pool).count("CVE-2026-24260") == 1


def test_yaml_that_is_none_is_told(pool):
    (pool / "pool.yml").write_text("a: 1\na: 2\n")
    assert "pool.yml is not valid YAML: line 2, column 1: the key a stands twice" in refused(pool)


def test_an_undefined_variable_is_told_by_its_name(pool):
    said = refused(pool, golden_expected_gpus="{{ nothing_like_it }}")
    assert "golden_expected_gpus cannot be templated: " in said
    assert "nothing_like_it" in said


def test_contradictions_with_the_lock_and_a_wrong_nvidia_ml_py_are_told(pool, monkeypatch):
    write_lock(pool)
    assert "has no number that is known for %s" % PLATFORM in refused(pool, device_access_group="gpu")
    monkeypatch.undo()
    change_bundle(pool, python={"nvidia_ml_py": "1.2.3"})
    write_lock(pool)
    assert "nvidia-ml-py: '1.2.3' is " in refused(pool)


def test_an_unknown_argument_is_refused(pool):
    assert "Unsupported parameters" in refused(pool, {"bundel": "x"})


# --- warnings -----------------------------------------------------------------------------------------------------


def test_an_end_of_life_is_a_warning(pool):
    change_bundle(
        pool,
        driver={"version": "535.309.01"},
        fabric_manager=None,
        image={"reference": "registry.example/cuda:12.2.0-base"},
    )
    assert any(
        "%s: driver 535.309.01: its branch is past its end of life" % PLATFORM in line for line in run(pool)["warnings"]
    )


@pytest.mark.parametrize(
    ("docker", "more", "said"),
    [("24.0.9", {}, "Docker 24.0.9 does not read it"), ("26.1.4", {"toolkit_cdi": False}, "toolkit_cdi is false")],
)
def test_a_container_probe_that_is_left_out_is_a_warning(pool, docker, more, said):
    change_bundle(pool, docker={"version": docker})
    write_lock(pool)
    found = run(pool, **more)
    assert "%s: cdi is left out of golden_container_injections: %s" % (PLATFORM, said) in found["warnings"]
    assert found["desired"][PLATFORM]["settings"]["golden"]["golden_container_injections"] == ["runtime"]


# --- the run ------------------------------------------------------------------------------------------------------


def test_each_process_is_a_run_of_its_own():
    """The strategy loads the plugin before it forks, so that all hosts have the same one."""
    code = "from ansible_collections.goldennode.gpu.plugins.action import desired; print(desired.RUN)"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": ":".join(sys.path)}
    )
    assert found.stdout.strip() != action.RUN
    assert found.stdout.strip().split("-")[0][:8] == action.RUN.split("-")[0][:8]


def test_it_does_not_touch_a_node(pool):
    """No connection, no module: the mock would record a call."""
    assert action.ActionModule._requires_connection is False
    run(pool)
    assert sorted(path.name for path in pathlib.Path(pool).iterdir()) == ["pool.yml", "vendor.asc"]


# --- secrets ------------------------------------------------------------------------------------------------------


LOGIN = {"registry": "nvcr.io", "username": "$oauthtoken", "password": "{{ vault_ngc_key }}"}


def test_a_login_is_judged_and_is_in_no_result(pool):
    """The result is registered, printed with -v, and a part of it kept on the node."""
    write_lock(pool)
    base = run(pool)
    found = run(pool, docker_registries=[LOGIN], vault_ngc_key="s3cr3t-of-mine")
    assert "s3cr3t-of-mine" not in json.dumps({name: value for name, value in found.items() if name != "run"})
    assert "docker_registries" not in json.dumps(found["settings"])
    assert found["desired"] == base["desired"]


def test_a_login_that_is_wrong_is_told_without_its_password(pool):
    login = dict(LOGIN, registry="https://nvcr.io")
    said = refused(pool, docker_registries=[login], vault_ngc_key="s3cr3t-of-mine")
    assert said.startswith("docker_registries[0].registry: 'https://nvcr.io' has a scheme. Write nvcr.io")
    said = refused(pool, docker_registries=[{"registry": "nvcr.io", "pass": "s3cr3t-of-mine"}])
    assert "docker_registries is not what it takes" in said
    assert "s3cr3t" not in said


def stored(pool):
    """What a node keeps: what it was wanted to be, without the paths of the controller."""
    write_lock(pool)
    found = run(pool, docker_daemon_options={"log-driver": "journald"})
    wanted = found["desired"][PLATFORM]
    files = {path: {**file, "source": None} for path, file in wanted["files"].items()}
    return {"desired": {**wanted, "files": files}, "expected_gpus": 8}


def test_a_kept_state_counts_whatever_bundle_and_variables_say_now(pool):
    kept = stored(pool)
    change_bundle(pool, driver={"version": "580.178.04", "flavour": "open", "build": "dkms", "source": "nvidia"})
    found = run(pool, {"stored": kept}, golden_allow_reboot=True, bundle_file="gone.yml")
    wanted = found["desired"][PLATFORM]
    assert wanted["digest"] == kept["desired"]["digest"]
    assert wanted["lock"]["driver"]["version"] == kept["desired"]["lock"]["driver"]["version"]
    assert wanted["files"]["/usr/local/lib/goldennode/agent.pyz"]["source"].endswith("agent.pyz")
    assert found["settings"]["docker"]["docker_daemon_options"] == {"log-driver": "journald"}
    assert found["settings"]["golden"]["golden_allow_reboot"] is True
    assert (found["expected_gpus"], found["missing_locks"]) == (8, [])


def test_another_agent_makes_another_digest_of_a_kept_state(pool, monkeypatch):
    kept = stored(pool)
    monkeypatch.setattr(agent_zip, "build", lambda version: ("b" * 64, pool / "agent.pyz"))
    wanted = run(pool, {"stored": kept})["desired"][PLATFORM]
    assert wanted["digest"] != kept["desired"]["digest"]
    assert wanted["files"]["/usr/local/lib/goldennode/agent.pyz"]["sha256"] == "b" * 64


def test_there_is_a_way_back_from_a_bundle_with_another_nvidia_ml_py(pool):
    """The controller has one version: that of the bundle that the nodes are taken back from."""
    kept = stored(pool)
    kept["desired"]["lock"]["python"]["nvidia_ml_py"] = "12.1.1"
    wanted = run(pool, {"stored": kept})["desired"][PLATFORM]
    assert wanted["digest"] == kept["desired"]["digest"]
    assert wanted["lock"]["python"]["nvidia_ml_py"] == "12.1.1"


def test_a_kept_state_that_cannot_be_understood_is_said_and_nothing_is_changed(pool):
    assert refused(pool, {"stored": {"desired": {"digest": "x"}, "expected_gpus": 8}}).startswith(
        "stored cannot be understood: desired: "
    )


# --- a lock that takes the place of another -----------------------------------------------------------------------


def written(pool, lock, **more):
    display = actions.Display()
    arguments = {"lock": lock, "write": True, "ignore_locks": True}
    found = actions.run(action.ActionModule, arguments, variables(pool, **more), display=display)
    return found, "".join(display.shown)


def test_what_a_lock_changes_is_shown_where_it_replaces_another(pool):
    assert written(pool, lock_for(pool))[1] == "", "there was none before"
    assert written(pool, lock_for(pool))[1] == "", "it is the same"
    change_bundle(pool, image={"cuda_check": "optional"})
    found, text = written(pool, lock_for(pool))
    assert found["changed"] is True
    assert "debian-13-x86_64: pool-2026.11 (sha256:" in text
    assert "Weaker: a node may be golden, and CUDA in the container not be proven." in text


def test_a_file_that_was_no_lock_is_replaced_and_said(pool):
    path = bundle_file.lock_path(pool / "pool.yml", PLATFORM)
    path.write_text("{}")
    found, text = written(pool, lock_for(pool))
    assert (found["changed"], text) == (True, "")
    assert found["warnings"][-1].startswith(
        "What the new lock changes is not said, since the file that it replaces %s is no lock: it has schema null"
        % path
    )
    assert json.loads(path.read_text()) == lock_for(pool)
