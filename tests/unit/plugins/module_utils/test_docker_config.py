# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings reach the running Docker, and no mistake of ours or of the file's owner stops it.

``Node`` plays systemd and dockerd: the daemon reads its file when it is started, refuses what dockerd refuses, and
``docker info`` tells what was read then.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import (
    daemon_json,
    docker_config,
    docker_record,
    dockerd_flags,
)
from ansible_collections.goldennode.gpu.plugins.module_utils.model import Reading
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.host import Command, Stat
from ansible_collections.goldennode.gpu.plugins.module_utils.system import SystemFailure

PATH = "/etc/docker/daemon.json"
NVIDIA = {"runtimes": {"nvidia": {"path": "nvidia-container-runtime", "args": []}}, "default-runtime": "runc"}
LOGS = {"log-opts": {"max-size": "10m"}}
BOOLEANS = ("ipv6", "debug", "live-restore")


class Node:
    def __init__(self, content=None, version="26.1.5+dfsg1", flags="-H fd://", running=True, containers=0):
        self.files = {}
        self.times = {}
        self.clock = 1000.0
        self.skew = 1_700_000_000.0  # wall clock minus monotonic clock
        self.version = version
        self.program = "/usr/bin/dockerd"
        self.flags = flags
        self.containers = containers
        self.commands = []
        self.loaded = True
        self.needs_reload = False
        self.on_disk = ""  # the unit's files, where systemd has not read them yet
        self.rights = True  # setpriv is there and may give rights up
        self.answers = True
        self.live_restore = False  # by a flag
        self.active = False
        self.invocation = 0
        self.started = 0.0
        self.read_at_start = {}
        self.running = ""
        if content is not None:
            self.put(PATH, content)
        if running and version:
            self.clock += 10
            self.start()
        self.clock += 10

    # The node's own life

    def put(self, path, content):
        self.files[path] = content if isinstance(content, bytes) else content.encode("utf-8")
        self.times[path] = self.now()

    def content(self):
        return self.files[PATH].decode("utf-8")

    def start(self):
        refusal = self.refusal(self.files.get(PATH, b""), self.flags.split())
        self.active = not refusal
        if refusal:
            return "Job for docker.service failed."
        self.read_at_start = daemon_json.load(self.files.get(PATH))
        self.invocation += 1
        self.started = self.clock
        self.running = self.version
        return ""

    def refusal(self, content, flags):
        """Flags are those of a start; None asks for what dockerd --validate finds, which is less."""
        config = daemon_json.load(content)
        for key in config:
            if key in BOOLEANS and not isinstance(config[key], bool):
                return "json: cannot unmarshal string into Go struct field Config.%s of type bool" % key
        if "runc" in config.get("runtimes", {}) and flags is not None:
            return "runtime name runc is reserved"
        if "max-size" in config:
            return "the following directives don't match any configuration option: max-size"
        if config.get("storage-driver") == "broken" and flags is not None:
            return "error initializing graphdriver"
        if flags and dockerd_flags.conflicts(flags, config):
            return "the following directives are specified both as a flag and in the configuration file"
        return ""

    # What the code under test calls

    def run(self, argv, timeout):
        assert timeout > 0
        program = argv[0].rpartition("/")[2]
        if program == "dockerd" and not self.version:
            return Command("host", tuple(argv), missing=True, error="dockerd is not installed")
        self.commands.append(" ".join(argv))
        self.clock += 0.1
        rc, out, err = getattr(self, "_" + program)(argv)
        return Command("host", tuple(argv), rc, out, err)

    def _systemctl(self, argv):
        if argv[1] == "show":
            return 0, self._show(), ""
        if argv[1] == "cat":
            return 0, self.on_disk, "Warning: docker.service changed on disk"
        if argv[1] == "restart":
            self.clock += 2
            failed = self.start()
            return (1 if failed else 0), "", failed
        assert argv[1] == "reset-failed"
        return 0, "", ""

    def _show(self):
        if not self.loaded:
            return "LoadState=not-found\nActiveState=inactive\nInvocationID=\nExecMainStartTimestampMonotonic=0\n"
        return (
            "LoadState=loaded\nActiveState=%s\nInvocationID=%s\nExecMainStartTimestampMonotonic=%d\n"
            "ExecStart={ path=/usr/bin/dockerd ; argv[]=%s %s ; ignore_errors=no ; pid=1 }\n"
            "Environment=A=b\nEnvironmentFiles=/etc/default/docker (ignore_errors=yes)\nNeedDaemonReload=%s\n"
            % (
                "active" if self.active else "failed",
                "invocation%d" % self.invocation if self.active else "",
                self.started * 1e6,
                self.program,
                self.flags,
                "yes" if self.needs_reload else "no",
            )
        )

    def _docker(self, argv):
        assert argv == ["docker", "--host", "unix:///var/run/docker.sock", "info", "--format", "{{json .}}"]
        if not (self.active and self.answers):
            return 0, json.dumps({"ServerErrors": ["Cannot connect to the Docker daemon"]}), ""
        config = self.read_at_start
        runtimes = {"runc": {"path": "runc"}}
        for name, runtime in config.get("runtimes", {}).items():
            runtimes[name] = {"path": runtime.get("path")}
        info = {
            "ServerVersion": self.running,
            "ContainersRunning": self.containers,
            "Runtimes": runtimes,
            "DefaultRuntime": config.get("default-runtime", "runc"),
            "LiveRestoreEnabled": config.get("live-restore", self.live_restore),
            "CgroupDriver": config.get("exec-opts", ["=systemd"])[-1].partition("=")[2],
            "Driver": config.get("storage-driver", "overlay2"),
            "CDISpecDirs": ["/etc/cdi"] if config.get("features", {}).get("cdi") else None,
        }
        return 0, json.dumps(info), ""

    def _dockerd(self, argv):
        if argv[1] == "--version":
            return 0, "Docker version %s, build a72d7cd" % self.version, ""
        assert argv[1:3] == ["--validate", "--config-file"]
        refusal = self.refusal(self.files[argv[3]], None)
        if refusal:
            return 1, "", "unable to configure the Docker daemon with file %s: %s" % (argv[3], refusal)
        return 0, "configuration OK", ""

    def _setpriv(self, argv):
        if not self.rights:
            return 127, "", "setpriv: activate capabilities: Operation not permitted"
        program, flag, path = argv[-3:]
        assert (program, flag) == ("/usr/bin/dockerd", "--config-file")
        refusal = self.refusal(self.files[path], None)
        if not refusal and self.files[path].startswith((b"\xef\xbb\xbf", b"\xff\xfe")):
            refusal = "invalid character"
        if refusal:
            return 1, "", "unable to configure the Docker daemon with file %s: %s" % (path, refusal)
        return 1, "", "dockerd needs to be started with root privileges. To run dockerd in rootless mode as an"

    def _journalctl(self, argv):
        assert argv[argv.index("--lines") + 1] == "30"
        return 0, "dockerd: error initializing graphdriver\n", ""

    def read_bytes(self, path):
        return Reading(self.files.get(path))

    def read(self, path):
        return Reading(self.files[path].decode("utf-8") if path in self.files else None)

    def changed_at(self, path):
        return self.times[path]

    def listdir(self, folder):
        here = {p.rpartition("/")[2]: int(self.times[p]) for p in sorted(self.files) if p.rpartition("/")[0] == folder}
        return Reading({name: Stat("file", 0o644, 0, 0, 1, mtime) for name, mtime in here.items()})

    def realpath(self, path):
        return Reading(path if path in self.files else None)

    def write(self, path, content, like=None):
        if self.full(path):
            raise OSError(errno.ENOSPC, "No space left on device", path)
        self.put(path, content)

    def full(self, path):
        return False

    def remove(self, path):
        self.files.pop(path, None)

    @contextlib.contextmanager
    def temporary(self, content):
        self.files["/tmp/candidate"] = content
        yield "/tmp/candidate"
        del self.files["/tmp/candidate"]

    def now(self):
        return self.clock + self.skew

    def monotonic(self):
        return self.clock

    def sleep(self, seconds):
        self.clock += seconds

    @property
    def restarts(self):
        return self.commands.count("systemctl restart docker.service")


