# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Child: ask NVML for the driver and every GPU. Arguments: ``nvml PATH``, where PATH may hold pynvml.

JSON lines, each written before the next question is asked, as any question may be the one that hangs.
"""

# A child process answers by printing; there is no module.
# pylint: disable=ansible-bad-function

from __future__ import annotations

import json
import sys
import typing as t


def say(**line: t.Any) -> None:
    print(json.dumps(line), flush=True)


def text(value: t.Any) -> t.Any:
    """Older nvidia-ml-py returns bytes."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def main(path: str) -> None:
    sys.path.insert(0, path)
    try:
        import pynvml as nvml  # type: ignore[import-untyped,unused-ignore]
    except ImportError as error:
        say(error="nvidia-ml-py cannot be imported: %s" % error)
        return
    try:
        nvml.nvmlInit()
        driver = text(nvml.nvmlSystemGetDriverVersion())
        cuda = nvml.nvmlSystemGetCudaDriverVersion_v2()
        count = nvml.nvmlDeviceGetCount()
    except nvml.NVMLError as error:
        say(error="%s (code %s)" % (error, error.value))
        return
    say(driver=driver, cuda=cuda, count=count)
    for index in range(count):
        say(asking=index)
        say(gpu=ask(nvml, index))


def ask(nvml: t.Any, index: int) -> t.Dict[str, t.Any]:
    gpu: t.Dict[str, t.Any] = {"index": index}
    try:
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        gpu["uuid"] = text(nvml.nvmlDeviceGetUUID(handle))
        gpu["name"] = text(nvml.nvmlDeviceGetName(handle))
        gpu["pci"] = text(nvml.nvmlDeviceGetPciInfo(handle).busId)
    except nvml.NVMLError as error:
        gpu["error"] = "%s (code %s)" % (error, error.value)
    return gpu


if __name__ == "__main__":
    main(sys.argv[2])
