# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One browser for all tests, and the pages that they open: made by the product from results that the judge made."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from browserlib import Browser, Page, find

from ansible_collections.goldennode.gpu.plugins.plugin_utils import page as pages
from ansible_collections.goldennode.gpu.tests.unit import reports

#: Name of a page -> the results that it shows.
RESULTS: t.Dict[str, t.Callable[[], t.Dict[str, t.Any]]] = {
    "kinds": reports.every_kind,
    "hostile": reports.hostile,
    "thousand": lambda: reports.many(1000),
    "empty": lambda: reports.of({}),
}

Open = t.Callable[..., Page]


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Browser]:
    started = Browser(find(), tmp_path_factory.mktemp("browser"))
    yield started
    started.close()


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> t.Dict[str, pathlib.Path]:
    """The pages, each as a file in a folder of its own."""
    found = {}
    for name, results in RESULTS.items():
        found[name] = tmp_path_factory.mktemp(name) / "report.html"
        found[name].write_bytes(pages.render(results()))
    return found


@pytest.fixture
def open_page(browser: Browser, files: t.Dict[str, pathlib.Path]) -> t.Iterator[Open]:
    """Opens a page by its name; afterwards nothing may have been asked for but the page, and nothing complained of."""
    opened: t.List[t.Tuple[str, Page]] = []

    def start(name: str, **settings: t.Any) -> Page:
        page = Page(browser, **settings)
        opened.append((name, page))
        page.open(files[name])
        return page

    yield start
    for name, page in opened:
        own = files[name].as_uri()
        assert [url for url in page.requests() if url.partition("#")[0] != own and not url.startswith("data:")] == []
        assert page.complaints() == []
        page.close()