def apply(node, settings, **options):
    node.clock += 10
    node.commands.clear()
    return docker_config.apply(node, docker_config.Wanted(settings, **options))


def refused(node, settings, **options):
    """The module fails and the file is as it was."""
    before = node.files.get(PATH)
    with pytest.raises((docker_config.DockerConfigError, SystemFailure)) as caught:
        apply(node, settings, **options)
    assert node.files.get(PATH) == before
    return str(caught.value)


def test_the_runtime_is_in_force_at_once_and_a_second_run_does_nothing():
    """Case 059: restarted, not reloaded, and docker info lists the runtime before we return."""
    node = Node('{"debug": true}')
    outcome = apply(node, NVIDIA)
    assert (outcome.changed, outcome.restarted, outcome.restart_due, outcome.validated) == (True, True, False, True)
    assert outcome.reason == "the running daemon does not have runtimes.nvidia as wanted"
    assert "nvidia" in node.read_at_start["runtimes"]
    assert node.commands.index("systemctl reset-failed docker.service") < node.commands.index(
        "systemctl restart docker.service"
    )
    assert not any("reload " in command for command in node.commands)
    again = apply(node, NVIDIA)
    assert (again.changed, again.restarted, again.reason, node.restarts) == (False, False, "", 0)


def test_a_daemon_of_before_an_upgrade_is_restarted():
    """The package's own script need not have: a policy-rc.d forbids it, or dpkg was killed."""
    node = Node("{}")
    apply(node, NVIDIA)
    node.version = "29.2.0"
    outcome = apply(node, NVIDIA, restart="never")
    assert outcome.restart_due
    assert outcome.reason == "Docker 26.1.5 runs, and 29.2.0 is installed"
    assert apply(node, NVIDIA).restarted
    assert not apply(node, NVIDIA).changed


