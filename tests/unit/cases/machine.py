# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node in memory, that the probe can look at: what a healthy node answers, in the tools' own words.

A case replaces some of it; the capture is what the product's own recorder writes of a look at the rest. Nothing of it
is recorded: it says in the forms of the tools what ``healthy.evidence`` says parsed.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import typing as t

from ansible_collections.goldennode.gpu.plugins.module_utils.checks.wanted import packages as wanted_packages
from ansible_collections.goldennode.gpu.plugins.module_utils.docker_record import PATH as DOCKER_RECORD
from ansible_collections.goldennode.gpu.plugins.module_utils.docker_record import fingerprint
from ansible_collections.goldennode.gpu.plugins.module_utils.model import Desired, PciDevice
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import initramfs as content
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import kept_packages, own_holds
from ansible_collections.goldennode.gpu.plugins.module_utils.probe import initramfs
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.capture import Recorder
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.docker import pinned
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.host import Command
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.look import look
from ansible_collections.goldennode.gpu.tests.unit import healthy
from ansible_collections.goldennode.gpu.tests.unit.cases import questions, slowness, states
from ansible_collections.goldennode.gpu.tests.unit.cases.container import FOLDER, Container
from ansible_collections.goldennode.gpu.tests.unit.cases.disk import BOOTED, Disk

UVM_MAJOR = 508

#: What stands in for an A10 where a case names no card of its own.
A10 = PciDevice("0000:17:00.0", "2236", "0302", "nvidia")


def _toml(settings: t.Mapping[str, t.Any]) -> str:
    """JSON's words for a text and a switch are TOML's too."""
    plain = ["%s = %s\n" % (key, json.dumps(value)) for key, value in settings.items() if not isinstance(value, dict)]
    tables = ("[%s]\n%s" % (key, _toml(value)) for key, value in settings.items() if isinstance(value, dict))
    return "".join((*plain, *tables))


