# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs an action plugin of ours with the real templating of Ansible, as a task of a play would."""

from __future__ import annotations

import types
import typing as t
from unittest import mock

from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template

from ansible_collections.goldennode.gpu.plugins.filter import package_changes


class Display:
    """A terminal that keeps what it was shown."""

    def __init__(self, columns: int = 100) -> None:
        self.columns = columns
        self.shown: t.List[str] = []

    def display(self, text: str) -> None:
        self.shown.append(text)


def run(
    action: t.Type[t.Any],
    arguments: t.Dict[str, t.Any],
    variables: t.Dict[str, t.Any],
    check: bool = False,
    display: t.Optional[t.Any] = None,
) -> t.Dict[str, t.Any]:
    """The result of the action; what it raises is raised."""
    loader, variables = DataLoader(), trusted(variables)
    task = types.SimpleNamespace(
        args=arguments, action="goldennode.gpu.test", async_val=0, check_mode=check, diff=False, delegate_to=None
    )
    plugin = action(
        task=task,
        connection=mock.Mock(_shell=mock.Mock(tmpdir=None)),
        play_context=mock.Mock(check_mode=check),
        loader=loader,
        templar=Templar(loader=loader, variables=variables),
        shared_loader_obj=None,
    )
    if display is not None:
        plugin._display = display
    return t.cast(t.Dict[str, t.Any], plugin.run(task_vars=variables))


def with_filters(variables: t.Dict[str, t.Any]) -> Templar:
    """Templating that knows filters of ours, which are found by name only where Ansible loads the collection."""
    templar = Templar(loader=DataLoader(), variables=variables)
    for short, function in package_changes.FilterModule().filters().items():
        templar._engine.environment.filters["goldennode.gpu." + short] = function
    return templar


def trusted(value: t.Any) -> t.Any:
    """Variables as an inventory gives them: their text may be a template."""
    if isinstance(value, str):
        return trust_as_template(value)
    if isinstance(value, dict):
        return {key: trusted(item) for key, item in value.items()}
    if isinstance(value, list):
        return [trusted(item) for item in value]
    return value