def test_case_035_everything_else_stays():
    text = (
        '{"exec-opts": ["native.cgroupdriver=systemd"], "log-driver": "json-file", "log-opts": {"max-size": "100m"}, '
        '"storage-driver": "overlay2", "insecure-registries": ["registry.example:5000"]}\n'
    )
    node = Node(text)
    outcome = apply(node, {"runtimes": NVIDIA["runtimes"]})
    assert outcome.before == text
    assert node.content() == outcome.after
    assert node.content().startswith(text[:-2])
    assert node.files[outcome.backup_file].decode() == text


def test_case_032_features_stay_and_cdi_comes_into_force():
    node = Node('{"features": {"containerd-snapshotter": true, "buildkit": false}, "data-root": "/data/docker"}')
    assert apply(node, {"features": {"cdi": True}}).restarted
    assert json.loads(node.content())["features"] == {"containerd-snapshotter": True, "buildkit": False, "cdi": True}
    assert not apply(node, {"features": {"cdi": True}}).changed


@pytest.mark.parametrize("content", [None, b"", b"\n\n", bytes.fromhex("fffe7b007d00")])
def test_case_033_empty_files(content):
    node = Node(content)
    outcome = apply(node, NVIDIA)
    assert json.loads(node.content()) == NVIDIA
    assert (outcome.backup_file is None) == (not content)


def test_case_033_byte_order_mark_keeps_the_users_key():
    node = Node(bytes.fromhex("efbbbf7b226c6976652d726573746f7265223a747275657d0a"))
    apply(node, NVIDIA)
    assert json.loads(node.content()) == {"live-restore": True, **NVIDIA}


# Consent


@pytest.mark.parametrize(
    ("restart", "containers", "restarted", "why_not"),
    [
        ("never", 0, False, "a restart was not asked for (restart: never)"),
        ("when_idle", 0, True, ""),
        (
            "when_idle",
            1,
            False,
            "1 container is running, which a restart of Docker would stop; "
            "stop them, or set docker_allow_restart to true",
        ),
        (
            "when_idle",
            2,
            False,
            "2 containers are running, which a restart of Docker would stop; "
            "stop them, or set docker_allow_restart to true",
        ),
        ("when_due", 2, True, ""),
    ],
)
def test_consent(restart, containers, restarted, why_not):
    node = Node("{}", containers=containers)
    outcome = apply(node, NVIDIA, restart=restart)
    assert (outcome.restarted, outcome.restart_due, outcome.refused) == (restarted, not restarted, why_not)
    assert node.restarts == int(restarted)
    assert json.loads(node.content()) == NVIDIA


def test_live_restore_keeps_containers_alive_only_when_it_is_on_before_and_after():
    assert apply(Node('{"live-restore": true}', containers=3), NVIDIA).restarted
    assert not apply(Node('{"live-restore": true}', containers=3), {"live-restore": False}).restarted
    assert not apply(Node("{}", containers=3), {"live-restore": True}).restarted


def test_live_restore_given_as_a_flag_of_the_unit():
    node = Node("{}", containers=3, flags="-H fd:// --live-restore")
    node.live_restore = True
    assert apply(node, NVIDIA).restarted


