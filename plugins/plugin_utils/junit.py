# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Results as JUnit XML, for the systems that show tests: a suite for each node, a case for each finding.

Controller only. A fail is a failure, an unknown is an error, a skip is skipped. What golden does not need is
informational and fails no pipeline: it is a case that passes, with its words as output. The case ``verdict`` of each
node says whether it is golden, so that a node without a look, or without a mark, is red as well.
"""

from __future__ import annotations

import datetime
import re
import typing as t
from xml.etree import ElementTree

from ansible_collections.goldennode.gpu.plugins.module_utils.model import Finding
from ansible_collections.goldennode.gpu.plugins.plugin_utils.results import Plain

#: What XML 1.0 cannot hold, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_TAGS = {"fail": "failure", "unknown": "error"}


def junit(found: Plain) -> bytes:
    root = ElementTree.Element("testsuites", name="goldennode.gpu")
    for name, one in sorted(found["nodes"].items()):
        _suite(root, name, one, found["generated_at"])
    for count in ("tests", "failures", "errors", "skipped"):
        root.set(count, str(sum(int(suite.get(count, "0")) for suite in root)))
    ElementTree.indent(root, " ")
    body = ElementTree.tostring(root, encoding="unicode")
    return ("<?xml version='1.0' encoding='utf-8'?>\n%s\n" % body).encode("utf-8")


def _suite(root: ElementTree.Element, name: str, one: Plain, generated_at: str) -> None:
    suite = ElementTree.SubElement(root, "testsuite", name=_clean(name))
    timestamp = _time(one["collected_at"]) or _time(generated_at)
    if timestamp:
        suite.set("timestamp", timestamp)
    properties = ElementTree.SubElement(suite, "properties")
    known = {**one["table"], "platform": one["platform"], "desired_digest": one["desired_digest"]}
    for key, value in sorted(known.items()):
        if value is not None and value != "":
            ElementTree.SubElement(properties, "property", name=key, value=_clean(str(value)))
    _verdict(suite, name, one)
    for finding in one["findings"]:
        _case(suite, name, finding)
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    for count, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(count, str(sum(case.find(tag) is not None for case in cases)))
    suite.set("time", "0")


def _verdict(suite: ElementTree.Element, name: str, one: Plain) -> None:
    case = ElementTree.SubElement(suite, "testcase", name="verdict", classname=_clean(name), time="0")
    said = one["error"] or one["verdict"]
    if one["error"]:
        _told(case, "error", said, one)
    elif not one["golden"]:
        layer = ": %s is broken" % one["first_broken"] if one["first_broken"] else ""
        _told(case, "failure", said + layer, one)
    elif one["not_proven"]:
        ElementTree.SubElement(case, "system-out").text = _clean("\n".join(one["not_proven"]))


def _told(case: ElementTree.Element, tag: str, message: str, one: Plain) -> None:
    element = ElementTree.SubElement(case, tag, message=_clean(message), type=_clean(one["verdict"]))
    element.text = _clean((one["action"] or {}).get("text", ""))


def _case(suite: ElementTree.Element, name: str, finding: Plain) -> None:
    title = "%s [%s]" % (finding["id"], finding["entity"]) if finding["entity"] else finding["id"]
    group = "%s.%s" % (name, finding["layer"])
    case = ElementTree.SubElement(suite, "testcase", name=_clean(title), classname=_clean(group), time="0")
    if finding["status"] == "skip":
        ElementTree.SubElement(case, "skipped", message=_clean(finding["actual"]))
    elif finding["status"] in _TAGS and finding["required"]:
        tag = _TAGS[finding["status"]]
        element = ElementTree.SubElement(case, tag, message=_clean(Finding(**finding).words), type=finding["status"])
        element.text = _clean(_body(finding))
    elif finding["status"] in _TAGS:
        ElementTree.SubElement(case, "system-out").text = _clean("informational: " + _body(finding))


def _body(finding: Plain) -> str:
    names = (("cause", "cause"), ("wanted", "expected"), ("found", "actual"), ("fix", "fix"), ("waived", "waived"))
    lines = ((name, finding[field]) for name, field in names)
    return "\n".join("%s: %s" % (name, text) for name, text in lines if text)


def _time(text: t.Optional[str]) -> t.Optional[str]:
    """In UTC and without a zone, as the schema of JUnit has it; None for what is no time."""
    try:
        when = datetime.datetime.fromisoformat(text or "")
        # One without a zone is ours, and in UTC already.
        when = when.astimezone(datetime.timezone.utc) if when.tzinfo else when
    except (ValueError, OverflowError):
        return None
    return when.replace(tzinfo=None).isoformat(timespec="seconds")


def _clean(text: t.Optional[str]) -> str:
    return _FORBIDDEN.sub("\ufffd", text or "")
