# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Child: import the frameworks of an image and have each say what it sees. Arguments: ``frameworks SECONDS NAME...``.

It runs inside images, whose Python may be as old as 3.6: nothing here is newer. Each framework has a process and a time
of its own, since an import may hang in the driver or end the process. JSON lines, each written before the next
question. No GPU is given work.
"""

# A child process answers by printing; there is no module.
# pylint: disable=ansible-bad-function

import importlib
import json
import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import typing as t

#: The probe's container may have few processes, and some libraries start one thread for each processor when imported.
#: What follows keeps TensorFlow quiet, and JAX from taking most of a GPU's memory.
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "TF_CPP_MIN_LOG_LEVEL": "2",
    "TF_FORCE_GPU_ALLOW_GROWTH": "true",
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
}


def say(name: str, **answer: "t.Any") -> None:
    print(json.dumps(dict(answer, framework=name)), flush=True)


def main() -> None:
    os.environ.update(ENVIRONMENT)
    seconds = int(sys.argv[2])
    for name in sys.argv[3:]:
        child = os.fork()
        if child == 0:
            # Without a handler of Python's, which would wait for a call into the driver to end.
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(seconds)
            ask(name)
            sys.stdout.flush()
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            late = number == signal.SIGALRM
            say(name, error="gave no answer within %d s" % seconds if late else "was ended by signal %d" % number)


def ask(name: str) -> None:
    try:
        ASK[name](name)
    except BaseException as error:  # whatever it is, it is the answer
        say(name, error="%s: %s" % (type(error).__name__, str(error)[:500]))


def torch(name: str) -> None:
    it = importlib.import_module("torch")
    say(name, version=str(it.__version__), cuda=it.version.cuda or "")
    say(name, available=bool(it.cuda.is_available()))
    devices = int(it.cuda.device_count())
    say(name, devices=devices)
    if it.version.cuda and devices:
        say(name, architectures=list(it.cuda.get_arch_list()))
        say(name, capabilities=["%d.%d" % tuple(it.cuda.get_device_capability(number)) for number in range(devices)])


def tensorflow(name: str) -> None:
    it = importlib.import_module("tensorflow")
    build = it.sysconfig.get_build_info()
    cuda = str(build.get("cuda_version") or "") if it.test.is_built_with_cuda() else ""
    say(name, version=str(it.__version__), cuda=cuda)
    devices = len(it.config.list_physical_devices("GPU"))
    say(name, available=devices > 0, devices=devices)


def jax(name: str) -> None:
    it = importlib.import_module("jax")
    say(name, version=str(it.__version__))
    devices = [device for device in it.devices() if device.platform in ("gpu", "cuda")]
    say(name, available=bool(devices), devices=len(devices))


ASK = {"torch": torch, "tensorflow": tensorflow, "jax": jax}

if __name__ == "__main__":
    main()
