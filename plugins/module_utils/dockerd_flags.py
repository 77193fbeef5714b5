# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The flags that a start of dockerd would get, and which keys of daemon.json they collide with. Pure.

dockerd refuses to start when one setting is given as a flag and in its file. The running process tells what the
*last* start got; the next one gets what the unit says now, with its environment files expanded; and the one after
systemd has read its units again, at the next boot at the latest, what they say on disk.
"""

from __future__ import annotations

import dataclasses
import re
import shlex
import typing as t

DEFAULT_CONFIG = "/etc/docker/daemon.json"

#: From this engine on, runtimes given in both places are put together; before, they collided too.
RUNTIMES_MERGED_SINCE = (18, 9)

#: Flags that are called otherwise in the file. All others have the same name there.
KEY_OF_FLAG = {
    "add-runtime": "runtimes",
    "allow-nondistributable-artifact": "allow-nondistributable-artifacts",
    "authorization-plugin": "authorization-plugins",
    "cdi-spec-dir": "cdi-spec-dirs",
    "cluster-store-opt": "cluster-store-opts",
    "default-address-pool": "default-address-pools",
    "default-network-opt": "default-network-opts",
    "default-ulimit": "default-ulimits",
    "dns-opt": "dns-opts",
    "exec-opt": "exec-opts",
    "feature": "features",
    "host": "hosts",
    "insecure-registry": "insecure-registries",
    "label": "labels",
    "log-opt": "log-opts",
    "node-generic-resource": "node-generic-resources",
    "registry-mirror": "registry-mirrors",
    "storage-opt": "storage-opts",
}
_KEY_OF_LETTER = {
    "D": "debug",
    "G": "group",
    "H": "hosts",
    "b": "bridge",
    "g": "graph",
    "l": "log-level",
    "p": "pidfile",
    "s": "storage-driver",
}
_LETTERS_WITHOUT_VALUE = "Dhv"

#: Objects that dockerd compares as a whole; it looks into every other object and compares what is inside.
_WHOLE_OBJECTS = (
    "builder",
    "cluster-store-opts",
    "default-network-opts",
    "default-ulimits",
    "features",
    "log-opts",
    "runtimes",
)

#: systemd's own signs in front of a program: no variables, another name, failures that do not count, rights.
_EXEC_PREFIXES = "@-:+!|"

#: dockerd itself, or a copy of it that is called alike (dockerd-ce).
_DOCKERD = re.compile(r"^(?:.*/)?dockerd(?:-[a-z]+)?$")

_ARGV = re.compile(r"argv\[\]=(.*?) ; ignore_errors=")
_ENVIRONMENT_FILE = re.compile(r"^(.*?)(?: \(ignore_errors=(?:yes|no)\))?$")
_ASSIGNMENT = re.compile(r"^\s*([A-Za-z_][A-Za-z0-9_]*)=(.*)$")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_WHOLE_VARIABLE = re.compile(r"^\$([A-Za-z_][A-Za-z0-9_]*)$")


@dataclasses.dataclass(frozen=True)
class Service:
    """What a unit says of its start: the command line as written, and where the variables in it come from."""

    words: t.Tuple[str, ...] = ()
    environment: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    environment_files: t.Tuple[str, ...] = ()


def loaded(properties: t.Mapping[str, t.Sequence[str]]) -> Service:
    """The service as systemd has it loaded, by what ``systemctl show`` prints, drop-ins included."""
    match = _ARGV.search("".join(properties.get("ExecStart", ())[:1]))
    variables: t.Dict[str, str] = {}
    for value in properties.get("Environment", ()):
        variables.update(environment_of_unit(value))
    files = environment_files(properties.get("EnvironmentFiles", ()))
    return Service(tuple(match.group(1).split()) if match else (), variables, tuple(files))


def on_disk(text: str) -> Service:
    """The service as its files say, unit and drop-ins in systemd's order: what ``systemctl cat`` prints.

    An empty assignment forgets those before it.
    """
    words: t.List[str] = []
    variables: t.Dict[str, str] = {}
    files: t.List[str] = []
    for name, value in _assignments(text, "Service"):
        if name == "ExecStart":
            words = _words(value.lstrip(_EXEC_PREFIXES)) if value else []
        elif name == "Environment":
            variables = {**variables, **environment_of_unit(value)} if value else {}
        elif name == "EnvironmentFile":
            files = [*files, value.lstrip("-")] if value else []
    return Service(tuple(words), variables, tuple(files))


def _assignments(text: str, section: str) -> t.Iterator[t.Tuple[str, str]]:
    inside = False
    for line in text.replace("\\\n", " ").splitlines():
        line = line.strip()
        if line.startswith("["):
            inside = line == "[%s]" % section
        elif inside and "=" in line and not line.startswith(("#", ";")):
            name, _equals, value = line.partition("=")
            yield name.strip(), value.strip()


def command_line(words: t.Iterable[str], environment: t.Mapping[str, str]) -> t.List[str]:
    """dockerd and its arguments, with variables replaced as systemd replaces them.

    ``${NAME}`` stays inside its word; ``$NAME`` alone is split into words; an unset variable is empty. What stands
    before dockerd (env, nice, a shell) goes. Nothing is left where dockerd is not named: a script of somebody's.
    """
    replaced: t.List[str] = []
    for word in words:
        whole = _WHOLE_VARIABLE.match(word)
        if whole:
            replaced.extend(_words(environment.get(whole.group(1), "")))
        else:
            replaced.append(_VARIABLE.sub(lambda found: environment.get(found.group(1), ""), word))
    at = next((at for at, word in enumerate(replaced) if _DOCKERD.match(word)), len(replaced))
    return replaced[at:]


def environment_files(shown: t.Iterable[str]) -> t.List[str]:
    """Paths in ``systemctl show``'s EnvironmentFiles values: ``/etc/default/docker (ignore_errors=yes)``."""
    matches = (_ENVIRONMENT_FILE.match(value.strip()) for value in shown)
    return [match.group(1) for match in matches if match and match.group(1)]


