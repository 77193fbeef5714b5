#!/usr/bin/python
# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Install and hold one axis of the lock: arguments in, result out."""

from __future__ import annotations

DOCUMENTATION = r"""
module: package_set
short_description: Install a set of packages at exact versions in one transaction, and hold it
version_added: 0.1.0
author:
  - goldennode.gpu authors (@goldennode)
description:
  - Brings every package of O(packages) to exactly its version, up or down, in one transaction, holds it, and reads both
    back from dpkg's own state.
  - What is due follows from state. An installation that was interrupted is finished first; a run that died half-way
    is finished by the next; where all is as wanted nothing is fetched and nothing is changed.
  - The transaction is simulated before anything is changed. Parts of another driver that stand beside the wanted one
    move with it, or are removed in the same transaction, so that a change of branch works in one go. The kernel module
    of another flavour or build (DKMS, precompiled) is removed too, of whatever version. Whatever else
    would be removed must be in O(may_remove), and a package that somebody else holds is not moved.
  - Every installed part of the driver is held with it, also those that O(packages) does not name. A hold on a package
    of the same axis that is neither wanted nor installed is released. Names of packages that this module has held are
    kept in C(/var/lib/goldennode/holds.json).
  - Everything is downloaded before dpkg begins, within a time limit. A package whose version no repository has any more
    is installed from the file that was kept when it was installed first.
  - A failure says cause and fix and in which state the node is. Nothing is forced, unheld or trusted to get over it.
extends_documentation_fragment:
  - goldennode.gpu.attributes
attributes:
  check_mode:
    support: full
    details:
      - The index is not read. What would be removed is told where the index already has all versions.
  diff_mode:
    support: full
    details:
      - Version and hold of each package that differs, before and after.
  platform:
    platforms: debian
options:
  packages:
    description: Full version by package name, as the lock has it.
    type: dict
    required: true
  hold:
    description:
      - Whether the packages, and with them every installed part of the driver, are held at these versions. With
        V(false) such holds are released, whoever has set them.
    type: bool
    default: true
  release:
    description:
      - Names of installed packages that shall not be held any more, of whatever axis. Those of O(packages), and parts
        of their driver, stay held. A package of a single kernel is marked as automatically installed too, so that
        C(apt-get autoremove) may remove it, as soon as it is neither the running kernel nor one of the newest two.
    type: list
    elements: str
    default: []
  may_remove:
    description:
      - Names of packages, not part of the set, that may be removed when the set cannot be installed beside them.
    type: list
    elements: str
    default: []
  keep:
    description:
      - Full version by name of every package of the lock. Their files, and those of the lock before, are kept in
        C(/var/lib/goldennode/packages), so that the node can go back when the repositories have dropped a version.
        Without it no files are kept.
      - A node that cannot keep them, for lack of room or because a repository does not have them any more, is warned
        about and goes on.
    type: dict
  dkms:
    description:
      - The module that DKMS must have built when the packages are installed. It is looked for on disk, and built where
        it is missing; DKMS itself counts a kernel without headers as a success. A kernel that is not installed is left
        out.
    type: dict
    suboptions:
      kernel:
        description: Release of the kernel, as C(uname -r) gives it.
        type: str
        required: true
      version:
        description: Version of the driver.
        type: str
        required: true
  driver:
    description:
      - Version of the driver that a later task of the same run installs. A kernel whose packages are installed and
        cannot be configured, since another driver than this does not build on it, is then no failure but a warning; the
        task that installs this driver configures them afterwards.
    type: str
    default: ""
  package_manager:
    description: Who installs.
    type: str
    choices: [apt]
    default: apt
  lock_timeout:
    description: Seconds to wait for another process that uses the package manager.
    type: int
    default: 300
  index_timeout:
    description: Seconds for reading the index of all repositories.
    type: int
    default: 180
  index_valid:
    description: Seconds for which an index that this module has read from the same sources is not read again.
    type: int
    default: 900
  timeout:
    description: Seconds for downloading, and again for installing, in which DKMS builds the modules.
    type: int
    default: 3600
"""

EXAMPLES = r"""
- name: Install and hold the container toolkit
  goldennode.gpu.package_set:
    packages:
      nvidia-container-toolkit: 1.20.0-1
      nvidia-container-toolkit-base: 1.20.0-1
      libnvidia-container-tools: 1.20.0-1
      libnvidia-container1: 1.20.0-1

- name: Install the driver, and see that its module is there for the kernel that will boot
  goldennode.gpu.package_set:
    packages: "{{ lock.driver.packages }}"
    dkms:
      kernel: 6.12.57+deb13-amd64
      version: 580.159.03
    may_remove: [cuda-drivers-fabricmanager]
"""

RETURN = r"""
changes:
  description: What was changed, or would be in check mode, a sentence for each package.
  returned: success
  type: list
  elements: str
  sample: ["libcuda1: 580.159.03-1 -> 580.178.04-1, and hold it"]
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.goldennode.gpu.plugins.module_utils import package_set
from ansible_collections.goldennode.gpu.plugins.module_utils.package_apt import Apt
from ansible_collections.goldennode.gpu.plugins.module_utils.package_dkms import Dkms
from ansible_collections.goldennode.gpu.plugins.module_utils.package_manager import (
    PackageManagerError,
    PackageSetError,
    Request,
)
from ansible_collections.goldennode.gpu.plugins.module_utils.system import System, SystemFailure


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "packages": {"type": "dict", "required": True},
            "hold": {"type": "bool", "default": True},
            "release": {"type": "list", "elements": "str", "default": []},
            "may_remove": {"type": "list", "elements": "str", "default": []},
            "keep": {"type": "dict"},
            "dkms": {
                "type": "dict",
                "options": {
                    "kernel": {"type": "str", "required": True},
                    "version": {"type": "str", "required": True},
                },
            },
            "driver": {"type": "str", "default": ""},
            "package_manager": {"type": "str", "choices": ["apt"], "default": "apt"},
            "lock_timeout": {"type": "int", "default": 300},
            "index_timeout": {"type": "int", "default": 180},
            "index_valid": {"type": "int", "default": 900},
            "timeout": {"type": "int", "default": 3600},
        },
        supports_check_mode=True,
    )
    given = module.params
    for option in ("packages", "keep"):
        for name, version in (given[option] or {}).items():
            if not isinstance(version, str) or not version:
                module.fail_json(msg="%s.%s: %r is no full version. Write it in quotes." % (option, name, version))
    system = System()
    manager = Apt(system, given["lock_timeout"], given["index_timeout"], given["timeout"], given["index_valid"])
    dkms = Dkms(**given["dkms"]) if given["dkms"] else None
    request = Request(
        given["packages"],
        given["hold"],
        tuple(given["may_remove"]),
        given["keep"],
        dkms,
        given["driver"],
        tuple(given["release"]),
    )
    try:
        outcome = package_set.apply(system, manager, request, given["timeout"], module.check_mode)
    except (PackageSetError, PackageManagerError, SystemFailure, OSError) as error:
        module.fail_json(msg=str(error))
    for warning in outcome.warnings:
        module.warn(warning)
    result = {"changed": outcome.changed, "changes": list(outcome.changes)}
    if module._diff:
        result["diff"] = {"before": outcome.before, "after": outcome.after}
    module.exit_json(**result)


if __name__ == "__main__":
    main()
