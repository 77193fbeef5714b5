# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which Docker answers: the system's, or another one that sees neither the host's libraries nor daemon.json.

With another one "libnvidia-ml.so.1 not found" reads like a missing driver, and root may be answered by the right daemon
while users are not.
"""

from __future__ import annotations

import re
import typing as t

from ..docker_record import UNIT
from ..model import Desired, DockerClient, DockerEngine, Evidence, Finding, SocketListener
from .outcome import all_passed, failed, passed, skipped, unknown

SOCKET = "/var/run/docker.sock"

_INIT = 1
_OURS = ("unix://" + SOCKET, "unix:///run/docker.sock", "fd://")
_NOT_THE_DRIVER = "The driver is not at fault."
_BACK = "Then: systemctl restart docker.socket docker.service, and run site.yml. %s" % _NOT_THE_DRIVER
#: What Podman's stand-in for the docker command says of itself.
_SHIM = "Emulate Docker CLI using podman"


class Stranger(t.NamedTuple):
    """Another daemon than that of docker.service: ``name`` goes on after "Requests reach"."""

    name: str
    fix: str


def daemon(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    """On the socket that root's services ask. Needs nothing of what is wanted, so it is asked before any lock is."""
    there, listener = stranger(evidence), evidence.docker_socket.value
    if there is not None:
        return [
            failed(
                expected="the daemon of %s on %s" % (UNIT, SOCKET),
                actual=_seen(evidence.docker.value, listener),
                cause="Requests to %s reach %s: the GPU stack of this host and /etc/docker/daemon.json are not its"
                " own." % (SOCKET, there.name),
                fix=there.fix,
                repair="manual",
            )
        ]
    if not evidence.docker_socket.known:
        return [unknown("docker_socket: %s" % evidence.docker_socket.error)]
    if listener is None:
        return [passed("nobody listens on %s" % SOCKET)]
    return [passed("%s listens on %s for %s" % (_program(listener), listener.path, UNIT))]


def stranger(evidence: Evidence) -> t.Optional[Stranger]:
    """The other daemon that answers; None where it is the system's, or nobody knows of another."""
    for known in (_desktop, _snap, _podman, _rootless, _by_hand):
        found = known(evidence.docker.value or DockerEngine(version=""), evidence.docker_socket.value, evidence)
        if found:
            return found
    return None


def not_ours(evidence: Evidence) -> t.Optional[Finding]:
    """For the checks of the running daemon: there is none of docker.service to judge, and another check says so."""
    if stranger(evidence):
        return skipped("another daemon answers: see container_runtime.daemon")
    if evidence.docker.known and evidence.docker.value is None:
        return skipped("Docker is not installed: see container_runtime.engine")
    return None


_Listener = t.Optional[SocketListener]


def _desktop(engine: DockerEngine, listener: _Listener, evidence: Evidence) -> t.Optional[Stranger]:
    if engine.operating_system == "Docker Desktop" or _is_at(listener, r"/\.docker/(desktop|run)/"):
        return Stranger(
            "Docker Desktop, which runs in a virtual machine",
            "Quit Docker Desktop, switch off its default socket in its settings and remove %s if that is still a link."
            " Where only a context leads there: docker context use default. %s" % (SOCKET, _BACK),
        )
    return None


def _snap(engine: DockerEngine, listener: _Listener, evidence: Evidence) -> t.Optional[Stranger]:
    if engine.root_dir.startswith("/var/snap/") or _runs_in(listener, r"/snap\.docker\."):
        return Stranger(
            "the snap of Docker, which keeps its data in %s" % (engine.root_dir or "/var/snap/docker"),
            "Save what its containers and volumes hold, then: snap remove docker. %s" % _BACK,
        )
    return None


def _podman(engine: DockerEngine, listener: _Listener, evidence: Evidence) -> t.Optional[Stranger]:
    if _SHIM in (evidence.docker.error or "") or (evidence.docker.known and engine.root_dir.endswith(_PODMAN_ROOT)):
        return Stranger("Podman, since the docker command is the one of podman-docker", _NO_SHIM)
    if _is_at(listener, r"/podman\.sock$") or (listener and _program(listener) == "podman"):
        return Stranger("Podman", _NO_SHIM)
    return None


_PODMAN_ROOT = "/containers/storage"
_NO_SHIM = (
    "Remove the package podman-docker, and %s if that is still a link to Podman's socket; Podman itself may stay. %s"
    % (SOCKET, _BACK)
)