def environment(text: str) -> t.Dict[str, str]:
    """Variables of an environment file, quotes removed as systemd removes them."""
    found: t.Dict[str, str] = {}
    for line in text.replace("\\\n", " ").splitlines():
        match = _ASSIGNMENT.match(line)
        if match:
            found[match.group(1)] = " ".join(_words(match.group(2)))
    return found


def environment_of_unit(shown: str) -> t.Dict[str, str]:
    """Variables in ``systemctl show``'s Environment value: ``A=b "C=d e"``."""
    return dict(t.cast("t.Tuple[str, str]", word.split("=", 1)) for word in _words(shown) if "=" in word)


def config_path(arguments: t.Sequence[str]) -> str:
    """The configuration file that dockerd reads when it is started with these arguments. The last flag counts."""
    path = DEFAULT_CONFIG
    for at, word in enumerate(arguments):
        if word == "--config-file" and at + 1 < len(arguments):
            path = arguments[at + 1]
        if word.startswith("--config-file="):
            path = word.partition("=")[2]
    return path


def switched_on(arguments: t.Iterable[str], flag: str) -> bool:
    return any(word in ("--%s" % flag, "--%s=true" % flag) for word in arguments)


def conflicts(
    arguments: t.Sequence[str],
    config: t.Mapping[str, t.Any],
    version: t.Optional[t.Tuple[int, ...]] = None,
) -> t.List[t.Tuple[str, str]]:
    """(key of the file, flag) for every setting that is given in both places; such a dockerd does not start."""
    merged_anyway = set() if version and version < RUNTIMES_MERGED_SINCE else {"runtimes"}
    in_file = set(_keys(config)) - merged_anyway
    found: t.List[t.Tuple[str, str]] = []
    for word in arguments:
        for key in _keys_of_word(word):
            if key in in_file:
                found.append((key, word.partition("=")[0]))
    return list(dict.fromkeys(found))


def _keys(config: t.Mapping[str, t.Any]) -> t.Iterator[str]:
    for key, value in config.items():
        if isinstance(value, dict) and key not in _WHOLE_OBJECTS:
            yield from value
        else:
            yield key


def _keys_of_word(word: str) -> t.Iterator[str]:
    if word.startswith("--"):
        flag = word[2:].partition("=")[0]
        yield KEY_OF_FLAG.get(flag, flag)
    elif word.startswith("-"):
        for letter in word[1:]:
            if letter in _KEY_OF_LETTER:
                yield _KEY_OF_LETTER[letter]
            if letter not in _LETTERS_WITHOUT_VALUE:
                return


def _words(text: str) -> t.List[str]:
    try:
        return shlex.split(text)
    except ValueError:
        # An unbalanced quote: systemd warns and goes on; a plain split still shows the flags.
        return text.split()
