# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which wanted settings are in force in the running Docker daemon, by what it tells itself. Pure.

What changes the daemon and what checks it ask here, so that they cannot disagree. What is told stands in the words of
daemon.json (``parse.docker_info``); what a daemon does not tell is neither in force nor not: None.
"""

from __future__ import annotations

import ipaddress
import posixpath
import re
import typing as t

from . import trees
from .trees import Path

#: These addresses are insecure registries for every daemon, wanted or not.
_LOOPBACK = frozenset({"127.0.0.0/8", "::1/128"})
_SCHEME = re.compile(r"^https?://", re.IGNORECASE)
#: With userns-remap the daemon works in a folder below the data root, called after the mapped user and group.
_REMAPPED = re.compile(r"/[0-9]+\.[0-9]+$")
_CGROUP_DRIVER = "native.cgroupdriver"


def judge(told: t.Mapping[str, t.Any], settings: t.Mapping[str, t.Any]) -> t.Dict[Path, t.Optional[bool]]:
    """For each setting: is it in force in the running daemon? None: the daemon does not tell."""
    return {path: _judged(told, path, trees.at(settings, path)) for path in leaves(settings)}


def contradicted(told: t.Mapping[str, t.Any], settings: t.Mapping[str, t.Any]) -> t.List[Path]:
    """The settings of which the daemon says that they are otherwise. A runtime that it does not have is one of them."""
    wrong = [path for path, answer in judge(told, settings).items() if answer is False]
    missing = {path[:2] for path in wrong if path[0] == "runtimes" and trees.at(told, path[:2]) is None}
    return list(dict.fromkeys(path[:2] if path[:2] in missing else path for path in wrong))


def untold(told: t.Mapping[str, t.Any], settings: t.Mapping[str, t.Any]) -> t.List[Path]:
    """The settings of which the daemon says nothing."""
    return [path for path, answer in judge(told, settings).items() if answer is None]


def leaves(settings: t.Mapping[str, t.Any], path: Path = ()) -> t.List[Path]:
    """Paths of all values but objects, which are looked into; of one that is empty there is nothing to be in force."""
    found: t.List[Path] = []
    for key, value in settings.items():
        found.extend(leaves(value, (*path, key)) if isinstance(value, dict) else [(*path, key)])
    return found


def names(paths: t.Iterable[Path]) -> str:
    return ", ".join(".".join(path) for path in paths)


def _judged(told: t.Mapping[str, t.Any], path: Path, wanted: t.Any) -> t.Optional[bool]:
    if path[0] == "runtimes" and len(path) > 2:
        return _runtime(told.get("runtimes"), path, wanted)
    said = trees.at(told, path)
    if said is None or wanted is None:
        return None
    same = _SAME.get(path[0])
    if same is not None:
        return same(said, wanted)
    return type(said) is type(wanted) and bool(said == wanted)


def _runtime(runtimes: t.Any, path: Path, wanted: t.Any) -> t.Optional[bool]:
    """An engine tells each runtime's name, with path and arguments, or with nothing where it is a shim by type."""
    if not isinstance(runtimes, dict):
        return None
    said = runtimes.get(path[1])
    if said is None:
        return False
    key = path[2:]
    if key == ("args",):
        return True  # nvidia-ctk writes this key, and no engine reads it
    if key == ("path",):
        return bool(said.get("path") == wanted)
    if key == ("runtimeArgs",) and "path" in said:
        return bool((said.get("runtimeArgs") or []) == wanted)
    return None


def _data_root(said: str, wanted: t.Any) -> t.Optional[bool]:
    """The daemon tells the real path. Another one than wanted may be where a link leads."""
    if not isinstance(wanted, str) or not wanted:
        return None
    root = posixpath.normpath(wanted)
    return True if same_root(said, root) else None


def same_root(said: str, root: str) -> bool:
    """Whether a daemon that tells ``said`` was given ``root``."""
    return root in (said, _REMAPPED.sub("", said))


def _exec_opts(said: t.Sequence[str], wanted: t.Any) -> t.Optional[bool]:
    """Of these the daemon tells the driver of control groups alone. The last of several counts."""
    asked = _options(wanted).get(_CGROUP_DRIVER)
    return None if asked is None else asked == _options(said).get(_CGROUP_DRIVER)


def _options(words: t.Any) -> t.Dict[str, str]:
    pairs = (str(word).partition("=") for word in words) if isinstance(words, (list, tuple)) else ()
    return {name.strip().lower(): value.strip() for name, _equals, value in pairs}


def _mirrors(said: t.Sequence[str], wanted: t.Any) -> t.Optional[bool]:
    """In order, each once, and with one slash at the end."""
    return _texts(wanted) and _each_mirror(said) == _each_mirror(wanted)


def _each_mirror(mirrors: t.Iterable[str]) -> t.List[str]:
    return list(dict.fromkeys(mirror.rstrip("/") for mirror in mirrors))


def _registries(said: t.Sequence[str], wanted: t.Any) -> t.Optional[bool]:
    return _texts(wanted) and {_registry(name) for name in wanted} | _LOOPBACK == set(said) | _LOOPBACK


def _registry(name: str) -> str:
    return _network(_SCHEME.sub("", name))


def _network(address: str) -> str:
    """``10.1.2.3/8`` is told as ``10.0.0.0/8``. What is no network stays."""
    try:
        return str(ipaddress.ip_network(address, strict=False)) if "/" in address else address
    except ValueError:
        return address


def _labels(said: t.Sequence[str], wanted: t.Any) -> t.Optional[bool]:
    """Newer daemons tell them in any order."""
    return _texts(wanted) and set(said) == set(wanted)


def _address_pools(said: t.Any, wanted: t.Any) -> t.Optional[bool]:
    return isinstance(wanted, list) and _pools(said) == _pools(wanted)


def _pools(pools: t.Iterable[t.Any]) -> t.List[t.Tuple[str, t.Any]]:
    return [
        (_network(str(pool.get("base"))), pool.get("size")) if isinstance(pool, dict) else ("", None) for pool in pools
    ]


def _texts(wanted: t.Any) -> bool:
    return isinstance(wanted, list) and all(isinstance(word, str) for word in wanted)


#: How a daemon's own spelling of a setting is compared with the wanted one; all others must be equal.
_SAME: t.Dict[str, t.Callable[[t.Any, t.Any], t.Optional[bool]]] = {
    "data-root": _data_root,
    "default-address-pools": _address_pools,
    "exec-opts": _exec_opts,
    "insecure-registries": _registries,
    "labels": _labels,
    "registry-mirrors": _mirrors,
}
