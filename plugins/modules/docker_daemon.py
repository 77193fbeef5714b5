#!/usr/bin/python
# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Merge settings into daemon.json and restart Docker when that is due and allowed: arguments in, result out."""

from __future__ import annotations

DOCUMENTATION = r"""
module: docker_daemon
short_description: Merge settings into Docker's daemon.json and bring them into force
version_added: 0.1.0
author:
  - goldennode.gpu authors (@goldennode)
description:
  - Merges settings into C(daemon.json) by editing only the places that differ. Every key, order, number and spelling
    that is not part of O(settings) stays as it is, to the byte.
  - Nothing is written before the result is known to be good. Malformed JSON, doubled keys and values of a type that
    dockerd does not take are errors that name line and column and leave the file alone. So are a setting that is also
    given as a flag in C(docker.service), as it is loaded and as its files on disk say, and whatever
    C(dockerd --validate) refuses. Engines of 20.10 have no such option; they read the file in a start without root's
    rights, which ends right after it.
  - Whether Docker must be restarted follows from the state of the node, so that a run that was killed after the write
    is finished by the next one. Docker is restarted at most once, never reloaded, and waited for. If it does not come
    back, the old file is put back, Docker is started with it, and the module fails with the end of Docker's journal.
  - A file is written whole or not at all, with mode, owner and SELinux context kept. A link stays a link. What somebody
    else has written to it since it was read is not written over; the module fails, and the next run merges into that.
  - Where Docker is not installed yet, only the file is merged.
extends_documentation_fragment:
  - goldennode.gpu.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
options:
  settings:
    description:
      - What C(daemon.json) shall hold. Dictionaries are merged key by key, to any depth; lists and all other values
        replace what is there.
    type: dict
    required: true
  path:
    description: The file. It must be the one that the unit's C(dockerd) reads.
    type: path
    default: /etc/docker/daemon.json
  restart:
    description:
      - When a restart that is due may be done.
      - V(never) leaves it to somebody else.
      - V(when_idle) does it when no container is running, when Docker itself is not running, or when C(live-restore)
        keeps the containers alive. It does not where what it needs changes with the restart (data root, bridge, driver
        of control groups and the like, or Docker's minor version).
      - V(when_due) does it in any case. Running containers are stopped by it.
    type: str
    choices: [never, when_idle, when_due]
    default: when_idle
  timeout:
    description: Seconds that a restart may take, and that Docker may take after it to answer with the wanted settings.
    type: int
    default: 60
  backup:
    description:
      - Keep the file as it was before a change beside it, as C(daemon.json.goldennode-TIME~). The newest three stay.
      - The diff is without users and passwords in addresses (of a proxy, say) and without tokens of log servers; the
        file and its copies have them.
    type: bool
    default: true
"""

EXAMPLES = r"""
- name: Register the NVIDIA runtime with Docker
  goldennode.gpu.docker_daemon:
    settings:
      default-runtime: runc
      runtimes:
        nvidia:
          path: nvidia-container-runtime
          args: []

- name: Keep container logs small, although a restart stops the containers
  goldennode.gpu.docker_daemon:
    settings:
      log-opts:
        max-size: 10m
    restart: when_due
"""

RETURN = r"""
restart_due:
  description: A restart of Docker is due and was not done, for want of consent.
  returned: always
  type: bool
  sample: false
restarted:
  description: Docker was restarted, or would be in check mode.
  returned: always
  type: bool
  sample: true
reason:
  description: Why a restart was, or is, due. Empty when none was.
  returned: always
  type: str
  sample: the running daemon does not have runtimes.nvidia.path as wanted
refused:
  description: Why a restart that is due was not done, and the variable that allows it.
  returned: always
  type: str
  sample: 2 containers are running, which a restart of Docker would stop; stop them, or set docker_allow_restart to true
validated:
  description: dockerd itself has read the file and taken it. False where Docker is not installed or older than 20.10.
  returned: always
  type: bool
  sample: true
backup_file:
  description: Where the file as it was before is kept.
  returned: when the file was changed, was there before, and O(backup=true)
  type: str
  sample: /etc/docker/daemon.json.goldennode-20261130T154109Z~
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.goldennode.gpu.plugins.module_utils.docker_config import (
    DockerConfigError,
    Outcome,
    Wanted,
    apply,
)
from ansible_collections.goldennode.gpu.plugins.module_utils.parse.text import without_secrets
from ansible_collections.goldennode.gpu.plugins.module_utils.system import System, SystemFailure


def diff_of(path: str, outcome: Outcome) -> t.Dict[str, str]:
    """What is shown of a change: it has no password of a proxy and no token in it, and the file has."""
    return {
        "before_header": path,
        "after_header": path,
        "before": without_secrets(outcome.before),
        "after": without_secrets(outcome.after),
    }


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "settings": {"type": "dict", "required": True},
            "path": {"type": "path", "default": "/etc/docker/daemon.json"},
            "restart": {"type": "str", "choices": ["never", "when_idle", "when_due"], "default": "when_idle"},
            "timeout": {"type": "int", "default": 60},
            "backup": {"type": "bool", "default": True},
        },
        supports_check_mode=True,
    )
    try:
        outcome = apply(System(), Wanted(check_mode=module.check_mode, **module.params))
    except (DockerConfigError, SystemFailure, OSError) as error:
        module.fail_json(msg=str(error))
    result = {
        "changed": outcome.changed,
        "restart_due": outcome.restart_due,
        "restarted": outcome.restarted,
        "reason": outcome.reason,
        "refused": outcome.refused,
        "validated": outcome.validated,
    }
    if module._diff:
        result["diff"] = diff_of(module.params["path"], outcome)
    if outcome.backup_file:
        result["backup_file"] = outcome.backup_file
    module.exit_json(**result)


if __name__ == "__main__":
    main()
