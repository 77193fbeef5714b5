# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The docker role asks before it stops containers or leaves data behind: its own tasks, conditions and messages, with
the real templating. What a command would say is the case's.
"""

from __future__ import annotations

import dataclasses
import pathlib
import typing as t

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import trust_as_template

from ansible_collections.goldennode.gpu.plugins.module_utils.model import Evidence, Package, Reading, to_plain
from ansible_collections.goldennode.gpu.tests.unit import actions, healthy

ROLE = pathlib.Path(__file__).parents[3] / "roles" / "docker"

CE = {"docker-ce": "5:26.1.4-1", "docker-ce-cli": "5:26.1.4-1", "containerd.io": "1.7.24-1"}
LOCK = healthy.lock(docker={"version": "26.1.4", "packages": CE})
PLAIN = healthy.desired(of_lock=LOCK)
MOVED = healthy.desired(of_lock=LOCK, docker_data_root="/srv/docker")
NODE = healthy.evidence("a10", PLAIN)


def other(**versions: str) -> Evidence:
    packages = dict(NODE.packages.value or {})
    for name, version in versions.items():
        name = name.replace("containerd_io", "containerd.io").replace("_", "-")
        packages[name] = Package(name, version, held=True)
    return healthy.known(NODE, packages=packages)


def engine(evidence: Evidence, **fields: t.Any) -> Evidence:
    return healthy.known(evidence, docker=dataclasses.replace(evidence.docker.value, **fields))  # type: ignore[type-var]


def root(**fields: t.Any) -> Evidence:
    given = {"wanted": "/srv/docker", "moves": True, **fields}
    return healthy.known(NODE, docker_root=dataclasses.replace(NODE.docker_root.value, **given))  # type: ignore[type-var]


@dataclasses.dataclass(frozen=True)
class Case:
    """``containers`` run; ``bound`` is what is bound to containerd; ``refused`` are words of the refusal."""

    asked: str
    evidence: Evidence
    refused: t.Tuple[str, ...] = ()
    containers: int = 0
    bound: str = ""
    desired: t.Any = PLAIN
    variables: t.Dict[str, t.Any] = dataclasses.field(default_factory=dict)


OLD = other(docker_ce="5:26.1.3-1", docker_ce_cli="5:26.1.3-1")
SILENT = dataclasses.replace(OLD, docker=Reading.unknown("docker gave no answer"))
FULL = {"left": {"containers": 2, "images": 5}}
CONSENT = {"docker_allow_data_root_change": True}

CASES = {
    "idle": Case("replace", OLD),
    "busy": Case(
        "replace", OLD,
        ("was not replaced (docker-ce: 5:26.1.3-1 -> 5:26.1.4-1", "stops 2 running containers", "docker_allow_restart"),
        containers=2,
    ),
    "busy-live-restore": Case("replace", engine(OLD, live_restore=True, version="26.1.3"), containers=2),
    "busy-live-restore-release": Case(
        "replace", engine(OLD, live_restore=True, version="25.0.5"), ("stops 2 running containers",), containers=2
    ),
    "busy-containerd": Case("replace", other(containerd_io="1.7.20-1"), containers=2, bound="multi-user.target"),
    "busy-containerd-bound": Case(
        "replace", other(containerd_io="1.7.20-1"), ("containerd.io: 1.7.20-1 -> 1.7.24-1", "stops 2 running"),
        containers=2, bound="docker.service",
    ),
    "busy-client": Case("replace", other(docker_ce_cli="5:26.1.3-1"), containers=2),
    "silent": Case("replace", SILENT, ("whether any run is not known: docker gave no answer", "docker_allow_restart")),
    "move-empty": Case("data_root", root(), desired=MOVED),
    "move-full": Case(
        "data_root", root(**FULL),
        ("was not changed from /var/lib/docker to /srv/docker", "holds containers: 2, images: 5", "nothing is deleted",
         "docker_allow_data_root_change=true"),
        desired=MOVED,
    ),
    "move-full-allowed": Case("data_root", root(**FULL), desired=MOVED, variables=CONSENT),
    "move-running-allowed": Case(
        "data_root", root(**FULL), ("1 containers are running", "Stop them first"), 1, desired=MOVED,
        variables=dict(CONSENT, docker_allow_restart=True),
    ),
    "there-already": Case(
        "data_root", root(moves=False, path="/srv/docker"), containers=3, desired=MOVED
    ),
}  # fmt: skip


def refusal(case: Case) -> str:
    """The message of the first ``fail`` that is reached; "" where none is. Commands are answered by the case."""
    loader = DataLoader()
    variables = actions.trusted(
        {
            **loader.load_from_file(str(ROLE / "defaults" / "main.yml")),
            **loader.load_from_file(str(ROLE / "vars" / "main.yml")),
            **case.variables,
        }
    )
    variables["__goldennode_desired"] = to_plain(case.desired)
    variables["__goldennode_look"] = {"evidence": to_plain(case.evidence)}
    variables.update(inventory_hostname="gpu01", ansible_check_mode=False)
    said = {"docker": ["012345"] * case.containers, "systemctl": [case.bound, ""]}
    templar = actions.with_filters(variables)
    for task in loader.load_from_file(str(ROLE / "tasks" / ("%s.yml" % case.asked))):
        conditions = task.get("when", [])
        conditions = conditions if isinstance(conditions, list) else [conditions]
        if not all(templar.evaluate_conditional(trust_as_template(text)) for text in conditions):
            continue
        if "ansible.builtin.fail" in task:
            return str(templar.template(trust_as_template(task["ansible.builtin.fail"]["msg"])))
        if "ansible.builtin.command" in task:
            argv = templar.template(actions.trusted(task["ansible.builtin.command"]["argv"]))
            lines = said[argv[0]]
            variables[task["register"]] = {"rc": 0, "stdout": "\n".join(lines), "stdout_lines": lines}
            templar = actions.with_filters(variables)
    return ""


@pytest.mark.parametrize("name", CASES)
def test_consent_is_asked_for_what_it_is_needed_for_and_nothing_else(name: str) -> None:
    said = refusal(CASES[name])
    assert bool(said) is bool(CASES[name].refused), said
    for words in CASES[name].refused:
        assert words in said
