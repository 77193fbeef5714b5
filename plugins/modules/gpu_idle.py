#!/usr/bin/python
# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Have nobody on the GPUs: arguments in, result out."""

from __future__ import annotations

DOCUMENTATION = r"""
module: gpu_idle
short_description: Name who uses the GPUs, wait for them, and by consent stop them
version_added: 0.1.0
author:
  - goldennode.gpu authors (@goldennode)
description:
  - Names the processes that have a device node of the NVIDIA driver open or mapped, in containers of any engine too.
    Only files below C(/proc) are read, as root. No program of NVIDIA's is called, and nothing is needed of one.
  - Not counted are NVIDIA's own services that keep the GPUs open and compute nothing, as long as systemd has started
    them. These are C(nvidia-persistenced), C(nvidia-fabricmanager), C(nvlsm), C(nvidia-imex), and the engine of DCGM
    (C(nv-hostengine)), which only measures. Whoever changes the driver stops and starts them, as
    M(goldennode.gpu.driver_reload) does. Services of this collection are not counted either. A diagnosis that DCGM
    runs is counted, and so is an exporter.
  - Waits for programs to end with O(wait). With O(stop) those that are left are sent SIGTERM, and after O(grace)
    seconds SIGKILL. A signal goes to the process that was seen, and to none that has its number now. Process 1, this
    module and the processes that started it are never sent one.
  - A process that hangs in the kernel (D state) is named and not waited for. Only a reboot ends it.
  - GPUs that are in use are no failure of the module. RV(busy) says who uses them and what to do.
  - A program that draws on a screen by C(/dev/dri) alone is not seen, and neither are virtual machines that were given
    a GPU whole by vfio-pci.
extends_documentation_fragment:
  - goldennode.gpu.attributes
attributes:
  check_mode:
    support: full
    details: It looks once and does not wait.
  diff_mode:
    support: none
    details: There is no text to show.
options:
  wait:
    description: Seconds to wait for the programs to end by themselves.
    type: int
    default: 0
  stop:
    description: The consent to stop those that are left after O(wait). What they have not saved is lost.
    type: bool
    default: false
  grace:
    description: Seconds between SIGTERM and SIGKILL.
    type: int
    default: 30
seealso:
  - module: goldennode.gpu.docker_drain
  - module: goldennode.gpu.driver_reload
"""

EXAMPLES = r"""
- name: Look who uses the GPUs
  goldennode.gpu.gpu_idle:
  register: gpus

- name: Give programs ten minutes to end
  goldennode.gpu.gpu_idle:
    wait: 600
  register: gpus
  failed_when: gpus.busy | length > 0

- name: Stop what is left on the GPUs
  goldennode.gpu.gpu_idle:
    stop: true
    grace: 60
"""

RETURN = r"""
idle:
  description: Nobody uses the GPUs, which is known of every process. In check mode as it is now.
  returned: success
  type: bool
  sample: false
busy:
  description: Who is left on the GPUs, or of which process that is not known, and what to do. Empty when nobody is.
  returned: success
  type: str
  sample: >-
    the GPUs are in use: python3 (pid 4711, user alice) has /dev/nvidia0. Wait for them to end, or stop them
    (kill 4711).
users:
  description: The processes that are left on the GPUs.
  returned: success
  type: list
  elements: dict
  contains:
    pid:
      description: Its number.
      type: int
    start:
      description: When it began, in ticks of the kernel since the boot.
      type: int
    program:
      description: Its name as the kernel has it, 15 letters of it at most.
      type: str
    user:
      description: Name of its user in C(/etc/passwd), else the number.
      type: str
    state:
      description: State of its first thread, as ps has it.
      type: str
    nodes:
      description: The device nodes that it has open or mapped.
      type: list
      elements: str
    container:
      description: Id of the container that it is in. Empty where it is in none.
      type: str
    unit:
      description: Name of the system's service that it is of. Empty where it is of none.
      type: str
    ticks:
      description: What it has computed, in ticks of the kernel.
      type: int
  sample:
    - pid: 4711
      start: 881245
      program: python3
      user: alice
      state: S
      nodes: [/dev/nvidia-uvm, /dev/nvidia0, /dev/nvidiactl]
      container: ""
      unit: ""
      ticks: 90211
services:
  description: The node's own services on the GPUs, which are not counted. As RV(users).
  returned: success
  type: list
  elements: dict
  sample: []
unknown:
  description: What could not be read, in words. The GPUs then count as used.
  returned: success
  type: list
  elements: str
  sample: []
stopped:
  description: The processes that were sent a signal, or would be in check mode. As RV(users).
  returned: success
  type: list
  elements: dict
  sample: []
"""

import dataclasses
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.goldennode.gpu.plugins.module_utils.gpu_idle import Node, Result, Wish, settle
from ansible_collections.goldennode.gpu.plugins.module_utils.system import SystemFailure


def answer(result: Result) -> t.Dict[str, t.Any]:
    left = dataclasses.asdict(result.left)
    stopped = [dataclasses.asdict(one) for one in result.stopped]
    return {"changed": result.changed, "idle": result.left.idle, "busy": result.busy, "stopped": stopped, **left}


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "wait": {"type": "int", "default": 0},
            "stop": {"type": "bool", "default": False},
            "grace": {"type": "int", "default": 30},
        },
        supports_check_mode=True,
    )
    given = module.params
    try:
        result = settle(Node(), Wish(given["wait"], given["stop"], given["grace"], module.check_mode))
    except (SystemFailure, OSError) as error:
        module.fail_json(msg="it is not known who uses the GPUs: %s. The module reads /proc as root." % error)
    module.exit_json(**answer(result))


if __name__ == "__main__":
    main()
