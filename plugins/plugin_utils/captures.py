# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Captures on the controller: read with an error for each way in which a file can be wrong, written, and judged.

Controller only. A capture may come from anybody: nothing in it is run, and whatever it holds ends in a verdict or in
one error.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import stat
import typing as t

from ansible_collections.goldennode.gpu.plugins.module_utils import inferred, inferred_verdict, verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.bundle import MISSING, Problem
from ansible_collections.goldennode.gpu.plugins.module_utils.diagnosis import Case
from ansible_collections.goldennode.gpu.plugins.module_utils.model import SCHEMA, Evidence
from ansible_collections.goldennode.gpu.plugins.module_utils.plain import desired_from_plain
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.capture import SECTIONS, Replay
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.look import SCOPES, choose, look
from ansible_collections.goldennode.gpu.plugins.plugin_utils import whole_file

Capture = t.Dict[str, t.Any]

#: Bytes. That of a node with eight GPUs is below one mebibyte.
LIMIT = 64 * 1024 * 1024

#: Seconds; nothing is waited for, since all answers are there.
_SECONDS = 600.0
_TAKE_ONE = "Take one by: ansible-playbook goldennode.gpu.diagnose -e goldennode_capture_to=FOLDER"


class CaptureError(ValueError):
    """A file that is no capture, or one that cannot be judged."""

    def __init__(self, problem: Problem) -> None:
        # Raised from nothing: ansible would print this message once more for each error behind it.
        self.problem = problem
        super().__init__(str(problem))


def find(name: str, what: str = "goldennode_capture") -> t.List[pathlib.Path]:
    """The files of a capture or of a folder of them.

    :raises CaptureError: when there is none
    """
    path = pathlib.Path(os.path.expanduser(name))  # unlike pathlib's, no error where there is no such user
    try:
        mode = path.stat().st_mode
        found = _of_folder(path) if stat.S_ISDIR(mode) else [path]
    except (FileNotFoundError, NotADirectoryError):
        fix = "Check the path; a relative one counts from where the play is started"
        raise _error(what, name, "is not there", fix) from None
    except (OSError, ValueError) as error:
        raise _error(what, name, "cannot be read: %s" % _reason(error), "Check the path and its permissions") from None
    if not found:
        raise _error(what, name, "is a folder without a file that ends in .json", _TAKE_ONE)
    return found