@pytest.mark.parametrize(
    ("file", "settings", "what"),
    [
        ({}, {"bip": "10.9.0.1/24"}, "bip"),
        ({}, {"storage-driver": "btrfs"}, "storage-driver"),
        ({}, {"exec-opts": ["native.cgroupdriver=cgroupfs"]}, "exec-opts"),
        ({"bip": "10.9.0.1/24"}, {"bip": "10.8.0.1/24", "bridge": "br1"}, "bip, bridge"),
    ],
)
def test_live_restore_does_not_keep_containers_where_their_ground_moves(file, settings, what):
    node = Node(json.dumps({"live-restore": True, **file}), containers=2)
    outcome = apply(node, {**NVIDIA, **settings})
    assert outcome.refused == (
        "2 containers are running, which a restart of Docker would stop: live-restore does not keep them where %s "
        "changes; stop them, or set docker_allow_restart to true" % what
    )
    assert not outcome.restarted
    assert apply(node, {**NVIDIA, **settings}, restart="when_due").restarted


def test_live_restore_keeps_containers_on_ground_that_stays():
    node = Node(
        '{"live-restore": true, "bip": "10.9.0.1/24", "exec-opts": ["native.cgroupdriver=systemd"]}', containers=2
    )
    assert apply(node, NVIDIA).restarted


def test_what_the_daemon_tells_of_its_ground_counts_whoever_changed_the_file():
    node = Node('{"live-restore": true}', containers=2)
    node.put(PATH, '{"live-restore": true, "storage-driver": "btrfs"}')
    assert "where storage-driver changes" in apply(node, NVIDIA).refused


def test_ground_that_was_moved_by_a_run_without_consent_is_remembered_by_the_next():
    wanted = {**NVIDIA, "bip": "10.9.0.1/24"}
    node = Node('{"live-restore": true}', containers=2)
    assert "where bip changes" in apply(node, wanted).refused
    assert "where bip changes" in apply(node, wanted).refused


def test_ground_that_is_known_to_be_in_force_does_not_move_because_the_file_is_new():
    """A link as the data root is never told; the file was written since the start, in other things."""
    ground = {"live-restore": True, "data-root": "/data/docker"}
    node = Node(json.dumps(ground), containers=2)
    assert apply(node, {**ground, "default-runtime": "runc"}).changed
    assert apply(node, {**ground, **NVIDIA}).restarted


def test_a_setting_more_that_is_in_force_is_no_restart_for_those_that_docker_does_not_tell():
    node = Node("{}")
    apply(node, {**NVIDIA, **LOGS})
    outcome = apply(node, {**NVIDIA, **LOGS, "live-restore": False})
    assert (outcome.changed, outcome.restarted) == (True, False)
    outcome = apply(node, {**NVIDIA, **LOGS, "live-restore": False, "exec-opts": ["native.cgroupdriver=systemd"]})
    assert (outcome.changed, outcome.restarted, outcome.reason) == (True, False, "")


def test_live_restore_does_not_reach_over_a_new_minor_version():
    node = Node(json.dumps({"live-restore": True, **NVIDIA}), containers=2)
    node.version = "26.1.6"
    assert apply(node, NVIDIA).restarted
    node.version = "27.0.1"
    assert "where the version of Docker changes" in apply(node, NVIDIA).refused


def test_a_refused_restart_stays_due_until_consent_comes():
    node = Node("{}", containers=1)
    assert apply(node, NVIDIA).restart_due
    second = apply(node, NVIDIA)
    assert (second.changed, second.restart_due) == (False, True)
    third = apply(node, NVIDIA, restart="when_due")
    assert (third.changed, third.restarted, third.restart_due) == (True, True, False)


def test_a_daemon_that_does_not_answer_is_not_taken_for_idle():
    node = Node("{}")
    node.answers = False
    outcome = apply(node, NVIDIA)
    assert outcome.reason == "the Docker engine does not answer: Cannot connect to the Docker daemon"
    assert outcome.refused.startswith("whether containers run is not known; set docker_allow_restart to true")


# What is due follows from state


def test_a_run_killed_between_write_and_restart_is_finished_by_the_next():
    node = Node("{}")
    node.put(PATH, json.dumps({**NVIDIA, **LOGS}))
    outcome = apply(node, {**NVIDIA, **LOGS})
    assert (outcome.restarted, node.restarts) == (True, 1)


