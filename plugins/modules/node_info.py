#!/usr/bin/python
# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Look at a GPU node: arguments in, evidence out."""

from __future__ import annotations

DOCUMENTATION = r"""
module: node_info
short_description: Read everything off a GPU node that decides whether it works
version_added: 0.1.0
author:
  - goldennode.gpu authors (@goldennode)
description:
  - Looks at a node and returns what it read, from the PCI bus up to a CUDA call inside a container. It judges nothing;
    M(goldennode.gpu.node_verify) does.
  - Each item is a reading, which is either a value or the reason why it could not be read. What could not be read is
    never reported as absent.
  - Looking changes nothing. The device nodes are listed before anything of NVIDIA's runs, and nvidia-smi, NVML and CUDA
    run as an unprivileged user who cannot gain rights, so that they create no device node. The one trace is a container
    that is started with O(scope=full), named C(goldennode-probe-) and some digits, and removed.
  - Nothing hangs it. Every command has a time limit, and one that had to be killed is in the answer with its process
    number.
extends_documentation_fragment:
  - goldennode.gpu.attributes.looks
notes:
  - Without root, what only root may read is returned as not known.
options:
  desired:
    description:
      - What nodes are wanted to be, by platform, as the action C(goldennode.gpu.desired) returns it. The entry for the
        platform of the node says which image to start, which files and units to read and which packages matter.
      - Without it, or without an entry for the platform, what can be read is read, and no container is started.
    type: dict
    default: {}
  scope:
    description:
      - How much to read.
      - V(full) reads everything.
      - V(host) starts no container.
      - V(fact) reads files and the list of packages only; nothing of NVIDIA's runs, and nothing that takes long.
    type: str
    choices: [full, host, fact]
    default: full
  timeout:
    description: Seconds that the whole look may take. What is not reached in time is returned as not known.
    type: int
    default: 60
  capture:
    description:
      - Return everything that the commands printed and the files held as well, so that the node can be judged elsewhere
        and later. It may hold host names, package lists and the kernel log.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Look at a node of which nothing is known yet
  goldennode.gpu.node_info:
    scope: host
  register: node

- name: Look without starting anything, and keep the look for a report
  goldennode.gpu.node_info:
    scope: fact
    capture: true
  register: node
"""

