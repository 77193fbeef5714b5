#!/usr/bin/python
# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stop the containers that have GPUs, and start them again: arguments in, result out."""

from __future__ import annotations

DOCUMENTATION = r"""
module: docker_drain
short_description: Stop the containers of Docker that have GPUs, and start exactly these again
version_added: 0.1.0
author:
  - goldennode.gpu authors (@goldennode)
description:
  - With O(state=drained) the running containers that have device nodes or libraries of the NVIDIA driver are stopped,
    each by its own stop signal and within its own time. Others are not touched.
  - Before the first is stopped they are written down in C(/var/lib/goldennode/drained.json), so that a run which is
    killed loses none. What an earlier one has written stays there.
  - With O(state=undrained) those that are written down are started, and forgotten when they run. One that runs already,
    since its restart policy or somebody has started it, and one that is gone are named and forgotten.
  - Only what can be given back as it was is stopped. Containers of swarm and Kubernetes, those started with C(--rm),
    those whose creator bound the driver's files by their names, and those of which it is not known whether they have
    GPUs are left and named with what to do.
  - A container with the restart policy C(always) is started by Docker itself when the daemon or the node is started,
    before it is undrained. One that was paused runs on when it is undrained.
  - The socket of the system's engine is named in each call, whatever context root has. A node without Docker has
    nothing to stop.
extends_documentation_fragment:
  - goldennode.gpu.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
    details: A container runs or it does not.
options:
  state:
    description: Whether the containers shall be off the node, or back.
    type: str
    required: true
    choices: [drained, undrained]
  timeout:
    description: >-
      Seconds that Docker may take to start one container, or to stop one beyond the container's own time to stop. A
      container for which Docker is to wait without end has 600 seconds.
    type: int
    default: 60
seealso:
  - module: goldennode.gpu.gpu_idle
"""

EXAMPLES = r"""
- name: Take the containers off the GPUs
  goldennode.gpu.docker_drain:
    state: drained

- name: Give them back
  goldennode.gpu.docker_drain:
    state: undrained
"""

RETURN = r"""
stopped:
  description: Name and short id of each container that was stopped, or would be.
  returned: when O(state=drained)
  type: list
  elements: str
  sample: [trainer 3f2a9b0c1d4e]
left:
  description: Containers that have GPUs, or may have, and are not ours to stop.
  returned: when O(state=drained)
  type: list
  elements: dict
  contains:
    container:
      description: Its name and short id.
      type: str
    why:
      description: Why it is left, and what to do.
      type: str
  sample:
    - container: shell 77aa9b0c1d4e
      why: "it was started with --rm, and would be gone: whoever started it must end it"
started:
  description: Name and short id of each container that was started, or would be.
  returned: when O(state=undrained)
  type: list
  elements: str
  sample: [trainer 3f2a9b0c1d4e]
running:
  description: Those that ran already.
  returned: when O(state=undrained)
  type: list
  elements: str
  sample: []
gone:
  description: Those that are not there any more.
  returned: when O(state=undrained)
  type: list
  elements: str
  sample: []
problems:
  description: Containers that were not stopped or not started, each with the reason. The module then fails.
  returned: always
  type: list
  elements: str
  sample: []
"""

import dataclasses
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.goldennode.gpu.plugins.module_utils.drain import Drain, Undrain, drain, undrain
from ansible_collections.goldennode.gpu.plugins.module_utils.drained import PATH
from ansible_collections.goldennode.gpu.plugins.module_utils.system import System, SystemFailure

#: What to do when Docker says no.
_NOT_STOPPED = (
    "These containers have GPUs and were not stopped: %%s. Stop them by hand (docker stop, then docker kill; look at "
    "journalctl -u docker), and run again. What was stopped is in %s." % PATH
)
_NOT_STARTED = (
    "These containers were stopped by a drain and do not start: %%s. Mend what Docker says, or remove those that "
    "nobody needs (docker rm); then run again. They stay in %s." % PATH
)
_NOT_KNOWN = {
    "drained": "No container was stopped: %s. If Docker does not answer, look at systemctl status docker.",
    "undrained": "Containers are not given back: %s. If Docker does not answer, look at systemctl status docker.",
}


def answer(result: t.Union[Drain, Undrain]) -> t.Dict[str, t.Any]:
    return dataclasses.asdict(result)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "required": True, "choices": ["drained", "undrained"]},
            "timeout": {"type": "int", "default": 60},
        },
        supports_check_mode=True,
    )
    state, timeout = module.params["state"], module.params["timeout"]
    result: t.Union[Drain, Undrain]
    try:
        if state == "drained":
            result = drain(System(), timeout, module.check_mode)
        else:
            result = undrain(System(), timeout, module.check_mode)
    except (SystemFailure, OSError) as error:
        module.fail_json(msg=_NOT_KNOWN[state] % error)
    if result.problems:
        words = _NOT_STOPPED if state == "drained" else _NOT_STARTED
        module.fail_json(msg=words % "; ".join(result.problems), **answer(result))
    module.exit_json(**answer(result))


if __name__ == "__main__":
    main()