def test_killed_where_docker_info_cannot_tell():
    node = Node("{}")
    node.put(PATH, json.dumps(LOGS))
    outcome = apply(node, LOGS)
    assert outcome.reason == (
        "/etc/docker/daemon.json was changed after Docker was started, "
        "and Docker does not tell whether it has log-opts.max-size in force"
    )
    assert outcome.restarted
    assert not apply(node, LOGS).changed


def test_a_log_option_that_we_want_is_brought_into_force():
    node = Node(json.dumps(NVIDIA))
    outcome = apply(node, {**NVIDIA, **LOGS})
    assert outcome.reason == "log-opts.max-size changed in /etc/docker/daemon.json"
    assert node.read_at_start["log-opts"] == {"max-size": "10m"}


def test_a_users_own_change_is_not_our_restart():
    node = Node("{}")
    apply(node, {**NVIDIA, **LOGS})
    node.put(PATH, node.content().replace('"max-size"', '"max-file": "3", "max-size"'))
    outcome = apply(node, {**NVIDIA, **LOGS})
    assert (outcome.changed, outcome.restart_due, outcome.reason) == (False, False, "")


def test_after_a_users_restart_the_old_record_does_not_count():
    """The record is for one start. Here the daemon was started without the options, which then came back."""
    node = Node("{}")
    apply(node, LOGS)
    good = node.content()
    node.put(PATH, "{}")
    node.start()
    node.clock += 10
    node.put(PATH, good)
    assert apply(node, LOGS).restarted


def test_writing_down_what_is_in_force_already_needs_no_restart():
    node = Node("{}", containers=1)
    outcome = apply(node, {"default-runtime": "runc"})
    assert (outcome.changed, outcome.restarted, outcome.restart_due) == (True, False, False)


def test_a_runtime_taken_out_by_hand_comes_back():
    node = Node("{}")
    apply(node, NVIDIA)
    node.put(PATH, "{}")
    node.start()
    assert apply(node, NVIDIA).restarted


def test_the_wall_clock_may_be_set_after_the_start():
    """Docker started while the clock stood in the past: by its wall clock the file would seem newer."""
    node = Node(json.dumps(LOGS))
    node.skew += 10_000_000
    assert apply(node, LOGS).reason == ""


def test_a_record_that_cannot_be_read_proves_nothing():
    node = Node("{}")
    node.put(PATH, json.dumps(LOGS))
    node.put(docker_record.PATH, "{")
    assert apply(node, LOGS).restarted


def test_docker_that_is_down_is_started():
    node = Node(json.dumps(NVIDIA))
    node.active = False
    outcome = apply(node, NVIDIA)
    assert (outcome.changed, outcome.restarted, outcome.reason) == (True, True, "docker.service is failed")


# Docker not there


def test_the_merge_is_predicted_where_docker_is_not_installed():
    node = Node(version=None)
    node.loaded = False
    outcome = apply(node, NVIDIA, check_mode=True)
    assert (outcome.changed, outcome.restart_due, outcome.validated) == (True, False, False)
    assert json.loads(outcome.after) == NVIDIA
    assert node.files == {}


def test_the_file_is_written_where_docker_is_not_installed():
    node = Node(version=None)
    node.loaded = False
    assert apply(node, NVIDIA).changed
    assert json.loads(node.content()) == NVIDIA
    assert node.restarts == 0


# Check mode


def test_check_mode_tells_and_changes_nothing():
    node = Node('{"debug": true}')
    before = dict(node.files)
    outcome = apply(node, NVIDIA, check_mode=True)
    assert (outcome.changed, outcome.restarted, outcome.restart_due) == (True, True, False)
    assert outcome.before == '{"debug": true}'
    assert node.files == before
    assert node.restarts == 0
    real = apply(node, NVIDIA)
    assert (real.after, real.changed, real.restarted) == (outcome.after, outcome.changed, outcome.restarted)


def test_check_mode_tells_of_a_restart_without_consent():
    assert apply(Node("{}", containers=1), NVIDIA, check_mode=True).restart_due


# Refused before anything is written


def test_malformed_json_is_named_with_its_place():
    message = refused(Node('{\n  "debug": true,\n}', running=False), NVIDIA)
    assert message == (
        "/etc/docker/daemon.json, which was left as it is: "
        "line 2 column 16: there is a comma before the closing }; remove it"
    )


