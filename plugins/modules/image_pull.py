#!/usr/bin/python
# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Have an image on the node by its digest: arguments in, result out."""

from __future__ import annotations

DOCUMENTATION = r"""
module: image_pull
short_description: Have a container image on the node by its digest, with a login that is used once
version_added: 0.1.0
author:
  - goldennode.gpu authors (@goldennode)
description:
  - Looks whether the system's Docker Engine has the image, and pulls it where it does not.
  - A login is put into a directory of its own below C(/run), which only root can enter and which is in memory, and is
    removed with it when the pull has ended, however it did. It is in no process list, no log and no file of root's, and
    C(docker login) is not called. What a run that was killed has left there, the next one removes.
  - Without a login the client's own settings count, as root has them on the node; credential helpers too.
  - The socket of the system's engine is named in each call, whatever context root has.
extends_documentation_fragment:
  - goldennode.gpu.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
    details: An image is there or it is not.
options:
  image:
    description: The image, with its digest and without a tag.
    type: str
    required: true
  registry:
    description: Name of the registry that the image is in, as logins have it; C(docker.io) for Docker Hub.
    type: str
    required: true
  username:
    description: Name to log in with. Left out, no login of ours is used.
    type: str
  password:
    description: Password or token of O(username).
    type: str
  timeout:
    description: Seconds that the pull may take.
    type: int
    default: 3600
seealso:
  - module: goldennode.gpu.docker_daemon
"""

EXAMPLES = r"""
- name: Have the image of the bundle
  goldennode.gpu.image_pull:
    image: nvcr.io/nvidia/cuda@sha256:0f9b1c...
    registry: nvcr.io
    username: $oauthtoken
    password: "{{ vault_ngc_key }}"
"""

RETURN = r"""
image:
  description: The image that is there now.
  type: str
  returned: success
"""

import contextlib
import os
import re
import shutil
import signal
import tempfile
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.goldennode.gpu.plugins.module_utils.image_pull import client_config, is_absent, trouble
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.docker import DOCKER
from ansible_collections.goldennode.gpu.plugins.module_utils.registry import Login

#: In memory, and only root may write there.
PARENT = "/run"
_FOLDER = re.compile(r"goldennode-login-(\d+)-")
_LOOK_SECONDS = 30


def sweep(parent: str) -> None:
    """Remove the logins of processes that are gone: nothing could clear up after a SIGKILL."""
    for name in os.listdir(parent):
        match = _FOLDER.match(name)
        if match and not os.path.exists("/proc/%s" % match.group(1)):
            shutil.rmtree(os.path.join(parent, name), ignore_errors=True)


@contextlib.contextmanager
def config_folder(parent: str, login: t.Optional[Login]) -> t.Iterator[t.Dict[str, str]]:
    """What to add to the client's environment, so that it has the login; nothing where there is none."""
    if login is None:
        yield {}
        return
    folder = tempfile.mkdtemp(prefix="goldennode-login-%d-" % os.getpid(), dir=parent)
    try:
        handle = os.open(os.path.join(folder, "config.json"), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(client_config(login))
        yield {"DOCKER_CONFIG": folder}
    finally:
        shutil.rmtree(folder)


def pull(module: AnsibleModule, login: t.Optional[Login], parent: str = PARENT) -> bool:
    """Whether the image had to be pulled, or would have to be."""
    image, registry, seconds = module.params["image"], module.params["registry"], module.params["timeout"]
    if not module.check_mode:
        sweep(parent)
    rc, _out, said = _run(module, ["image", "inspect", "--format", "{{.Id}}", image], _LOOK_SECONDS, {})
    if rc == 0:
        return False
    if module.check_mode:
        return True
    if not is_absent(rc, said):
        module.fail_json(msg="It is not known whether %s is there: %s" % (image, " ".join(said.split()) or rc))
    with config_folder(parent, login) as environment:
        rc, _out, said = _run(module, ["image", "pull", "--quiet", image], seconds, environment)
    if rc != 0:
        module.fail_json(msg=trouble(image, registry, login, rc, said, seconds))
    return True


def _run(
    module: AnsibleModule, words: t.Sequence[str], seconds: int, environment: t.Dict[str, str]
) -> t.Tuple[int, str, str]:
    limited = ["timeout", "--kill-after=10", str(seconds), *DOCKER, *words]
    return t.cast(t.Tuple[int, str, str], module.run_command(limited, environ_update=environment))


def _stop(_number: int, _frame: t.Any) -> None:
    raise SystemExit("stopped by a signal")  # and not at once, so that the login is removed


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "image": {"type": "str", "required": True},
            "registry": {"type": "str", "required": True},
            "username": {"type": "str"},
            "password": {"type": "str", "no_log": True},
            "timeout": {"type": "int", "default": 3600},
        },
        required_together=[("username", "password")],
        supports_check_mode=True,
    )
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    given = module.params
    login = Login(given["registry"], given["username"], given["password"]) if given["username"] else None
    try:
        changed = pull(module, login)
    except OSError as error:
        module.fail_json(msg="The login cannot be put into %s: %s" % (PARENT, error.strerror or error))
    module.exit_json(changed=changed, image=given["image"])


if __name__ == "__main__":
    main()