class Machine(Disk):
    """A host whose every answer can be replaced: ``files`` by path, ``answers`` by the name of the command."""

    def __init__(self, desired: Desired, gpus: t.Sequence[PciDevice] = (A10,), flavour: str = "") -> None:
        super().__init__()
        self.desired = desired
        self.driver = str(desired.lock["driver"]["version"])
        self.flavour = flavour or str(desired.lock["driver"]["flavour"])
        self.kernel = str(desired.lock["kernel"]["release"])
        self.functions = tuple(gpus)
        self.answers: t.Dict[str, t.Dict[str, t.Any]] = {}
        self.units: t.Dict[str, t.Dict[str, str]] = {}
        self.packages: t.Dict[str, t.Tuple[str, bool]] = {}
        self.statuses: t.Dict[str, str] = {}
        self.info: t.Dict[str, t.Any] = {}
        self.settings: t.Dict[str, t.Any] = json.loads(json.dumps(desired.daemon))
        self.containers: t.Dict[str, Container] = {}
        self.initramfs: t.Optional[content.Content] = None
        self.unlisted: t.List[t.Tuple[str, ...]] = []
        self._system()
        self._driver()
        self._runtime()

    # --- what a case replaces ---------------------------------------------------------------------------------------

    def booted(self, moment: float) -> None:
        self.write("/proc/stat", "%sbtime %d\n" % (slowness.CPU_TIMES, moment))

    def answer(self, name: str, rc: t.Optional[int] = 0, stdout: str = "", stderr: str = "", **more: t.Any) -> None:
        self.answers[name] = {"rc": rc, "stdout": stdout, "stderr": stderr, **more}

    def absent(self, program: str, *names: str) -> None:
        for name in names:
            self.answers[name] = {"missing": True, "error": "%s is not installed" % program}

    def each_container(self, **fields: t.Any) -> None:
        for name, one in self.containers.items():
            self.containers[name] = dataclasses.replace(one, **fields)

    def install(self, version: str, module: bool = True, libraries: bool = True) -> None:
        """Another version of the driver on the disk; what is loaded stays."""
        if module:
            self.module_on_disk(version)
        if libraries:
            for name in ("libcuda", "libnvidia-ml"):
                self.library(name, version)

    def library(self, name: str, version: str) -> None:
        self.links["%s/%s.so.1" % (FOLDER, name)] = "%s/%s.so.%s" % (FOLDER, name, version)

    def module_on_disk(self, version: str, modified: float = BOOTED - 3600, **fields: str) -> None:
        path = "/lib/modules/%s/updates/dkms/nvidia.ko.xz" % self.kernel
        said = {
            "filename": path,
            "version": version,
            "license": "Dual MIT/GPL" if self.flavour == "open" else "NVIDIA",
            "name": "nvidia",
            "vermagic": self.kernel + " SMP preempt mod_unload modversions",
            "sig_id": "PKCS#7",
            "signer": "DKMS module signing key",
            "sig_key": "01:02",
            **fields,
        }
        self.write(path, "module " + version)
        self.times[path] = modified
        stdout = "".join("%-16s%s\n" % (name + ":", value) for name, value in said.items() if value)
        self.answer("modinfo %s nvidia" % self.kernel, stdout=stdout)
        state = "nvidia/%s, %s, x86_64: installed\n" % (version, self.kernel)
        self.answer("dkms status", stdout=state)

    def no_module(self) -> None:
        """Nothing of nvidia's is loaded, and there is no module for the running kernel."""
        self.not_loaded()
        for path in [path for path in self.files if path.startswith("/lib/modules/%s/updates" % self.kernel)]:
            del self.files[path]
        said = "modinfo: ERROR: Module nvidia not found.\n"
        self.answer("modinfo %s nvidia" % self.kernel, 1, stderr=said)
        self.answer("modprobe %s" % self.kernel, 1, stderr="modprobe: FATAL: Module nvidia not found.\n")

    def not_loaded(self) -> None:
        for path in [path for path in self.files if path.startswith(("/sys/module/nvidia", "/proc/driver/nvidia"))]:
            del self.files[path]
        self.directories -= {"/sys/module/nvidia", "/sys/module/nvidia_uvm"}
        for device in self.functions:
            self.links.pop("/sys/bus/pci/devices/%s/driver" % device.address, None)
        said = (
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest "
            "NVIDIA driver is installed and running.\n\n"
        )
        self.smi_fails(9, stdout=said)
        self.nvml_fails("Driver Not Loaded", 9)
        self.cuda_fails(100, "CUDA_ERROR_NO_DEVICE")
        self.answer("dmesg", stdout="")

    def state(self, index: int, **answers: t.Any) -> None:
        """What NVML tells of one GPU besides: of two lines of one question the last counts."""
        self.answers["nvml"]["stdout"] += states.lines(index, answers)

    def image_sets(self, **variables: str) -> None:
        """Of the image's environment what Docker is asked for: a line of JSON for each variable, an empty one last."""
        said = "".join(json.dumps("%s=%s" % pair) + "\n" for pair in variables.items())
        before = self.answers.get("image environment", {"stdout": "\n"})["stdout"]
        self.answer("image environment", stdout=said + before)

    def smi_fails(self, rc: int, stdout: str = "", stderr: str = "") -> None:
        for name in ("nvidia-smi", "nvidia-smi -L", "nvidia-smi query"):
            self.answer(name, rc, stdout, stderr)

    def nvml_fails(self, words: str, code: int) -> None:
        self.answer("nvml", stdout='{"error": "%s (code %d)"}\n' % (words, code))

    def cuda_fails(self, code: int, name: str) -> None:
        self.answer("cuda", stdout='{"code": %d, "error": "%s", "devices": 0}\n' % (code, name))

    def no_gpu_answers(self) -> None:
        """nvidia-smi where the driver is loaded and has taken no GPU."""
        self.smi_fails(6, stdout="No devices were found\n")
        self.answer("nvml", stdout='{"driver": "%s", "cuda": 13000, "count": 0}\n' % self.driver)
        self.cuda_fails(100, "CUDA_ERROR_NO_DEVICE")

    def docker_does_not_start(self, words: str) -> None:
        """dockerd ends at once; systemd tries it again a few times and gives up."""
        said = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?"
        self.answer("docker info", 1, json.dumps({"ServerErrors": [said]}) + "\n")
        self.answer("docker image", 1, stderr=said + "\n")
        self.answer("image environment", 1, stderr=said + "\n")
        self.answer("containers", 1, stderr=said + "\n")
        self.units["docker.service"] = {"LoadState": "loaded", "ActiveState": "failed", "UnitFileState": "enabled"}
        self.answer("journal of docker.service", stdout=words)
        for one in self.containers.values():
            one.error = "docker: " + said

    def cards(self, devices: t.Sequence[PciDevice]) -> None:
        """Other cards than an A10, with a driver that takes them."""
        for path in [path for path in (*self.files, *self.links) if path.startswith("/sys/bus/pci/devices/")]:
            self.files.pop(path, None)
            self.links.pop(path, None)
        self.nodes.clear()
        self.functions = tuple(devices)
        self._driver()
        self._runtime()

    def log(self, text: str) -> None:
        """Lines of the kernel's log, after those of a healthy start."""
        more = "".join("[ 9000.000000] %s\n" % line for line in text.splitlines())
        self.answers["dmesg"]["stdout"] += more

    # --- healthy ----------------------------------------------------------------------------------------------------

    def _system(self) -> None:
        kernel = self.kernel
        for path, text in {
            "/etc/os-release": 'PRETTY_NAME="Debian GNU/Linux 13 (trixie)"\nID=debian\nVERSION_ID="13"\n',
            "/proc/sys/kernel/osrelease": kernel + "\n",
            "/proc/sys/kernel/random/boot_id": "11111111-2222-4333-8444-555555555555\n",
            "/proc/cmdline": "BOOT_IMAGE=/boot/vmlinuz-%s root=/dev/sda1 ro quiet\n" % kernel,
            "/proc/devices": "Character devices:\n  1 mem\n195 nvidia\n%d nvidia-uvm\n\nBlock devices:\n" % UVM_MAJOR,
            "/proc/self/mountinfo": "36 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"
            "35 24 0:30 / /sys/fs/cgroup rw,nosuid,nodev - cgroup2 cgroup2 rw,nsdelegate\n",
            **slowness.FILES,
            "/etc/group": "root:x:0:\nvideo:x:44:alice,bob\n",
            "/sys/module/apparmor/parameters/enabled": "Y\n",
            "/sys/kernel/security/lsm": "lockdown,capability,landlock,yama,apparmor\n",
            "/etc/apt/sources.list": "deb http://deb.debian.org/debian trixie main\n",
            "/boot/vmlinuz-" + kernel: "a kernel",
            "/boot/initrd.img-" + kernel: "an initramfs",
            "/usr/sbin/update-initramfs": "#!/bin/sh\n",
            "/boot/grub/grub.cfg": "set default=0\nmenuentry 'Debian GNU/Linux' {\n linux /boot/vmlinuz-%s"
            " root=/dev/sda1 ro quiet\n initrd /boot/initrd.img-%s\n}\n" % (kernel, kernel),
        }.items():
            self.write(path, text)
        self.booted(BOOTED)
        self.directories |= {"/dev", "/sys/module", "/lib/modules/%s" % kernel, "/var/lib/docker"}
        for path, file in self.desired.files.items():
            self.write(path, file.content or "PK")
            self.modes[path], self.digests[path] = file.mode, file.sha256
        for axis in ("kernel", "driver", "toolkit", "docker"):
            self._installed(axis)

    def _installed(self, axis: str) -> None:
        for name, version in (self.desired.lock[axis] or {}).get("packages", {}).items():
            self.packages[name] = (version, True)

    def _driver(self) -> None:
        if any(device.nvswitch for device in self.functions):
            self._installed("fabric_manager")
        for device in self.functions:
            folder = "/sys/bus/pci/devices/%s/" % device.address
            self.write(folder + "vendor", "0x10de\n")
            self.write(folder + "device", "0x%s\n" % device.device)
            self.write(folder + "class", "0x%s00\n" % device.pci_class)
            if device.driver:
                self.links[folder + "driver"] = "/sys/bus/pci/drivers/" + device.driver
        self.loaded(self.driver)
        self.directories |= {"/sys/module/nvidia", "/sys/module/nvidia_uvm"}
        parameters = "ModifyDeviceFiles: 1\nDeviceFileUID: 0\nDeviceFileGID: 44\nDeviceFileMode: %d\n" % self.mode
        self.write("/proc/driver/nvidia/params", parameters)
        gpus = [device for device in self.functions if device.is_gpu]
        for index in range(len(gpus)):
            self.nodes["/dev/nvidia%d" % index] = (self.mode, 44, 195, index)
        self.nodes["/dev/nvidiactl"] = (self.mode, 44, 195, 255)
        self.nodes["/dev/nvidia-uvm"] = (self.mode, 44, UVM_MAJOR, 0)
        self.nodes["/dev/nvidia-uvm-tools"] = (self.mode, 44, UVM_MAJOR, 1)
        for path, (_mode, _gid, major, minor) in self.nodes.items():
            self.links["/dev/char/%d:%d" % (major, minor)] = path
        self.install(self.driver)
        self.answer("ldconfig", stdout="2 libs found in cache `/etc/ld.so.cache'\n" + "".join(
            "\t%s.so.1 (libc6,x86-64) => %s/%s.so.1\n" % (name, FOLDER, name) for name in ("libnvidia-ml", "libcuda")
        ))  # fmt: skip
        self.answer("dmesg", stdout="[    1.756084] NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  %s\n"
                    % self.driver)  # fmt: skip
        self.tools(self.driver, "13.0")
        self.answer("journal of nvidia-fabricmanager.service", stdout="Successfully configured all the NVSwitches\n")

    def loaded(self, version: str) -> None:
        kind = "Open Kernel Module" if self.flavour == "open" else "Kernel Module"
        line = "NVRM version: NVIDIA UNIX %s for x86_64  %s  Release Build\n" % (kind, version)
        self.write("/proc/driver/nvidia/version", line)
        self.write("/sys/module/nvidia/version", version + "\n")

    @property
    def mode(self) -> int:
        return int(self.desired.settings["device_access"]["device_access_mode"], 8)

    @property
    def gpus(self) -> t.List[PciDevice]:
        return [device for device in self.functions if device.is_gpu]

    def tools(self, driver: str, cuda: str, banner: str = "") -> None:
        """nvidia-smi, NVML and CUDA, on the host and in each container."""
        rows = [
            "%d, %s, NVIDIA GPU, %s, %s" % (index, healthy.uuid(index), device.address.rjust(16, "0"), driver)
            for index, device in enumerate(self.gpus)
        ]
        self.answer("nvidia-smi query", stdout="\n".join(rows) + "\n")
        listed = ("GPU %d: NVIDIA GPU (UUID: %s)\n" % (index, healthy.uuid(index)) for index in range(len(rows)))
        self.answer("nvidia-smi -L", stdout="".join(listed))
        line = "| NVIDIA-SMI %-22s Driver Version: %-14s CUDA Version: %-8s |" % (driver, driver, cuda)
        self.answer("nvidia-smi", stdout="+%s+\n%s\n" % ("-" * 77, banner or line))
        number = int(cuda.split(".")[0]) * 1000 + int(cuda.split(".")[1]) * 10
        said: t.List[t.Dict[str, t.Any]] = [{"driver": driver, "cuda": number, "count": len(rows)}]
        for index, device in enumerate(self.gpus):
            gpu = {"index": index, "uuid": healthy.uuid(index), "name": "NVIDIA GPU", "pci": device.address}
            said += [{"asking": index}, {"gpu": gpu}]
        self.answer("nvml", stdout="".join(json.dumps(one) + "\n" for one in said))
        nvlink = any(device.nvswitch for device in self.functions)
        for index in range(len(rows)):
            self.state(index, **states.healthy(nvlink))
        ready = self.cuda(driver, range(len(rows)))
        self.answer("cuda", stdout=json.dumps(ready) + "\n")
        wishes = {"all": range(len(rows)), str(len(rows) - 1): [len(rows) - 1], healthy.uuid(0): [0]}
        for way in self.desired.settings["golden"]["golden_container_injections"]:
            for device, indexes in wishes.items():
                lines = "\n".join(rows[index] for index in indexes)
                if device != "all":
                    lines = "0" + lines[lines.index(",") :]
                self.containers["container %s %s" % (way, device)] = Container(
                    smi=(lines, 0), driver=driver, libcuda="libcuda.so." + driver,
                    nodes=dict(self.nodes), cuda=self.cuda(driver, indexes),
                )  # fmt: skip

    def cuda(self, driver: str, indexes: t.Iterable[int]) -> t.Dict[str, t.Any]:
        uuids = [healthy.uuid(index) for index in indexes]
        library = "%s/libcuda.so.%s" % (FOLDER, driver)
        return {"code": 0, "error": None, "devices": len(uuids), "library": library, "uuids": ",".join(uuids)}

    def _runtime(self) -> None:
        for name in (*self.desired.units, "nvidia-fabricmanager.service"):
            self.units[name] = {
                "LoadState": "loaded",
                "ActiveState": "active",
                "UnitFileState": "enabled",
                "InvocationID": "invocation of " + name,
            }
        self.info = {
            "ServerVersion": self.desired.lock["docker"]["version"],
            "DockerRootDir": "/var/lib/docker",
            "CgroupDriver": "systemd",
            "CgroupVersion": "2",
            "CDISpecDirs": ["/etc/cdi", "/var/run/cdi"],
            "SecurityOptions": ["name=apparmor", "name=seccomp,profile=builtin"],
            "OperatingSystem": "Debian GNU/Linux 13 (trixie)",
            "ContainersRunning": 0,
            "DefaultRuntime": "runc",
            "Runtimes": {"nvidia": {"path": "nvidia-container-runtime"}, "runc": {"path": "runc"}},
        }
        self.write("/etc/docker/daemon.json", json.dumps(self.settings))
        self.times["/etc/docker/daemon.json"] = BOOTED - 60
        self.write(DOCKER_RECORD, json.dumps(fingerprint("invocation of docker.service", self.settings)))
        self.write("/etc/nvidia-container-runtime/config.toml", _toml(self.desired.toolkit))
        self.write("/usr/bin/nvidia-container-runtime", "")
        self.modes["/usr/bin/nvidia-container-runtime"] = 0o755
        names = [name for index in range(len(self.gpus)) for name in (str(index), healthy.uuid(index))] + ["all"]
        mount = "%s/libcuda.so.%s" % (FOLDER, self.driver)
        spec = (
            "---\ncdiVersion: 0.7.0\nkind: nvidia.com/gpu\ncontainerEdits:\n  env:\n  - NVIDIA_VISIBLE_DEVICES=void\n"
        )
        spec += "  hooks:\n  - path: /usr/bin/nvidia-cdi-hook\n    hookName: createContainer\n"
        spec += "  mounts:\n  - hostPath: %s\n    containerPath: %s\ndevices:\n" % (mount, mount)
        spec += "".join('- name: "%s"\n  containerEdits:\n    deviceNodes:\n    - path: /dev/nvidia0\n' % one
                        for one in names)  # fmt: skip
        self.write("/var/run/cdi/nvidia.yaml", spec)
        self.links["/var/run/cdi"] = "/run/cdi"
        digests = {"RepoDigests": [pinned(self.desired.lock["image"])]}
        self.answer("docker image", stdout=json.dumps(digests) + "\n")
        self.image_sets(NVIDIA_VISIBLE_DEVICES="all", NVIDIA_DRIVER_CAPABILITIES="compute,utility")
        listener = {"path": "/run/docker.sock", "pid": 1, "program": "/sbin/init", "cgroup": "/init.scope"}
        self.answer("docker socket", stdout=json.dumps(listener) + "\n")
        users = ("", "root", *self.desired.settings["device_access"]["device_access_users"])
        self.answer("docker clients", stdout="".join('{"user": "%s", "found": []}\n' % user for user in users))
        self.answer("containers")

    # --- how it answers ---------------------------------------------------------------------------------------------

    def capture(self, single_gpus: bool = True) -> t.Dict[str, t.Any]:
        """What a look at it records, as it lies in a file."""
        self._settle()
        recorder = Recorder(self)
        look(recorder, self.desired, single_gpus=single_gpus)
        found: t.Dict[str, t.Any] = json.loads(json.dumps(recorder.capture()))
        return found

    def _settle(self) -> None:
        """What a run of ours has written down of a node that it left as it is now."""
        wanted = wanted_packages(self.desired, self.functions)
        self.files.setdefault(own_holds.PATH, own_holds.render(wanted).encode())
        kept = {}
        for name, (version, _held) in self.packages.items():
            file = "%s_%s.deb" % (name, version.replace(":", "%3a"))
            kept["%s=%s" % (name, version)] = kept_packages.KeptFile(file, 2, "0" * 64)
            self.files.setdefault("%s/%s" % (kept_packages.DIRECTORY, file), b"ok")
        self.files.setdefault(kept_packages.MANIFEST, kept_packages.render(kept).encode())
        inside = self.initramfs or content.Content(nouveau=True, blacklisted=True)
        image = "/boot/initrd.img-%s" % self.kernel
        inputs, digest = initramfs.inputs_digest(self, self.kernel).value, initramfs.image_digest(self, image).value
        entry = initramfs.record_entry(inputs or "", digest or "", inside)
        self.files.setdefault(initramfs.RECORD, initramfs.record_text({self.kernel: entry}).encode())

    def run(
        self,
        argv: t.Sequence[str],
        timeout: float,
        unprivileged: bool = False,
        groups: t.Sequence[int] = (),
        where: str = "host",
    ) -> Command:
        name = questions.name_of(where, argv)
        if name is None:
            self.unlisted.append(tuple(argv))
        answer = self._answer(name or "", argv)
        if answer is None:
            answer = {"missing": True, "error": "%s is not installed" % argv[0]}
        return Command(where, tuple(argv), **answer)

    def _answer(self, name: str, argv: t.Sequence[str]) -> t.Optional[t.Dict[str, t.Any]]:
        if name in self.answers:
            return self.answers[name]
        if name in self.containers:
            return self.containers[name].answer()
        if name == "docker info":
            return {"rc": 0, "stdout": json.dumps(self.info) + "\n"}
        if name == "dpkg-query":
            rows = ["dpkg\tamd64\t1.22.22\tinstall\tok\tinstalled"]
            for package, (version, held) in sorted(self.packages.items()):
                want, status = "hold" if held else "install", self.statuses.get(package, "installed")
                rows.append("%s\tamd64\t%s\t%s\tok\t%s" % (package, version, want, status))
            return {"rc": 0, "stdout": "\n".join(rows) + "\n"}
        if name == "units":
            return {"rc": 0, "stdout": "\n".join(self._unit(unit) for unit in argv[4:])}
        return None

    def _unit(self, name: str) -> str:
        absent = {"LoadState": "not-found", "ActiveState": "inactive", "UnitFileState": "", "InvocationID": ""}
        fields = {"Id": name, **self.units.get(name, absent)}
        if fields["ActiveState"] == "active":
            moment = datetime.datetime.fromtimestamp(BOOTED + 60, datetime.timezone.utc)
            fields.setdefault("ActiveEnterTimestamp", moment.strftime("%a %Y-%m-%d %H:%M:%S UTC"))
        return "".join("%s=%s\n" % pair for pair in fields.items())