def test_runtimes_null():
    message = refused(Node('{"runtimes": null}', running=False), NVIDIA)
    assert 'line 1 column 14: "runtimes" is null, but an object is needed there for "nvidia"' in message


def test_case_029_hosts_in_both_places():
    node = Node("{}")
    node.put(PATH, '{"hosts": ["tcp://127.0.0.1:2376", "unix:///var/run/docker.sock"]}')
    message = refused(node, NVIDIA)
    assert message == (
        "dockerd would not start: hosts (flag -H) is given both in /etc/docker/daemon.json and as a flag of "
        "docker.service. Nothing was changed. Keep each in one place: to keep it in the file, run systemctl edit "
        "docker.service, write the three lines [Service], ExecStart= and ExecStart=/usr/bin/dockerd, and run systemctl "
        "daemon-reload."
    )
    assert node.restarts == 0


def test_case_029_a_drop_in_not_loaded_yet():
    node = Node('{"hosts": ["fd://"]}', running=False)
    node.needs_reload = True
    assert "The unit has changed on disk since: run systemctl daemon-reload first." in refused(node, NVIDIA)


@pytest.mark.parametrize("options", [{}, {"check_mode": True}])
def test_case_029_a_drop_in_that_would_break_the_next_boot(options):
    """Loaded is one that starts; what stands on disk counts from the next daemon-reload on."""
    node = Node('{"hosts": ["unix:///var/run/docker.sock"]}', flags="")
    node.needs_reload = True
    node.on_disk = (
        "[Service]\nExecStart=/usr/bin/dockerd\nEnvironmentFile=/etc/default/docker\n"
        "[Service]\nExecStart=\nExecStart=/usr/bin/dockerd $DOCKER_OPTS\n"
    )
    node.put("/etc/default/docker", "DOCKER_OPTS='-H fd://'")
    message = refused(node, NVIDIA, **options)
    assert message.startswith(
        "after the next systemctl daemon-reload or boot, dockerd would not start: hosts (flag -H) is given both"
    )
    assert "run systemctl daemon-reload first" not in message
    node.put("/etc/default/docker", "DOCKER_OPTS=--config-file=/data/daemon.json")
    assert "boot, docker.service starts dockerd with --config-file /data/daemon.json" in refused(
        node, NVIDIA, **options
    )
    node.put("/etc/default/docker", "")
    assert apply(node, NVIDIA, **options).restarted


def test_a_shell_that_starts_dockerd_is_not_asked_for_its_version():
    node = Node("{}", flags="")
    node.program = "/bin/sh -c exec /usr/bin/dockerd"
    node.flags = "-H fd://"
    node.put(PATH, '{"hosts": ["fd://"]}')
    assert "hosts (flag -H) is given both" in refused(node, NVIDIA)
    node.put(PATH, "{}")
    assert apply(node, NVIDIA).restarted
    assert "/usr/bin/dockerd --version" in node.commands


def test_case_029_flags_out_of_an_environment_file():
    node = Node('{"log-driver": "json-file"}')
    node.flags = "-H fd:// $DOCKER_OPTS"
    node.put("/etc/default/docker", 'DOCKER_OPTS="--log-driver=journald"')
    assert "log-driver (flag --log-driver) is given both" in refused(node, NVIDIA)


def test_case_029_runtimes_in_both_places_are_no_conflict_today():
    node = Node("{}", flags="--add-runtime nvidia=/usr/bin/nvidia-container-runtime")
    assert apply(node, NVIDIA).restarted


def test_a_flag_for_another_file():
    node = Node("{}", flags="--config-file /data/daemon.json")
    assert refused(node, NVIDIA) == (
        "docker.service starts dockerd with --config-file /data/daemon.json, so /etc/docker/daemon.json would not be "
        "read; give that path instead, or take the flag out of the unit"
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"ipv6": "true"}', 'line 1 column 10: ipv6: "true" is not true or false; write it so'),
        (
            '{\n  "log-opts": {"max-size": "10m",\n    "max-file": 3}}',
            "line 3 column 17: log-opts.max-file: 3 is not text; write it so",
        ),
        ('{"log-opts": ["env=FOO"]}', 'line 1 column 14: log-opts: ["env=FOO"] is not an object; write it so'),
        (
            '{"runtimes": {"runc": {"path": "runc"}}}',
            'line 1 column 23: runtimes.runc: {"path": "runc"} is a runtime of a reserved name; take it out',
        ),
        ('{"runtimes": {"mine": {}}}', "runtimes.mine: {} has not one of path and runtimeType, or has both"),
        ('{"log-opt": {"max-size": "10m"}}', 'line 1 column 13: log-opt: {"max-size": "10m"} is under the name of the'),
        ('{"max-size": "10m"}', "don't match any configuration option: max-size"),
    ],
)
def test_case_031_a_fault_that_was_there_before_is_said_to_be_so(content, words):
    node = Node("{}")
    node.put(PATH, content)
    message = refused(node, NVIDIA)
    assert message.startswith(
        "dockerd refuses /etc/docker/daemon.json as it is on the node; the fault was there before"
    )
    assert "/tmp/candidate" not in message
    assert words in message
    assert node.restarts == 0