def _of_folder(path: pathlib.Path) -> t.List[pathlib.Path]:
    return sorted(one for one in path.iterdir() if one.suffix == ".json" and not one.name.startswith("."))


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def read(path: pathlib.Path, what: str = "goldennode_capture") -> Capture:
    """One capture, whose shape is right.

    :raises CaptureError: when it is none
    """
    try:
        # Of a pipe nothing would ever come, and of a device no end.
        regular = stat.S_ISREG(path.stat().st_mode)
        raw = _start_of(path) if regular else b""
    except OSError as error:
        raise _error(what, path, "cannot be read: %s" % error.strerror, "Check its permissions") from None
    if not regular:
        raise _error(what, path, "is no file", "Name a capture, or a folder of captures")
    if len(raw) > LIMIT:
        raise _error(what, path, "is larger than %d MiB, as no capture is" % (LIMIT // 1024**2), _TAKE_ONE)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = "is no text: byte %d cannot be read as UTF-8" % error.start
        raise _error(what, path, message, "Where it is packed, unpack it first. %s" % _TAKE_ONE) from None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        place = "line %d column %d" % (error.lineno, error.colno) if isinstance(error, json.JSONDecodeError) else ""
        message = "is not JSON%s%s" % (": " if place else "", place) if text.strip() else "is empty"
        raise _error(what, path, message, "It may have been cut short. %s" % _TAKE_ONE) from None
    wrong = _wrong(found)
    if wrong:
        raise _error(what, path, wrong, _TAKE_ONE)
    return t.cast(Capture, found)


def _start_of(path: pathlib.Path) -> bytes:
    with path.open("rb") as file:
        return file.read(LIMIT + 1)


def _wrong(found: t.Any) -> str:
    """Why plain data is no capture of this version; "" where it is one."""
    if not isinstance(found, dict) or not {"schema", "commands"} <= set(found):
        return "is JSON and no capture: it has no schema and no commands"
    if found["schema"] != SCHEMA or isinstance(found["schema"], bool):
        return "has schema %r, and this version of the collection reads schema %d" % (found["schema"], SCHEMA)
    sections = [name for name in (*SECTIONS, "errors") if not isinstance(found.get(name), dict)]
    if sections or not isinstance(found["commands"], list):
        return "is no whole capture: %s is missing or of another kind" % (sections[0] if sections else "commands")
    return ""


def case(name: str, capture: Capture, expected_gpus: t.Optional[int] = None, image: str = "") -> Case:
    """The node of a capture, judged as it would have been when it was taken.

    :arg expected_gpus: in place of what the capture says
    :arg image: the same
    :raises CaptureError: when what it holds cannot be judged
    """
    try:
        return _case(name, capture, expected_gpus, image)
    except (AttributeError, KeyError, TypeError, ValueError, IndexError, RecursionError) as error:
        message = "cannot be judged: %s: %s" % (type(error).__name__, error)
        fix = "It was changed, or is of another version of the collection. %s" % _TAKE_ONE
        raise _error("goldennode_capture", name, message, fix) from None


def _case(name: str, capture: Capture, expected_gpus: t.Optional[int], image: str) -> Case:
    judged = capture.get("judged") or {}
    host, scope = Replay(capture), judged.get("scope") or "full"
    if scope not in SCOPES:
        raise ValueError("scope %r is not known" % scope)
    count = judged.get("expected_gpus") if expected_gpus is None else expected_gpus
    if count is not None and (isinstance(count, bool) or not isinstance(count, int)):
        raise ValueError("expected_gpus is %r, and no number" % count)
    desired = desired_from_plain(judged["desired"]) if judged.get("desired") else None
    if desired is not None:
        evidence = look(host, desired, scope, _SECONDS, bool(judged.get("single_gpus")))
        found = verdict.run(desired, evidence, count)
    else:
        image = image or str(judged.get("image") or "")
        platform = choose(host, {})[0].value
        ahead = inferred.to_look(platform.key if platform else "", image)
        evidence = look(host, ahead, scope, _SECONDS, bool(judged.get("single_gpus")))
        found = inferred_verdict.judge(evidence, count, image)
    objection = str(judged.get("mark_objection", "the capture does not tell of a mark"))
    return Case(
        name,
        found,
        evidence,
        capture,
        golden=found.golden and scope == "full" and not objection,
        inferred=desired is None,
        mark_objection=objection,
        desired_digest=desired.digest if desired else "",
        expected_gpus=count,
    )


def cases(name: str, expected_gpus: t.Optional[int] = None, image: str = "") -> t.List[Case]:
    """Every node of a capture or a folder of them. In a folder a file that is no capture has its row."""
    paths = find(name)
    if len(paths) == 1:
        return [case(paths[0].stem, read(paths[0]), expected_gpus, image)]
    found = []
    for path in paths:
        try:
            found.append(case(path.stem, read(path), expected_gpus, image))
        except CaptureError as error:
            found.append(Case(path.stem, error=error.problem.message, fix=error.problem.fix))
    return found


def evidence(name: str, what: str) -> Evidence:
    """What was read off the node of one capture."""
    paths = find(name, what)
    if len(paths) != 1:
        raise _error(what, name, "is a folder of %d captures" % len(paths), "Name the one to compare with")
    return case(paths[0].stem, read(paths[0], what)).evidence


def save(folder: str, node: str, capture: Capture) -> str:
    """Write one capture for its owner alone; the path. The folder is made where it is not there.

    :raises CaptureError: when it cannot be written
    """
    path = pathlib.Path(os.path.expanduser(folder)) / _file_name(node)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        whole_file.write(path, (json.dumps(capture, indent=1) + "\n").encode("utf-8"), 0o600)
    except OSError as error:
        raise _error(
            "goldennode_capture_to", folder, "cannot be written to: %s" % error.strerror, "Name a folder that is yours"
        ) from None
    return os.fspath(path)


def _file_name(node: str) -> str:
    """Of two nodes never the same, whatever stands in their names; none is hidden, and none leads out of the folder."""
    return "%s.json" % (re.sub(r"[^\w.-]|^\.", lambda found: "%%%02X" % ord(found.group()), node) or "%")


def _error(what: str, value: t.Union[str, pathlib.Path], message: str, fix: str) -> CaptureError:
    return CaptureError(Problem("%s=%s" % (what, value), MISSING, message, fix))
