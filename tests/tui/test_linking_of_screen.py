"""The first line of the screen tells what runs and which source is linked, and linking another one."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from package_index import PackageIndex, wheel
from screen_fakes import Driven

from llmdebug.demo.server import SOURCE, DemoServer
from llmdebug.tui.app import DebuggerApp
from llmdebug.tui.opening import Opening, opened


@asynccontextmanager
async def app_on(url: str, **fields: Any) -> AsyncIterator[Driven]:
    opening, worksheet, problem = opened(Opening(base_url=url, record=False, **fields), environment={})
    assert not problem
    app = DebuggerApp(opening, worksheet=worksheet)
    async with app.run_test(size=(120, 30)) as pilot:
        yield Driven(app, pilot)


async def test_auto_is_linked_and_the_server_named(nanoserve: DemoServer) -> None:
    async with app_on(nanoserve.base_url, sources=("auto",)) as app:
        await app.shows(f"{nanoserve.base_url}  the demo's server 0.1.0  source ")
        await app.until(lambda: app.main.linked)
        assert app.main.session is not None
        assert app.main.session.trees.links[0].folder == str(SOURCE)


async def test_a_package_is_linked_while_the_screen_is_open_and_its_drift_told(
    nanoserve: DemoServer, index: PackageIndex, tmp_path: Path
) -> None:
    shutil.copytree(SOURCE, tmp_path / "nanoserve")
    routes = tmp_path / "nanoserve" / "native_routes.py"
    routes.write_text(routes.read_text().replace('post("/generate"', 'post("/produce"'))
    files = {f"nanoserve/{path.name}": path.read_bytes() for path in (tmp_path / "nanoserve").glob("*.py")}
    index.files["nanoserve-1.0-py3-none-any.whl"] = wheel(files, name="nanoserve")
    async with app_on(nanoserve.base_url) as app:
        await app.shows("no source linked")
        await app.shows("POST /tokenize")
        await app.press("L")
        app.main.bottom.paste("pypi:nanoserve==9")
        await app.press("enter")
        await app.shows("nanoserve has no version 9")
        await app.press("L")
        app.main.bottom.paste("pypi:nanoserve==1.0")
        await app.press("enter")
        await app.shows("source pypi:nanoserve==1.0")
        await app.press("s")
        await app.shows("source pypi:nanoserve==1.0 is not what runs")
        await app.shows("1 is not registered in it: POST /generate")


async def test_a_source_that_cannot_be_had_is_told(nanoserve: DemoServer, index: PackageIndex) -> None:
    async with app_on(nanoserve.base_url, sources=("pypi:nanoserve==1.0",)) as app:
        await app.shows("nanoserve is not to be had from http://127.0.0.1")
        await app.shows("no source linked")


@pytest.mark.parametrize("at_start", [True, False])
async def test_a_source_that_tells_nothing_is_told(nanoserve: DemoServer, tmp_path: Path, at_start: bool) -> None:
    (tmp_path / "server.py").write_text("def post(:")
    async with app_on(nanoserve.base_url, sources=(str(tmp_path),) if at_start else ()) as app:
        if not at_start:
            await app.press("L", "ctrl+u", *str(tmp_path), "enter")
        await app.until(lambda: "tells nothing: no file can be parsed (server.py: line 1" in app.message())