def test_case_031_nothing_to_merge_but_a_restart_would_stop_all():
    node = Node("{}")
    node.put(PATH, json.dumps({**NVIDIA, "ipv6": "true"}))
    message = refused(node, NVIDIA, restart="when_due")
    assert message.startswith("dockerd refuses /etc/docker/daemon.json as it is on the node; mend the file: ")


def test_settings_that_dockerd_refuses():
    message = refused(Node("{}"), {"debug": "yes"})
    assert message.startswith(
        "dockerd refuses /etc/docker/daemon.json with the wanted settings in it; nothing was changed"
    )


def test_settings_that_dockerd_alone_knows_to_be_wrong():
    message = refused(Node("{}"), {"max-size": "10m"})
    assert message.startswith("dockerd refuses /etc/docker/daemon.json with the wanted settings in it; nothing was")


def test_engines_before_23_read_the_file_in_a_start_without_rights():
    node = Node("{}", version="20.10.24+dfsg1")
    assert apply(node, NVIDIA).validated
    assert not any("--validate" in command for command in node.commands)
    (command,) = [command for command in node.commands if "--config-file" in command]
    assert command.startswith("setpriv --reuid=65534 --regid=65534 --clear-groups ")
    assert command.endswith(" --no-new-privs /usr/bin/dockerd --config-file /tmp/candidate")


def test_engines_before_23_refuse_an_unknown_key_before_anything_is_written():
    node = Node("{}", version="20.10.24+dfsg1")
    node.put(PATH, '{"max-size": "10m"}')
    message = refused(node, NVIDIA)
    assert "the fault was there before" in message
    assert "don't match any configuration option: max-size" in message
    assert "/tmp/candidate" not in message


@pytest.mark.parametrize(
    ("version", "rights", "content"),
    [("20.10.24", False, "{}"), ("19.03.15", True, "{}"), ("20.10.24", True, '{"rootless": true}')],
)
def test_what_no_dockerd_has_read_does_not_count_as_validated(version, rights, content):
    node = Node(content, version=version)
    node.rights = rights
    outcome = apply(node, NVIDIA)
    assert (outcome.changed, outcome.validated) == (True, False)


def test_engines_before_23_get_no_byte_order_mark():
    """Measured: 20.10 refuses one, also in a file in which everything else is as wanted."""
    node = Node(json.dumps(NVIDIA), version="20.10.24+dfsg1")
    node.put(PATH, b"\xef\xbb\xbf" + json.dumps(NVIDIA).encode())
    assert apply(node, NVIDIA).changed
    assert node.content() == json.dumps(NVIDIA)
    assert not apply(node, NVIDIA).changed


# A daemon that does not come back


def test_the_old_file_is_put_back_and_docker_runs_again():
    node = Node('{"debug": true}')
    message = refused(node, {"storage-driver": "broken"})
    assert node.active
    assert message.startswith(
        "Docker does not start with the wanted settings in /etc/docker/daemon.json: systemctl restart"
    )
    assert "The old file was put back and Docker runs again." in message
    assert message.endswith("Its last words:\ndockerd: error initializing graphdriver")
    assert node.restarts == 2


def test_a_file_that_was_not_there_is_taken_away_again():
    node = Node(None)
    refused(node, {"storage-driver": "broken"})
    assert PATH not in node.files
    assert node.active


def test_a_daemon_that_starts_but_never_answers():
    node = Node("{}")
    node.answers = False
    before = node.clock
    message = refused(node, NVIDIA, restart="when_due", timeout=30)
    assert (
        "Docker does not start with it either: the Docker engine does not answer: Cannot connect to the Docker daemon."
        in message
    )
    assert 60 <= node.clock - before < 120


