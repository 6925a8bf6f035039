"""Looking at source, help and commands; the source that is linked; the theme; and leaving."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from llmdebug.tui.acts import remedies
from llmdebug.tui.acts.drafting import keep_now
from llmdebug.tui.editor import NoEditorError, editor_arguments, editor_words
from llmdebug.tui.foreground import HungUpError, ended, run_in_foreground
from llmdebug.tui.theme import ThemeError

if TYPE_CHECKING:
    from llmdebug.diagnosis.verdict import Site
    from llmdebug.source.tree import Tree
    from llmdebug.tui.app import DebuggerApp
    from llmdebug.tui.screens.main import MainScreen


def tree_of(screen: MainScreen, site: Site) -> Tree | None:
    """The linked tree that a site lies in."""
    trees = screen.session.trees.trees if screen.session is not None else ()
    named = [tree for tree in trees if not site.tree or tree.name == site.tree]
    return next((tree for tree in named if tree.read(site.file) is not None), None)


def open_source(screen: MainScreen) -> None:
    """The user's editor at the line; the app's own view where there is no editor."""
    site = screen.diagnosis.site
    tree = tree_of(screen, site) if site is not None else None
    if site is None or tree is None:
        screen.tell("The file of this place cannot be read any more.", "warning")
        return
    try:
        words = editor_words(os.environ, screen.editor_command)
    except NoEditorError as error:
        _show_source(screen, f"{error} The source is shown here instead.")
        return
    arguments = editor_arguments(words, str(tree.root / site.file), site.line)
    try:
        status = run_editor(screen, arguments)
    except OSError as error:
        here = screen.keymap.told("{view-source} shows the source here.")
        screen.tell(f"{words[0]} could not be started: {error.strerror}. {here}", "error")
        return
    except HungUpError:
        return
    if status != 0:
        screen.tell(f"{ended(words[0], status)}.", "warning")


def run_editor(screen: MainScreen, arguments: Sequence[str]) -> int:
    """Gives the terminal to a program until it ends. Raises OSError where it cannot be started, HungUpError."""
    return run_in_foreground(cast("DebuggerApp", screen.app), arguments)


def view_source(screen: MainScreen) -> None:
    """The file at the line, here."""
    _show_source(screen)


def _show_source(screen: MainScreen, notice: str = "") -> None:
    from llmdebug.tui.screens.source import SourceScreen

    site = screen.diagnosis.site
    tree = tree_of(screen, site) if site is not None else None
    data = tree.read(site.file) if site is not None and tree is not None else None
    if site is None or data is None:
        screen.tell("The file of this place cannot be read any more.", "warning")
        return
    shown = SourceScreen(screen, site, data)
    if notice:
        shown.bottom.tell(notice, "warning")
    screen.app.push_screen(shown)


def view_here(screen: MainScreen) -> None:
    """What the cursor stands on: its source, or its remedy put in place."""
    target = screen.diagnosis.target
    if target is not None and target.kind == "remedy":
        remedies.apply(screen, target.index)
    elif screen.diagnosis.site is not None:
        view_source(screen)


def trail(screen: MainScreen) -> None:
    screen.diagnosis.trail = not screen.diagnosis.trail
    screen.diagnosis.rebuild(home=True)


def theme(screen: MainScreen) -> None:
    app = cast("DebuggerApp", screen.app)
    try:
        name = app.next_theme()
    except ThemeError as error:
        screen.tell(str(error), "error")
        return
    screen.tell(f'Theme {name}; to keep it: theme = "{name}" in the config file.')


def help_(screen: MainScreen) -> None:
    from llmdebug.tui.screens.help import HelpScreen

    screen.app.push_screen(HelpScreen(screen))


def palette(screen: MainScreen) -> None:
    from llmdebug.tui.screens.palette import PaletteScreen

    screen.app.push_screen(PaletteScreen(screen))


def redraw(screen: MainScreen) -> None:
    cast("DebuggerApp", screen.app).redraw()


def suspend(screen: MainScreen) -> None:
    keep_now(screen)
    screen.app.action_suspend_process()


def quit_(screen: MainScreen) -> None:
    keep_now(screen)
    screen.app.exit(0)