RETURN = r"""
evidence:
  description:
    - What was read. A reading has C(value) and C(error). C(error) is null when the value is known, and a C(value) of
      null then means that the thing is known to be absent.
  returned: always
  type: dict
  contains:
    collected_at:
      description: When the look began, in UTC.
      type: str
      sample: "2026-11-30T15:31:00+00:00"
    host:
      description: Name of the node, as the node calls itself.
      type: str
      sample: gpu-17
    scope:
      description: The scope of the look.
      type: str
      sample: full
    platform:
      description: Reading of the distribution, its version and the architecture.
      type: dict
      sample: {"error": null, "value": {"arch": "x86_64", "id": "debian", "version_id": "13", "wsl": false}}
    boot:
      description: Reading of boot id, running kernel and time of boot in seconds since the epoch.
      type: dict
    pci:
      description: Reading of all PCI functions of NVIDIA's, with the driver that is bound, and whether one is a vGPU.
      type: dict
    packages:
      description: Reading of the installed packages that matter, with their full versions and whether they are held.
      type: dict
    sources:
      description: Reading of the entries of the package sources (apt), with file and line.
      type: dict
    kept_packages:
      description: Reading of the package files that are kept for going back, and of the packages of the lock before.
      type: dict
    own_holds:
      description: Reading of the packages that this collection has held, whether or not they still are.
      type: dict
      sample: {"error": null, "value": ["docker-ce", "libcuda1"]}
    modules_loaded:
      description: Reading of the kernel modules that drive a GPU, or keep the NVIDIA driver from it.
      type: dict
    driver:
      description: Reading of version and flavour (open or proprietary) of the nvidia module in the kernel.
      type: dict
      sample: {"error": null, "value": {"flavour": "open", "version": "580.95.05"}}
    driver_params:
      description: Reading of the module's parameters, as the driver prints them (numbers are decimal).
      type: dict
    module_on_disk:
      description: >-
        Reading of the nvidia module that would be loaded for the running kernel, with its signer and when it was put
        there.
      type: dict
    initramfs:
      description: Reading of the initramfs of every installed kernel, and whether nouveau is inside.
      type: dict
    kernel_log:
      description: Reading of the lines of this boot's kernel log that matter to a GPU.
      type: dict
    libraries:
      description: Reading of where the dynamic linker finds libcuda and libnvidia-ml, and the files behind the links.
      type: dict
    device_nodes:
      description: Reading of the device nodes as they were before anything of NVIDIA's ran.
      type: dict
    device_majors:
      description: Reading of the major numbers that NVIDIA's drivers have in the kernel.
      type: dict
    groups:
      description: Reading of the groups of the node, with number and members.
      type: dict
    smi:
      description: Reading of what nvidia-smi says, with an error for each GPU that it cannot ask.
      type: dict
    nvml:
      description:
        - Reading of what NVML says through nvidia-ml-py.
        - C(state) of each GPU has a reading for each question about it (MIG, ECC, remapped rows, retired pages, the
          recovery action, the NVLink fabric, reasons for lower clocks, persistence mode, PCIe link, use, processes). A
          value of null then means that this driver or GPU does not have such a thing.
        - Of a GPU in MIG mode C(mig_devices) has the place and the UUID of each MIG device that an ordinary user is
          shown.
        - Of a process only the name of its program is read, never its arguments.
      type: dict
    cuda:
      description: Reading of cuInit and the device count, and of the libcuda that was used.
      type: dict
    units:
      description: Reading of the systemd units that matter.
      type: dict
    docker:
      description: Reading of the Docker engine behind C(/var/run/docker.sock).
      type: dict
    docker_socket:
      description: Reading of the process that listens on that socket.
      type: dict
    docker_clients:
      description: Reading of the settings of root and of the wanted users that lead their C(docker) to another daemon.
      type: dict
    docker_root:
      description: Reading of the directory in which Docker keeps its data, and of the file system that it lies on.
      type: dict
    docker_config:
      description: Reading of C(/etc/docker/daemon.json).
      type: dict
    docker_config_file:
      description: Reading of digest, mode, owner and time of that file.
      type: dict
    docker_record:
      description: Reading of the start of Docker for which wanted settings were last known to be in force.
      type: dict
    image_digests:
      description: Reading of the digests of the wanted image, where it is on the node.
      type: dict
    cdi_specs:
      description:
        - Reading of the CDI specifications for NVIDIA devices by path, with kind, schema, devices and the driver
          version named inside.
      type: dict
    cdi_target:
      description: Reading of the path to which the toolkit's units write the CDI specification.
      type: str
    toolkit_config:
      description: Reading of C(/etc/nvidia-container-runtime/config.toml).
      type: dict
    containers:
      description: Readings of what a fresh container sees, by the way the GPUs were injected (C(runtime), C(cdi)).
      type: dict
    requests:
      description: >-
        Reading of what containers see that ask for one GPU, or for a MIG device, by its index or its UUID. Only
        M(goldennode.gpu.node_verify) asks.
      type: dict
    frameworks:
      description: >-
        Reading of what the frameworks of the image (C(torch), C(tensorflow), C(jax)) say once they are imported in a
        container. Only M(goldennode.gpu.node_verify) asks; which there are, and for which CUDA they were built, stands
        in C(containers).
      type: dict
    image_environment:
      description: >-
        Reading of what the image itself sets of C(LD_LIBRARY_PATH), C(CUDA_VISIBLE_DEVICES), C(NVIDIA_VISIBLE_DEVICES),
        C(NVIDIA_DRIVER_CAPABILITIES), C(NVIDIA_REQUIRE_CUDA) and C(NVIDIA_DISABLE_REQUIRE). No other variable is read.
      type: dict
      sample: {"error": null, "value": {"NVIDIA_VISIBLE_DEVICES": "all"}}
    files:
      description: Reading of the wanted files that exist, with digest, mode and owner.
      type: dict
    mark:
      description: Reading of the golden mark.
      type: dict
    boot_default:
      description: Reading of what the boot loader starts by default; null where it is none that is known.
      type: dict
    command_line:
      description: Reading of the command line that the kernel was started with.
      type: dict
    secure_boot:
      description: >-
        Reading of whether Secure Boot is on. Where it is, also the keys that the machine's owner has enrolled, the
        certificate with which DKMS signs, and whether that one is enrolled.
      type: dict
    apparmor:
      description: Reading of whether AppArmor is in force in the running kernel.
      type: dict
      sample: {"error": null, "value": true}
    selinux:
      description: >-
        Reading of SELinux, its mode now and at the next boot, the narrowest boolean by which containers may use the
        device nodes of GPUs, and whether they may.
      type: dict
    module_to_boot:
      description: >-
        Reading of the nvidia module for the kernel of the lock, which is the one that shall boot. The same as
        C(module_on_disk) where that kernel runs.
      type: dict
    dkms:
      description: Reading of the modules that DKMS knows, and how far each is built for which kernel.
      type: dict
    build_failure:
      description: >-
        Reading of what stopped the last build of the lock's driver by DKMS, and for which kernel, from its log; null
        where no build has failed.
      type: dict
    docker_journal:
      description: >-
        Reading of what dockerd said before it ended, the last first; asked where no engine answers, else null.
      type: dict
    modprobe:
      description: Reading of the lines of modprobe.d that can keep nvidia's modules out, with file and line.
      type: dict
    fabric_mismatch:
      description: Reading of the two versions that the fabric manager called different when it started last.
      type: dict
    dev_char:
      description: Reading of what the link in /dev/char leads to, by device node of the driver; null where none is.
      type: dict
      sample: {"error": null, "value": {"/dev/nvidia0": "/dev/nvidia0"}}
    running_containers:
      description: >-
        Reading of the running containers that have files or device nodes of the driver, with the driver's version that
        they hold and what systemd lets them open.
      type: dict
    pci_slots:
      description: Reading of the PCIe link of each GPU, now and at best, and of its NUMA node, by PCI address.
      type: dict
      sample:
        error: null
        value:
          "0000:17:00.0":
            link: {"generation": 4, "max_generation": 4, "max_width": 16, "width": 16}
            numa_node: 0
    numa_nodes:
      description: Reading of how many NUMA nodes the machine has.
      type: dict
      sample: {"error": null, "value": 2}
    load:
      description: >-
        Reading of what can make a healthy node slow, each part a reading of its own. How long work waited for CPUs,
        memory and disks (pressure stall information), load averages, what disks and a hypervisor took of the CPUs'
        time since boot, memory and swap, governors, the CPUs that are online and isolated, and those of each NUMA node.
      type: dict
    limits:
      description: >-
        Reading of what the control groups of running containers with GPUs let them have of CPUs, memory and processes,
        the size of their /dev/shm, and what they lacked; null where Docker is not installed.
      type: dict
    cgroups:
      description: >-
        Reading of the version of control groups (C(1), C(2) or C(hybrid)), its controllers, and those that systemd
        hands to users.
      type: dict
    runtime_program:
      description: >-
        Reading of the program that C(runtimes.nvidia) of daemon.json shall name, with path, mode and when it changed
        last; null where it is not there.
      type: dict
    engines:
      description: >-
        Reading of the container engines that are installed, with what their settings say of GPUs, of leftover hooks,
        whether Kubernetes is there, and the sockets of users' own engines.
      type: dict
    reloads:
      description: >-
        Empty here. M(goldennode.gpu.node_verify) puts in what a container may open before and after a
        C(systemctl daemon-reload).
      type: dict
      sample: {}
capture:
  description: The look with everything that was read for it, from which it can be repeated elsewhere.
  returned: when O(capture=true)
  type: dict
  contains:
    schema:
      description: Version of the format.
      type: int
      sample: 1
    collected_at:
      description: When the capture was closed, in seconds since the epoch.
      type: float
    host:
      description: Name of the node.
      type: str
    machine:
      description: Architecture of the node.
      type: str
      sample: x86_64
    commands:
      description: The commands that were run, with exit code and output.
      type: list
      elements: dict
    files:
      description: Text of the files that were read, by path; null for a file that is not there.
      type: dict
    dirs:
      description: Entries of the directories that were listed, with kind, mode, owner and device numbers.
      type: dict
    stats:
      description: Kind, mode, owner and size of single paths.
      type: dict
    links:
      description: The files behind links.
      type: dict
    states:
      description: Digest, mode and owner of whole files.
      type: dict
    errors:
      description: Why a path could not be read, by section and path.
      type: dict
"""

from ansible_collections.goldennode.gpu.plugins.module_utils import zip_once

zip_once.install()  # before all others
# isort: split

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.goldennode.gpu.plugins.module_utils.model import to_plain
from ansible_collections.goldennode.gpu.plugins.module_utils.plain import desired_from_plain
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.capture import Recorder
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.host import LocalHost
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.look import choose, look


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "desired": {"type": "dict", "default": {}},
            "scope": {"type": "str", "choices": ["full", "host", "fact"], "default": "full"},
            "timeout": {"type": "int", "default": 60},
            "capture": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
        no_log=True,  # the arguments are long and would fill the journal of the node
    )
    given = module.params
    if given["timeout"] < 1:
        module.fail_json(msg="timeout is %d; a look needs at least 1 second" % given["timeout"])
    try:
        wanted = {platform: desired_from_plain(plain) for platform, plain in given["desired"].items()}
    except ValueError as error:
        module.fail_json(msg="desired is not what the action goldennode.gpu.desired returns: %s" % error)
    host = Recorder(LocalHost())
    _platform, desired = choose(host, wanted)
    evidence = look(host, desired, given["scope"], given["timeout"])
    result = {"evidence": to_plain(evidence)}
    if given["capture"]:
        result["capture"] = host.capture()
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