def test_a_failed_start_of_a_file_that_we_did_not_write_names_the_last_backup():
    node = Node("{}")
    backup = PATH + ".goldennode-20261130T154109Z~"
    node.put(backup, "{}")
    node.put(PATH, '{"storage-driver": "broken"}')
    message = refused(node, {"storage-driver": "broken"})
    assert "; the file before the last change is %s." % backup in message


def test_a_daemon_that_reads_something_else():
    node = Node("{}")
    node.start = lambda: ""
    with pytest.raises(
        docker_config.DockerConfigError, match="Docker was restarted and answers, but not with the wanted"
    ):
        apply(node, NVIDIA, timeout=5)
    assert node.restarts == 1


def test_an_old_file_that_cannot_be_put_back_is_named():
    node = Node('{"debug": true}')
    writes = []
    node.full = lambda path: writes.append(path) or writes.count(PATH) > 1
    with pytest.raises(docker_config.DockerConfigError) as caught:
        apply(node, {"storage-driver": "broken"})
    (backup,) = [path for path in node.files if path.endswith("~")]
    assert "The old file could not be put back (No space left on device); it is kept as %s. " % backup in str(
        caught.value
    )
    assert "Docker does not start with it either: systemctl restart" in str(caught.value)
    assert node.files[backup] == b'{"debug": true}'


# A file that cannot be written


@pytest.mark.parametrize(
    ("number", "hint"),
    [
        (errno.ENOSPC, "No space left on device. The file is as it was; make room on its file system"),
        (errno.EROFS, "Read-only file system. The file is as it was; its file system is read-only"),
        (
            errno.EPERM,
            "Operation not permitted. The file is as it was; the file or its folder may be immutable: lsattr",
        ),
        (errno.EIO, "Input/output error. The file is as it was"),
    ],
)
def test_a_file_that_cannot_be_written_is_named_with_what_to_do(number, hint):
    node = Node('{"debug": false}')
    node.put(PATH + ".goldennode-20261130T154109Z~", "{}")
    before = dict(node.files)

    def write(path, content, like=None):
        if path == PATH:
            raise OSError(number, os.strerror(number), path)
        node.put(path, content)

    node.write = write
    for _run in range(5):
        message = refused(node, NVIDIA)
        assert message.startswith("%s could not be written: %s" % (PATH, hint))
    assert node.files == before  # backups of a file that is there still would push out the older ones
    assert node.restarts == 0


def test_a_backup_that_cannot_be_written_stops_the_change():
    node = Node('{"debug": false}')
    node.full = lambda path: path != PATH
    assert refused(node, NVIDIA).startswith(PATH + ".goldennode-")


def test_half_files_of_killed_runs_are_cleared_away_and_no_others():
    node = Node('{"debug": false}')
    half = "/etc/docker/.daemon.json.a1_b2c3d.goldennode"
    of_backup = "/etc/docker/.daemon.json.goldennode-20261130T154109Z~.a1b2c3d4.goldennode"
    young = "/etc/docker/.daemon.json.zzzzzzzz.goldennode"
    others = ["/etc/docker/.daemon.json.swp", "/etc/docker/.key.json.a1b2c3d4.goldennode"]
    for path in [half, of_backup, *others]:
        node.put(path, "{")
    node.clock += 4000
    node.put(young, "{")
    apply(node, NVIDIA)
    assert {half, of_backup} & set(node.files) == set()
    assert {young, *others} <= set(node.files)


# Backups


def test_one_backup_for_each_change_and_the_newest_three_are_kept():
    node = Node('{"debug": false}')
    node.put(PATH + ".goldennode-mine", "not a backup of ours")
    for number in range(5):
        assert apply(node, {"log-opts": {"max-file": str(number)}}).backup_file in node.files
        assert apply(node, {"log-opts": {"max-file": str(number)}}).backup_file is None
    backups = [path for path in node.files if path.endswith("~")]
    assert len(backups) == 3
    assert [json.loads(node.files[path])["log-opts"]["max-file"] for path in sorted(backups)] == ["1", "2", "3"]
    assert PATH + ".goldennode-mine" in node.files


def test_no_backup_when_none_is_wanted():
    node = Node('{"debug": false}')
    assert apply(node, NVIDIA, backup=False).backup_file is None
    assert not [path for path in node.files if path.endswith("~")]
