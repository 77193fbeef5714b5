# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What dockerd takes for the keys of daemon.json, so that a file that would stop it is found before it is read. Pure.

One table for all engines from 20.10 on: no key has changed its type since. A key that is not in it is nobody's fault:
it may be of a newer engine, and dockerd itself says so where it can be asked.
"""

from __future__ import annotations

import dataclasses
import json
import typing as t

from . import dockerd_flags
from .parse.text import is_secret, without_secrets
from .trees import Path

TEXT = "text"
SWITCH = "true or false"
NUMBER = "a whole number"
OBJECT = "an object"
TEXTS = "a list of texts"
POOLS = "a list of objects with a base and a size"


@dataclasses.dataclass(frozen=True)
class _MapOf:
    """An object whose keys are anybody's."""

    shape: t.Any


def _each(shape: str, keys: str) -> t.Dict[str, str]:
    return dict.fromkeys(keys.split(), shape)


_RUNTIME = {"path": TEXT, "runtimeArgs": TEXTS, "runtimeType": TEXT, "options": OBJECT}
_ULIMIT = {"Name": TEXT, "Hard": NUMBER, "Soft": NUMBER}
_SHAPES: t.Dict[str, t.Any] = {
    **_each(
        TEXT,
        """
        api-cors-header bip bip6 bridge bridge-accept-fwmark cgroup-parent cluster-advertise cluster-store containerd
        containerd-namespace containerd-plugin-namespace data-root default-cgroupns-mode default-gateway
        default-gateway-v6 default-ipc-mode default-runtime default-shm-size exec-root firewall-backend fixed-cidr
        fixed-cidr-v6 graph group host-gateway-ip init-path ip log-driver log-format log-level metrics-addr pidfile
        resolv-conf seccomp-profile storage-driver swarm-default-advertise-addr tlscacert tlscert tlskey
        userland-proxy-path userns-remap
        """,
    ),
    **_each(
        SWITCH,
        """
        allow-direct-routing cri-containerd debug experimental icc init ip-forward ip-forward-no-drop ip-masq ip6tables
        iptables ipv6 live-restore no-new-privileges raw-logs selinux-enabled tls tlsverify userland-proxy
        """,
    ),
    **_each(
        NUMBER,
        """
        cpu-rt-period cpu-rt-runtime max-concurrent-downloads max-concurrent-uploads max-download-attempts mtu
        network-control-plane-mtu network-diagnostic-port oom-score-adjust shutdown-timeout
        """,
    ),
    **_each(
        TEXTS,
        """
        allow-nondistributable-artifacts authorization-plugins cdi-spec-dirs dns dns-opts dns-search exec-opts
        host-gateway-ips hosts insecure-registries labels node-generic-resources registry-mirrors storage-opts
        """,
    ),
    "builder": OBJECT,
    "cluster-store-opts": _MapOf(TEXT),
    "default-address-pools": POOLS,
    "default-network-opts": _MapOf(_MapOf(TEXT)),
    "default-ulimits": _MapOf(_ULIMIT),
    "features": _MapOf(SWITCH),
    "log-opts": _MapOf(TEXT),
    "proxies": {"http-proxy": TEXT, "https-proxy": TEXT, "no-proxy": TEXT},
    "runtimes": _MapOf(_RUNTIME),
}

#: Names that dockerd knows wherever they stand.
_FLAGS = (*_SHAPES, *_SHAPES["proxies"], *dockerd_flags.KEY_OF_FLAG)

_RESERVED_RUNTIMES = ("runc",)


@dataclasses.dataclass(frozen=True)
class Fault:
    """Something in daemon.json with which dockerd does not start. ``message`` goes on where path and value end."""

    path: Path
    value: t.Any
    message: str
    fix: str

    def __str__(self) -> str:
        value = "the value" if is_secret(self.path[-1]) else _spelled(self.value)
        return "%s: %s %s; %s" % (".".join(self.path), value, self.message, self.fix)


def faults(config: t.Mapping[str, t.Any]) -> t.List[Fault]:
    """All that is known to stop dockerd, whatever else the file has."""
    wrong = [
        Fault(path, value, "is not %s" % wanted, "write it so, dockerd takes nothing else there")
        for path, value, wanted in _misfits(config, _SHAPES, ())
    ]
    return list(_misnamed(config)) + wrong + _unstartable(config.get("runtimes"))


def _misnamed(config: t.Mapping[str, t.Any]) -> t.Iterator[Fault]:
    """Keys that no engine has: one of its own in other letters, or a flag's name over an object of settings.

    dockerd refuses what it does not know, and looks for that inside objects (measured with 20.10).
    """
    for key, value in config.items():
        name = key.lower().replace("_", "-")
        known = key in _SHAPES or (isinstance(value, dict) and all(inner in _FLAGS for inner in value))
        if known:
            continue
        if name in _SHAPES:
            yield Fault((key,), value, "is under a name that dockerd does not know", "call it %s" % name)
        elif name in dockerd_flags.KEY_OF_FLAG and isinstance(value, dict):
            right = dockerd_flags.KEY_OF_FLAG[name]
            yield Fault((key,), value, "is under the name of the flag", "call it %s, as it is in the file" % right)


def _misfits(value: t.Any, shape: t.Any, path: Path) -> t.Iterator[t.Tuple[Path, t.Any, str]]:
    """(path, value, what is taken there). ``null`` stands for the default everywhere."""
    if value is None:
        return
    if isinstance(shape, str):
        if not _FITS[shape](value):
            yield path, value, shape
    elif not isinstance(value, dict):
        yield path, value, OBJECT
    else:
        for key, inner in value.items():
            wanted = shape.shape if isinstance(shape, _MapOf) else shape.get(key)
            if wanted is not None:
                yield from _misfits(inner, wanted, (*path, key))


def _unstartable(runtimes: t.Any) -> t.List[Fault]:
    """What dockerd finds only when it starts: its own validation (measured with 26.1) lets these pass."""
    found = []
    for name, runtime in runtimes.items() if isinstance(runtimes, dict) else ():
        ways = runtime if isinstance(runtime, dict) else {}
        if name in _RESERVED_RUNTIMES:
            found.append(Fault(("runtimes", name), runtime, "is a runtime of a reserved name", "take it out"))
        elif bool(ways.get("path")) == bool(ways.get("runtimeType")) and (ways or not runtime):
            message = "has not one of path and runtimeType, or has both"
            found.append(Fault(("runtimes", name), runtime, message, "give it one of the two"))
    return found


def _spelled(value: t.Any) -> str:
    # No surrogate comes through: what is said here is written to files too.
    text = without_secrets(json.dumps(value, ensure_ascii=False, default=str))
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text if len(text) <= 60 else text[:57] + "..."


def _is_number(value: t.Any) -> bool:
    """As Go reads one: ``3.0`` and ``1e3`` are none, and it has 64 bits."""
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63


def _is_pools(value: t.Any) -> bool:
    return isinstance(value, list) and not any(True for pool in value for _misfit in _misfits(pool, _POOL, ()))


_POOL = {"base": TEXT, "size": NUMBER}
_FITS: t.Dict[str, t.Callable[[t.Any], bool]] = {
    TEXT: lambda value: isinstance(value, str),
    SWITCH: lambda value: isinstance(value, bool),
    NUMBER: _is_number,
    OBJECT: lambda value: isinstance(value, dict),
    TEXTS: lambda value: isinstance(value, list) and all(word is None or isinstance(word, str) for word in value),
    POOLS: _is_pools,
}