def _rootless(engine: DockerEngine, listener: _Listener, evidence: Evidence) -> t.Optional[Stranger]:
    """A user's own, by where it runs: that alone its security options do not tell."""
    where = "%s %s" % (listener.path, listener.cgroup) if listener else ""
    match = re.search(r"(?:^/run/user/|/user@)(\d+)(?:/|\.service)", where)
    if match:
        return Stranger(
            "a rootless daemon of user %s" % match.group(1),
            "Take its socket from %s: remove the link, or its -H; its users reach it by a context of their own. %s"
            % (SOCKET, _BACK),
        )
    return None


def _by_hand(engine: DockerEngine, listener: _Listener, evidence: Evidence) -> t.Optional[Stranger]:
    """systemd listens for docker.socket, or dockerd does so in its unit. Anything else was put there by somebody."""
    if listener is None or listener.pid == _INIT or listener.cgroup.rpartition("/")[2] == UNIT:
        return None
    if listener.pid == 0:
        return Stranger(
            "a process outside of this system",
            "This looks like a container that was given a socket from outside. Run the collection on the host itself."
            " %s" % _NOT_THE_DRIVER,
        )
    name = _program(listener)
    what = "a second dockerd that %s did not start" % UNIT if name == "dockerd" else "%s, which is no dockerd" % name
    return Stranger(
        "%s (pid %d%s)" % (what, listener.pid, " in %s" % listener.cgroup if listener.cgroup else ""),
        "Stop it: kill %d, and take away what starts it. %s" % (listener.pid, _BACK),
    )


def _is_at(listener: _Listener, pattern: str) -> bool:
    return listener is not None and re.search(pattern, listener.path) is not None


def _runs_in(listener: _Listener, pattern: str) -> bool:
    return listener is not None and re.search(pattern, listener.cgroup) is not None


def _program(listener: SocketListener) -> str:
    return listener.program.rpartition("/")[2] or "a process without a name"


def _seen(engine: t.Optional[DockerEngine], listener: _Listener) -> str:
    words = []
    if engine is not None:
        words.append("%s, root %s" % (engine.operating_system or "an engine", engine.root_dir or "not told"))
    if listener is not None:
        words.append("%s listens on %s (pid %d)" % (_program(listener), listener.path, listener.pid))
    return "; ".join(words) or "Podman's docker command"


# --- whom users ask -----------------------------------------------------------------------------------------------


def clients(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    """Root and the wanted users ask the daemon that was verified. What a user sets takes no gold from the node, which
    works; but that this user's containers have GPUs is not proven.
    """
    there = evidence.docker_clients.value
    if there is None:
        return [unknown("nothing was read", required=False)]
    problems = [_elsewhere(client) for client in there.settings if client.endpoint not in _OURS]
    problems += [
        unknown(why, _who(user), cause="Whom the docker command of %s asks is not known: %s." % (_who(user), why),
                required=False)
        for user, why in sorted(there.unread.items())
    ]  # fmt: skip
    return all_passed(problems, "the docker commands of root and of the wanted users ask the system's daemon")


def _elsewhere(client: DockerClient) -> Finding:
    if client.by == "context":
        shown, fix = "context %s" % client.value, "As %s: docker context use default." % _who(client.user)
    else:
        shown = "%s=%s" % (client.by, client.value)
        fix = "Take the line out of %s, and log in anew." % client.file
    if client.endpoint and client.endpoint != client.value:
        shown += " (%s)" % client.endpoint
    return failed(
        _who(client.user),
        expected="unix://" + SOCKET,
        actual="%s, in %s" % (shown, client.file),
        cause="The docker command of %s asks %s and not the daemon that was verified: %s in %s."
        % (_who(client.user), _kind(client.endpoint or client.value), shown, client.file),
        fix="%s %s" % (fix, _NOT_THE_DRIVER),
        repair="manual",
        required=False,
    )


def _who(user: str) -> str:
    return user or "every user"


def _kind(endpoint: str) -> str:
    for pattern, name in (
        (r"/\.docker/(desktop|run)/|^desktop-", "Docker Desktop"),
        (r"/podman\.sock$", "Podman"),
        (r"/run/user/|XDG_RUNTIME_DIR|^rootless$", "a rootless daemon"),
        (r"/snap", "the snap of Docker"),
        (r"^(tcp|ssh|https?|npipe)://", "a daemon of another machine"),
    ):
        if re.search(pattern, endpoint):
            return name
    return "another daemon"
