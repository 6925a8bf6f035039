"""Makes README's pictures from the real app on the demo's server: `python tests/screenshots/make.py [FOLDER]`."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from textual.pilot import Pilot

from llmdebug.tui.app import DebuggerApp
from llmdebug.tui.opening import demo_opening, first_worksheet

FOLDER = Path(__file__).parent
PATIENCE_S = 30.0


async def until(pilot: Pilot[int], condition: Callable[[], bool]) -> None:
    """Waits for a state of the app; raises TimeoutError where it does not come."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await pilot.pause(0.02)
    await pilot.pause()


async def picture(folder: Path, size: tuple[int, int], theme: str = "dark") -> None:
    """The founding story at one size: refused, and confirmed."""
    opening = demo_opening(record=False)
    worksheet, problem = first_worksheet(opening)
    if problem:
        raise SystemExit(problem)
    app = DebuggerApp(opening, theme=theme, worksheet=worksheet)
    name = f"{size[0]}x{size[1]}" + ("" if theme == "dark" else f"-{theme}")
    async with app.run_test(size=size) as pilot:
        main = app.main
        await until(pilot, main.ready.is_set)
        await pilot.press("s")
        await until(pilot, lambda: main.entry is not None and main.entry.diagnosis is not None)
        main.bottom.message = ()
        save(app, folder / f"refused-{name}.svg")
        await pilot.press("1")
        await pilot.press("s")
        await until(pilot, lambda: main.entry is not None and main.entry.settled != "" and main.sending is None)
        save(app, folder / f"confirmed-{name}.svg")
        await pilot.press("q")


def save(app: DebuggerApp, path: Path) -> None:
    path.write_text(app.export_screenshot(title="llmdebug"), encoding="utf-8")


async def main(folder: Path, themes: list[str]) -> None:
    for theme in themes or ["dark"]:
        for size in ((80, 24), (120, 40)):
            await picture(folder, size, theme)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as state:
        os.environ["LLMDEBUG_STATE_DIR"] = state
        asyncio.run(main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER, sys.argv[2:]))
