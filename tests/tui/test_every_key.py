"""Every key in every screen: nothing escapes, whatever is pressed."""

from __future__ import annotations

import asyncio
import string
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from screen_fakes import Driven, FakeSession, answer, diagnosis, driven, request
from textual.events import Key

from llmdebug.tui.screens.main import MainScreen

NAMED = [
    "up",
    "down",
    "left",
    "right",
    "home",
    "end",
    "pageup",
    "pagedown",
    "insert",
    "delete",
    "backspace",
    "tab",
    "shift+tab",
    "enter",
    "space",
    "f1",
    "f2",
    "f5",
    "f12",
    "shift+up",
    "ctrl+left",
    "ctrl+home",
    "ctrl+end",
    "alt+x",
    "ctrl+shift+k",
    "ctrl+at",
    "ctrl+backslash",
    "ctrl+underscore",
    "escape",
]
KEYS = [*(c for c in string.printable if c.isprintable()), "é", "日", *NAMED]
KEYS += [f"ctrl+{letter}" for letter in string.ascii_lowercase]
ENDING = {"q", "ctrl+q"}
"""Keys that leave the app where the main screen is."""


async def unread(_screen: object, _tokens: object) -> None:
    """Tokens that are never there: which tokenizer is meant is not the subject."""


async def opened(app: Driven, *keys: str) -> None:
    """A state reached from the main screen by keys."""
    while not isinstance(app.app.screen, MainScreen):
        app.app.pop_screen()
        await app.pilot.pause()
    app.main.bottom.question = None
    app.main.copying = False
    if app.main.editor is not None:
        await app.press("escape")
    if app.main.sending is not None:
        await app.until(lambda: app.main.sending is None)
    app.main.activate("request")
    await app.press(*keys)


def state(app: Driven) -> tuple[object, ...]:
    """Where a key acts: it is sought again when a key led away."""
    main = app.main
    return (
        type(app.app.screen),
        main.bottom.question is not None,
        main.editor is not None,
        main.active,
        main.copying,
        app.app.screen is main or app.app.screen.is_current,
    )


def keys(*names: str) -> Callable[[Driven], Awaitable[None]]:
    async def reach(app: Driven) -> None:
        await opened(app, *names)

    return reach


PLACES = {
    "requests": keys("p"),
    "request": keys(),
    "response": keys("tab"),
    "diagnosis": keys("tab", "tab"),
    "help": keys("question_mark"),
    "source": keys("v"),
    "palette": keys("colon"),
    "editor": keys("e"),
    "link": keys("L"),
    "search": keys("slash"),
    "save": keys("w"),
    "copy": keys("y"),
    "tokens": keys("number_sign"),
    "history": keys("H"),
}


@pytest.mark.parametrize("place", PLACES)
async def test_every_key(place: str, tree: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EDITOR", "true")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("llmdebug.tui.acts.tokens.read_report", unread)
    async with driven(FakeSession([answer()], [diagnosis()] * 3, tree), request(), request(name="other")) as app:
        await app.press("s")
        await app.until(lambda: app.main.entry is not None and app.main.entry.diagnosis is not None)
        await PLACES[place](app)
        reached = state(app)
        for key in KEYS:
            if reached[:3] == (MainScreen, False, False) and key in ENDING:
                continue
            target = app.app.focused or app.app.screen
            target.post_message(Key(key, key if len(key) == 1 else None))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert "error of llmdebug itself" not in app.message()
            if state(app) != reached:
                await PLACES[place](app)
        await app.pilot.pause()
        assert app.app.return_code is None
        assert app.app.is_running


@pytest.mark.parametrize("place", ["help", "source", "palette", "tokens", "history"])
async def test_leaving_is_typed_ahead(place: str, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llmdebug.tui.acts.tokens.read_report", unread)
    async with driven(FakeSession([answer()], [diagnosis()], tree), request()) as app:
        await app.press("s")
        await app.until(lambda: app.main.entry is not None and app.main.entry.diagnosis is not None)
        await PLACES[place](app)
        viewer = app.app.screen
        assert viewer is not app.main
        for _ in range(3):
            viewer.post_message(Key("escape", None))
        await app.until(lambda: app.app.screen is app.main)
        await app.press("tab")
        assert app.main.active == "response"
