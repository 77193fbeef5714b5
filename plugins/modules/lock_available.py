#!/usr/bin/python
# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ask whether a node can get the packages of a lock: arguments in, answer out."""

from __future__ import annotations

DOCUMENTATION = r"""
module: lock_available
short_description: Ask whether every package of a lock that a node lacks can be had, without touching the node
version_added: 0.1.0
author:
  - goldennode.gpu authors (@goldennode)
description:
  - Looks for those of O(packages) that are not installed at their version. Where there are none, nothing is asked.
  - Asks the distribution's repositories and those of O(lock), in a throw-away package root, whether they have these
    versions; then the package files that the node keeps for going back; then what the node's other repositories are
    known to have.
  - Fails where a package cannot be had any more, with its version, what there is in place of it and what to do. Where a
    repository cannot be reached, so that nobody knows, it fails with other words.
  - Changes nothing. apt is the only package manager so far.
extends_documentation_fragment:
  - goldennode.gpu.attributes.looks
options:
  lock:
    description: The lock, whose sources are asked.
    type: dict
    required: true
  packages:
    description: Full version by package name, of those packages of the lock that this node shall have.
    type: dict
    required: true
  timeout:
    description: Seconds for asking the repositories.
    type: int
    default: 300
seealso:
  - module: goldennode.gpu.lock_resolve
  - module: goldennode.gpu.package_set
"""

EXAMPLES = r"""
- name: Ask whether the node can get the driver of the lock before it gives up the one that it has
  goldennode.gpu.lock_available:
    lock: "{{ lock }}"
    packages: "{{ lock.driver.packages }}"
"""

RETURN = r"""
lacking:
  description: How many of the packages the node lacks at their version.
  type: int
  returned: success
  sample: 12
kept:
  description: Those of them that no repository has, and whose files the node keeps.
  type: list
  elements: str
  returned: success
  sample: [libcuda1]
gone:
  description: The packages that were not found, as C(name=version).
  type: list
  elements: str
  returned: always
  sample: []
unreachable_sources:
  description: Why some repository could not be asked; empty where all answered.
  type: str
  returned: always
  sample: ''
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.goldennode.gpu.plugins.module_utils import lock_available, lock_offers
from ansible_collections.goldennode.gpu.plugins.module_utils.apt_root import ResolveError


def answer(found: lock_available.Found, lock: t.Mapping[str, t.Any]) -> t.Dict[str, t.Any]:
    """What the module returns, with ``msg`` where that is a failure."""
    told: t.Dict[str, t.Any] = {
        "gone": [one.said for one in found.gone],
        "unreachable_sources": found.trouble.cause if found.trouble else "",
    }
    if found.unreachable and found.trouble:
        return dict(told, msg=lock_offers.unreachable(found.gone, found.trouble))
    if found.gone:
        return dict(told, msg=lock_offers.refusal(found.gone, lock_offers.places(lock)))
    return dict(told, lacking=found.lacking, kept=list(found.kept))


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "lock": {"type": "dict", "required": True},
            "packages": {"type": "dict", "required": True},
            "timeout": {"type": "int", "default": 300},
        },
        supports_check_mode=True,
        no_log=True,  # a lock is long and would fill the journal of the node
    )
    lock, packages = module.params["lock"], module.params["packages"]
    manager = lock.get("package_manager")
    if manager != "apt":
        module.fail_json(msg="lock: %s cannot be asked yet. Give a lock of Debian or Ubuntu." % (manager or "nobody"))
    try:
        lock_available.bundle_of(lock)
    except (KeyError, TypeError, AttributeError) as error:
        module.fail_json(msg="lock: this is no whole lock (%r). Give desired.lock of goldennode.gpu.desired." % error)
    try:
        told = answer(lock_available.find(lock, packages, module.params["timeout"]), lock)
    except ResolveError as error:
        module.fail_json(msg="%s Nothing was changed." % error)
    if "msg" in told:
        module.fail_json(**told)
    module.exit_json(changed=False, **told)


if __name__ == "__main__":
    main()
