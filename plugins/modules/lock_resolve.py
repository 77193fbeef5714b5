#!/usr/bin/python
# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Resolve a bundle to a lock: arguments in, lock out."""

from __future__ import annotations

DOCUMENTATION = r"""
module: lock_resolve
short_description: Resolve a bundle to exact package versions and digests, without touching the node
version_added: 0.1.0
author:
  - goldennode.gpu authors (@goldennode)
description:
  - Finds the full version of every package that the bundle means on this node's platform, in a throw-away package root
    made of the distribution's repositories and those of the bundle. The node's own package configuration is not
    changed, and nothing of it is used but its proxies.
  - Adds what these packages need of the same vendors, so that nothing of the set stays without a version.
  - Proves by simulation that the whole set can be installed on this node.
  - Asks the registry for the digest of the bundle's image, where the bundle does not pin it, with the login of
    O(registry_logins) where it lets nobody else read. A login is kept in memory, and sent to that registry and the
    place that it names for tokens, never on to where these redirect, and never without TLS where the registry has it.
  - Changes nothing. Must run on a node of the platform; apt is the only package manager so far.
extends_documentation_fragment:
  - goldennode.gpu.attributes.looks
options:
  bundle:
    description: The bundle as the platform sees it, from RV(goldennode.gpu.desired#module:bundles).
    type: dict
    required: true
  platform:
    description: The node's platform; it must be the one of O(bundle).
    type: str
    required: true
  insecure_registries:
    description: Registries without TLS, as C(insecure-registries) in Docker's settings has them.
    type: list
    elements: str
    default: []
  registry_logins:
    description: Logins of registries, as C(docker_registries) has them.
    type: list
    elements: dict
    default: []
    suboptions:
      registry:
        description: Name of the registry as images have it; C(docker.io) for Docker Hub.
        type: str
        required: true
      username:
        description: Name to log in with.
        type: str
        required: true
      password:
        description: Password or token.
        type: str
        required: true
  timeout:
    description: Seconds for the package manager, and for each request to the registry a tenth of it.
    type: int
    default: 300
seealso:
  - module: goldennode.gpu.desired
"""

EXAMPLES = r"""
- name: Resolve the bundle to exact versions
  goldennode.gpu.lock_resolve:
    bundle: "{{ prepared.bundles['debian-13-x86_64'] }}"
    platform: debian-13-x86_64
  register: resolved
"""

RETURN = r"""
lock:
  description: The lock; its shape is in docs/architecture.md.
  type: dict
  returned: success
  sample:
    schema: 1
    platform: debian-13-x86_64
    toolkit: {version: 1.20.1, packages: {nvidia-container-toolkit: 1.20.1-1}}
removes:
  description: Packages that this node would lose when it gets the set, such as docker.io for docker-ce.
  type: list
  elements: str
  returned: success
  sample: [docker.io]
"""

import http.client
import typing as t
import urllib.error

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.urls import open_url

from ansible_collections.goldennode.gpu.plugins.module_utils import apt_root, compat, lock, registry
from ansible_collections.goldennode.gpu.plugins.module_utils.bundle import PlatformBundle, Problem
from ansible_collections.goldennode.gpu.plugins.module_utils.plain import from_plain

#: By package manager: (bundle, seconds) -> what it resolves to.
RESOLVERS: t.Dict[str, t.Callable[[PlatformBundle, float], apt_root.Resolved]] = {"apt": apt_root.resolve}
_PACKAGE_MANAGERS = {"debian": "apt", "ubuntu": "apt", "rhel": "dnf", "rocky": "dnf", "almalinux": "dnf"}


def resolve(
    bundle: PlatformBundle,
    insecure: t.Sequence[str],
    timeout: int,
    fetch: registry.Fetch,
    logins: t.Sequence[registry.Login] = (),
) -> t.Tuple[t.Dict[str, t.Any], t.Sequence[str]]:
    """The lock, and what the node would lose.

    :raises ResolveError: with every problem of packages, image and kernel
    """
    manager = _PACKAGE_MANAGERS[bundle.platform.split("-")[0]]
    if manager not in RESOLVERS:
        fix = "Use a platform of Debian or Ubuntu"
        raise apt_root.ResolveError(
            [Problem("platform", bundle.platform, "cannot be resolved yet: it has %s" % manager, fix)]
        )
    digest, problems = image_digest(bundle, insecure, fetch, logins)
    try:
        resolved = RESOLVERS[manager](bundle, timeout)
    except apt_root.ResolveError as error:
        raise apt_root.ResolveError([*problems, *error.problems]) from error
    problems += compat.kernel_problems(bundle, resolved.kernel_release)
    if problems:
        raise apt_root.ResolveError(problems)
    return lock.build(bundle, manager, resolved.kernel_release, resolved.packages, digest), resolved.removes


def image_digest(
    bundle: PlatformBundle,
    insecure: t.Sequence[str],
    fetch: registry.Fetch,
    logins: t.Sequence[registry.Login] = (),
) -> t.Tuple[str, t.List[Problem]]:
    """The digest that the bundle pins, else the one that the registry has; or why there is none."""
    if bundle.image.digest:
        return bundle.image.digest, []
    try:
        return registry.digest(bundle.image.reference, insecure, fetch, logins), []
    except registry.RegistryError as error:
        return "", [error.problem]


def fetcher(timeout: float) -> registry.Fetch:
    def fetch(method: str, url: str, headers: t.Mapping[str, str], verify: bool) -> registry.Response:
        try:
            response = open_url(
                url,
                method=method,
                headers=dict(headers),
                timeout=timeout,
                validate_certs=verify,
                follow_redirects="all",
                unredirected_headers=["Authorization"],  # whoever it is redirected to is not who was asked
            )
        except urllib.error.HTTPError as error:
            response = error
        except http.client.HTTPException as error:
            raise OSError("it does not speak HTTP: %r" % error) from error
        names = {name.lower(): value for name, value in response.headers.items()}
        return registry.Response(response.code, names, response.read())

    return fetch


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "bundle": {"type": "dict", "required": True},
            "platform": {"type": "str", "required": True},
            "insecure_registries": {"type": "list", "elements": "str", "default": []},
            "registry_logins": {
                "type": "list",
                "elements": "dict",
                "default": [],
                "options": {
                    "registry": {"type": "str", "required": True},
                    "username": {"type": "str", "required": True},
                    "password": {"type": "str", "required": True, "no_log": True},
                },
            },
            "timeout": {"type": "int", "default": 300},
        },
        supports_check_mode=True,
        no_log=True,  # the arguments are long and would fill the journal of the node
    )
    arguments = module.params
    try:
        bundle = from_plain(PlatformBundle, arguments["bundle"], "bundle")
    except ValueError as error:
        module.fail_json(msg="%s. Give bundles[platform] of goldennode.gpu.desired." % error)
    if bundle.platform != arguments["platform"]:
        module.fail_json(msg="The bundle is for %s, and this node is %s." % (bundle.platform, arguments["platform"]))
    try:
        timeout = arguments["timeout"]
        logins = [registry.Login(**login) for login in arguments["registry_logins"]]
        fetch = fetcher(timeout / 10)
        found, removes = resolve(bundle, arguments["insecure_registries"], timeout, fetch, logins)
    except apt_root.ResolveError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, lock=found, removes=list(removes))


if __name__ == "__main__":
    main()
