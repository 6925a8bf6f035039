"""The app: a terminal, a theme, the main screen, and an orderly end whatever happens."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App
from textual.theme import Theme as TextualTheme

from llmdebug.tui.keymap import Keymap
from llmdebug.tui.opening import Opening, demo_opening, opened
from llmdebug.tui.screens.main import MainScreen
from llmdebug.tui.theme import Theme, ThemeError, background_of, chosen_theme, load_theme, theme_files
from llmdebug.tui.worksheet import Worksheet

if TYPE_CHECKING:
    from pathlib import Path

    from textual.driver import Driver

    from llmdebug.config.settings import Settings
    from llmdebug.tui.commands import Command

EXIT_BUG = 70
ANSI_VARIABLES = {
    "ansi-background": "ansi_default",
    "ansi-foreground": "ansi_default",
    "border-blurred": "ansi_default",
    "block-cursor-foreground": "ansi_black",
    "block-cursor-background": "ansi_white",
    "input-cursor-background": "ansi_black",
    "input-cursor-foreground": "ansi_white",
    "input-cursor-text-style": "none",
    "input-selection-background": "ansi_blue",
    "input-selection-foreground": "ansi_black",
    "screen-selection-background": "ansi_blue",
    "screen-selection-foreground": "ansi_black",
}
"""What Textual's own styles ask of a theme that is made of the terminal's colours; little of it is ever seen."""


class DebuggerApp(App[int], inherit_bindings=False):
    """Holds what belongs to the terminal; all else is the main screen's."""

    ENABLE_COMMAND_PALETTE = False
    ALLOW_SELECT = False
    TITLE = "llmdebug"
    INLINE_PADDING = 0
    BINDINGS: ClassVar[list[Any]] = []

    def __init__(
        self,
        opening: Opening,
        *,
        theme: str = "auto",
        theme_folder: Path | None = None,
        keys: dict[str, list[str]] | None = None,
        worksheet: Worksheet | None = None,
        on_start: Callable[[MainScreen], None] | None = None,
        driver: type[Driver] | None = None,
    ) -> None:
        self._theme_folder = theme_folder
        self.colours, told = chosen_theme(theme, theme_folder)
        self._editor_command = ""
        super().__init__(driver_class=driver, ansi_color=self._is_ansi())
        self.animation_level = "none"
        self._use(self.colours)
        self.keymap = Keymap(keys)
        self.notices = [*([told] if told else []), *self.keymap.problems]
        """What was wrong with the settings, told once the screen is there."""
        self.main = MainScreen(opening, self.colours, self.keymap, worksheet or Worksheet())
        self.main.styles.background = background_of(self.colours)
        self.main.act = _act
        self.main.on_start = on_start or _start
        self.editor_command = ""
        self.failed: Exception | None = None
        """What ended the app, where that was a bug."""

    def _is_ansi(self) -> bool:
        """Whether colours go out as the terminal's own, or as none at all."""
        return self.colours.ansi or "NO_COLOR" in os.environ

    def _use(self, theme: Theme) -> None:
        """Textual's own theme, for what it draws itself."""
        name = f"llmdebug-{theme.name}"
        text = theme.style("text")
        foreground, background = text.color, text.bgcolor
        plain = theme.ansi or foreground is None or background is None
        self.register_theme(
            TextualTheme(
                name=name,
                primary="ansi_default" if plain else "#5a8fc0",
                foreground="ansi_default" if plain else foreground.triplet.hex,  # type: ignore[union-attr]
                background="ansi_default" if plain else background.triplet.hex,  # type: ignore[union-attr]
                surface="ansi_default" if plain else background.triplet.hex,  # type: ignore[union-attr]
                dark=theme.dark,
                ansi=theme.ansi,
                variables=ANSI_VARIABLES if theme.ansi else {},
            )
        )
        self.set_reactive(App.theme, name)

    def get_default_screen(self) -> MainScreen:
        return self.main

    def on_mount(self) -> None:
        self.app_resume_signal.subscribe(self, lambda _app: self.redraw())
        loop = asyncio.get_running_loop()
        for number in (signal.SIGHUP, signal.SIGTERM):
            try:
                loop.add_signal_handler(number, self._hang_up, number)
            except (RuntimeError, ValueError):
                return

    def on_resize(self) -> None:
        self.forget_terminal()

    def redraw(self) -> None:
        """Paints everything again, whatever the terminal shows."""
        self.forget_terminal()
        if not self.screen_stack:
            return
        self.screen.refresh(layout=True)
        for widget in self.screen.children:
            widget.refresh()

    def forget_terminal(self) -> None:
        """The next paint is whole: the terminal may show anything."""
        forget = getattr(self._driver, "forget", None)
        if forget is not None:
            forget()

    def _hang_up(self, number: int) -> None:
        """The terminal is gone or the system stops us: what is unsent is kept, then we go."""
        from llmdebug.tui.acts.drafting import keep_now

        keep_now(self.main)
        self.exit(128 + number)

    def _handle_exception(self, error: Exception) -> None:
        """A bug of ours ends the app in order: the edit is kept, and the user gets a sentence."""
        if self.is_headless or os.environ.get("LLMDEBUG_DEBUG"):
            super()._handle_exception(error)
            return
        if self.failed is None:
            from llmdebug.tui.acts.drafting import keep_now

            self.failed = error
            with contextlib.suppress(Exception):
                keep_now(self.main)
        self.exit(EXIT_BUG)

    def next_theme(self, name: str | None = None) -> str:
        """Switches the theme while running; gives its name. Raises ThemeError."""
        files = theme_files(self._theme_folder)
        names = sorted(files)
        if name is None:
            here = names.index(self.colours.name) if self.colours.name in names else -1
            name = names[(here + 1) % len(names)] if names else "plain"
        self.colours = load_theme(name, files)
        self._use(self.colours)
        self.ansi_color = self._is_ansi()
        self.refresh_css(animate=False)
        for screen in self.screen_stack:
            if isinstance(screen, MainScreen):
                screen.set_theme(self.colours)
        return name


