#!/usr/bin/python
# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Set aside the package sources that are in the way of the bundle's: arguments in, result out."""

from __future__ import annotations

DOCUMENTATION = r"""
module: apt_sources
short_description: Set aside entries of apt's sources that are in the way of the bundle's
version_added: 0.1.0
author:
  - goldennode.gpu authors (@goldennode)
description:
  - Reads every entry of C(/etc/apt/sources.list), and of the C(.list) and C(.sources) files in
    C(/etc/apt/sources.list.d), and finds by address and suite what is in the way of the wanted files. apt is not
    called; it may refuse to read these sources.
  - An entry of a repository that a wanted file names too, with another key, is set aside. So are the old lists of the
    container toolkit (C(nvidia-docker), C(nvidia-container-runtime), C(libnvidia-container) for a single release)
    beside the bundle's repository of it, and NVIDIA's CUDA repository for another release of the distribution beside
    the bundle's.
  - A file that holds nothing else is renamed to its name and C(.disabled), which apt ignores silently. In any other
    file only the entry is disabled, by a comment or by its field C(Enabled); mode and owner of the file are kept.
  - A file of this collection's of a repository that has left the bundle is deleted.
  - The distribution's own entries are never touched. Where one of them names a repository of the bundle with another
    key, the module fails, says what to write into the bundle, and changes nothing.
extends_documentation_fragment:
  - goldennode.gpu.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
    details:
      - User and password of an address are left out.
  platform:
    platforms: debian
options:
  files:
    description: Text by path of the sources files that the node shall have. They need not exist yet.
    type: dict
    required: true
  platform:
    description: The platform of the node, as bundles name it.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Set aside what is in the way of the container toolkit's repository
  goldennode.gpu.apt_sources:
    platform: debian-13-x86_64
    files:
      /etc/apt/sources.list.d/goldennode-nvidia-container-toolkit.sources: |
        Types: deb
        URIs: https://nvidia.github.io/libnvidia-container/stable/deb/amd64
        Suites: /
        Signed-By: /usr/share/keyrings/nvidia-container-toolkit-keyring.gpg
"""

RETURN = r"""
changes:
  description: Every file that was changed, or would be in check mode.
  returned: success
  type: list
  elements: dict
  contains:
    path:
      description: The file.
      type: str
      sample: /etc/apt/sources.list.d/nvidia-docker.list
    action:
      description: V(renamed), V(edited) or V(deleted).
      type: str
      sample: renamed
    target:
      description: Its new name. Empty where it was not renamed.
      type: str
      sample: /etc/apt/sources.list.d/nvidia-docker.list.disabled
    reasons:
      description: Why, a sentence for each entry.
      type: list
      elements: str
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.goldennode.gpu.plugins.module_utils.apt_sources import AptSourcesError, Change, set_aside
from ansible_collections.goldennode.gpu.plugins.module_utils.parse.text import without_users
from ansible_collections.goldennode.gpu.plugins.module_utils.system import System, SystemFailure


def diff_of(change: Change) -> dict[str, str]:
    """A renamed file has the same text, of which Ansible would show no difference. No text has a password."""
    if change.target:
        return {"prepared": "%s is renamed to %s, which apt ignores\n" % (change.path, change.target)}
    return {
        "before_header": change.path,
        "after_header": change.path,
        "before": without_users(change.before).encode("utf-8", "replace").decode("utf-8"),
        "after": without_users(change.after).encode("utf-8", "replace").decode("utf-8"),
    }


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "files": {"type": "dict", "required": True},
            "platform": {"type": "str", "required": True},
        },
        supports_check_mode=True,
    )
    try:
        changes = set_aside(System(), module.params["files"], module.params["platform"], module.check_mode)
    except (AptSourcesError, SystemFailure, OSError) as error:
        module.fail_json(msg=str(error))
    result = {
        "changes": [
            {"path": one.path, "action": one.action, "target": one.target, "reasons": list(one.reasons)}
            for one in changes
        ]
    }
    if module._diff:
        result["diff"] = [diff_of(change) for change in changes]
    module.exit_json(changed=bool(changes), **result)


if __name__ == "__main__":
    main()
