# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bring settings into the container toolkit's config.toml. Each start of a container reads it: nothing is restarted.

The toolkit's own ``nvidia-ctk config --set`` writes the file anew and gives no answer to whether anything changed; but
it reads the file as the runtime does, so it is asked whether the toolkit takes what is to be written.
"""

from __future__ import annotations

import dataclasses
import typing as t

from . import backups, toml_text
from .system import System, known, said
from .toml_scan import TomlError, decode
from .toolkit_wanted import CONFIG

_COMMAND_TIMEOUT = 20.0


class ToolkitConfigError(Exception):
    """The settings cannot be brought in. The message says what to do."""


@dataclasses.dataclass(frozen=True)
class Wanted:
    settings: t.Dict[str, t.Any]
    path: str = CONFIG
    backup: bool = True
    check_mode: bool = False


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What was done, or in check mode would be done. ``validated``: the toolkit itself has read the new file."""

    changed: bool
    before: str
    after: str
    validated: bool
    backup_file: t.Optional[str] = None


def apply(system: System, wanted: Wanted) -> Outcome:
    raw = known(system.read_bytes(wanted.path))
    candidate = _merged(raw, wanted)
    changed = candidate != (raw or b"")
    outcome = Outcome(
        changed=changed,
        before=decode(raw or b""),
        after=decode(candidate),
        validated=changed and _validate(system, raw, candidate, wanted.path),
    )
    if not changed or wanted.check_mode:
        return outcome
    backup = backups.replace(system, wanted.path, raw, candidate, keep=wanted.backup)
    return dataclasses.replace(outcome, backup_file=backup)


def _merged(raw: t.Optional[bytes], wanted: Wanted) -> bytes:
    try:
        return toml_text.merge(raw, wanted.settings)
    except TomlError as error:
        raise ToolkitConfigError("%s, which was left as it is: %s" % (wanted.path, error)) from error


def _validate(system: System, raw: t.Optional[bytes], candidate: bytes, path: str) -> bool:
    """Refuse what the toolkit would not read. False where it is not installed."""
    words = _complaint(system, candidate, path)
    if words == "":
        return True
    if words is None:
        return False
    if raw is not None and _complaint(system, raw, path):
        raise ToolkitConfigError(
            "the toolkit does not read %s as it is on the node; nothing was changed, mend the file first: %s"
            % (path, words)
        )
    raise ToolkitConfigError(
        "the toolkit does not read %s with the wanted settings in it; nothing was changed, mend the settings: %s"
        % (path, words)
    )


def _complaint(system: System, content: bytes, path: str) -> t.Optional[str]:
    """ "" where the toolkit reads it; None where there is no toolkit to ask."""
    with system.temporary(content) as temporary:
        ran = system.run(["nvidia-ctk", "config", "--config-file", temporary], _COMMAND_TIMEOUT)
        if ran.missing:
            return None
        return "" if ran.rc == 0 else said(ran).replace(temporary, path)