def _act(screen: MainScreen, command: Command, key: str) -> None:
    """The acts are not on the way to the first paint."""
    from llmdebug.tui.acts.table import act

    act(screen, command, key)


def _start(screen: MainScreen) -> None:
    from llmdebug.tui.acts.starting import start

    start(screen)


def run(
    *,
    base_url: str | None = None,
    sources: tuple[str, ...] = (),
    file: str | None = None,
    config: Settings | None = None,
    demo: bool = False,
    **connection: Any,
) -> int:
    """Runs the app until the user leaves; gives the exit code. `connection` are other fields of Opening."""
    from llmdebug.tui.driver import LeanDriver
    from llmdebug.tui.terminal import unusable

    reason = unusable()
    if reason:
        sys.stderr.write(f"llmdebug: {reason}\n")
        return 2
    given = demo_opening(**connection) if demo else Opening(base_url=base_url, sources=sources, file=file, **connection)
    opening, worksheet, problem = opened(given, environment=os.environ)
    if problem:
        sys.stderr.write(f"llmdebug: {problem}\n")
        return 2
    app = DebuggerApp(
        opening,
        theme=config.theme if config is not None else "auto",
        theme_folder=config.theme_folder if config is not None else None,
        keys={name: list(keys) for name, keys in config.keys.items()} if config is not None else None,
        worksheet=worksheet,
        driver=LeanDriver,
    )
    app.editor_command = config.editor if config is not None else ""
    result = app.run(mouse=config.mouse if config is not None else True)
    if app.failed is not None:
        told = f"an error of llmdebug itself: {type(app.failed).__name__}: {app.failed}. An unsent edit is kept."
        sys.stderr.write(f"llmdebug: {told} LLMDEBUG_DEBUG=1 shows where it happened.\n")
    return result if isinstance(result, int) else app.return_code or 0


__all__ = ["DebuggerApp", "ThemeError", "run"]
