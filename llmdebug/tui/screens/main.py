"""The main screen: the panes, the keys, and the state that the acts work on."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from textual import events
from textual.geometry import Region
from textual.screen import Screen

from llmdebug.tui.commands import Command, Pane, Place, unmet
from llmdebug.tui.keymap import Keymap
from llmdebug.tui.opening import Opening
from llmdebug.tui.panes.bars import BottomBar, Question, TitleBar
from llmdebug.tui.panes.diagnosis import DiagnosisPane
from llmdebug.tui.panes.layout import PanesLayout, arrange, is_single
from llmdebug.tui.panes.linepane import LinePane
from llmdebug.tui.panes.request import RequestPane
from llmdebug.tui.panes.requests import RequestsPane
from llmdebug.tui.panes.response import ResponsePane
from llmdebug.tui.screens.situation import hints, list_title, met, title
from llmdebug.tui.theme import Theme, background_of
from llmdebug.tui.views.rows import Row, Span
from llmdebug.tui.views.safetext import clean
from llmdebug.tui.worksheet import Entry, Worksheet

if TYPE_CHECKING:
    from textual.widget import Widget

    from llmdebug.debugger.session import Finding, Session
    from llmdebug.debugger.stepper import Stepper
    from llmdebug.debugger.tokenizing import Tokenizing
    from llmdebug.http.exchange import Exchange, Request
    from llmdebug.tui.acts.drafting import Drafting
    from llmdebug.tui.panes.editor import RequestEditor
    from llmdebug.tui.stepsheet import StepSheet

ORDER: tuple[Pane, ...] = ("requests", "request", "response", "diagnosis")
"""Panes as Tab goes through them."""


class MainScreen(Screen[None], inherit_bindings=False):
    """Acts change its state and call the `show_…` methods."""

    AUTO_FOCUS = ""
    CSS = "MainScreen { overflow: hidden; }"

    def __init__(self, opening: Opening, theme: Theme, keymap: Keymap, worksheet: Worksheet) -> None:
        super().__init__()
        self.opening = opening
        self.theme = theme
        self.keymap = keymap
        self.worksheet = worksheet
        self.base_url = opening.base_url
        self.session: Session | None = None
        self.server = ""
        """The server's family and version; empty until it has told them."""
        self.linking = ""
        """How far the linking of a source is that has to be fetched or found."""
        self.secrets: dict[str, str] = {}
        """Secrets taken out of what is shown, by name."""
        self.early_secrets: list[tuple[dict[str, str], str]] = []
        """Those of before there was a session, with the URL of their request."""
        self.active: Pane = "request"
        self.zoomed = False
        self.copying = False
        self.editor: RequestEditor | None = None
        self.edit_base: Request | None = None
        """The request that is being edited, as it was when the editor opened."""
        self.drafting: Drafting | None = None
        self.save_file = ""
        self.editor_command = ""
        self.broken = "There is no debugger."
        """Why there is no session."""
        self.ready = asyncio.Event()
        """Set when the debugger is loaded, or cannot be."""
        self.tokens: Tokenizing | None = None
        """The server's tokenizer, once it was asked for."""
        self.warned: bytes | None = None
        """The body that was held back, as its ids have no token."""
        self.held: tuple[Finding, frozenset[int]] | None = None
        """The numbers of the remedies of a diagnosis that were held back for the same."""
        self.sending: asyncio.Task[None] | None = None
        self.ending = False
        """Whether what arrived of an answer is being put away: there is nothing left to cancel."""
        self.replaying = False
        """Whether `sending` sends one step after the other."""
        self.checking: asyncio.Task[None] | None = None
        self.tasks: set[asyncio.Task[None]] = set()
        self.told_warnings: set[str] = set()
        self.closing = contextlib.ExitStack()
        """What is to be ended with the screen."""
        self.title_bar = TitleBar(theme, lambda: title(self))
        self.bottom = BottomBar(theme, lambda: hints(self))
        self.requests = RequestsPane(theme, worksheet, lambda: list_title(worksheet))
        self.request = RequestPane(theme)
        self.response = ResponsePane(theme)
        self.diagnosis = DiagnosisPane(theme)
        self.panes: dict[Pane, LinePane] = {
            "requests": self.requests,
            "request": self.request,
            "response": self.response,
            "diagnosis": self.diagnosis,
        }
        for pane in self.panes.values():
            pane.keymap = keymap
        self.response.read_later = self._read_later
        self.regions: dict[Widget, Region] = {}
        self._panes_layout = PanesLayout(self.regions)
        self.act: Callable[[MainScreen, Command, str], None] = lambda _screen, _command, _key: None
        self.on_start: Callable[[MainScreen], None] = lambda _screen: None

    def _read_later(self, entry: Entry, exchange: Exchange) -> None:
        from llmdebug.tui.acts.arriving import read_later

        read_later(self, entry, exchange)

    # Building and placing.

    @property
    def layout(self) -> PanesLayout:
        return self._panes_layout

    def compose(self) -> Any:
        self.panes[self.active].active = True
        self.place()
        self.show_entry()
        yield from (self.title_bar, self.requests, self.request, self.response, self.diagnosis, self.bottom)

    def on_mount(self) -> None:
        self.call_after_refresh(self.on_start, self)

    async def on_unmount(self) -> None:
        from llmdebug.tui.acts.starting import close

        await close(self)

    def on_resize(self, event: events.Resize) -> None:
        self.place()

    def place(self) -> None:
        """Gives each pane its region."""
        size = self.app.size
        arrangement = arrange(size, active=self.active, zoomed=self.zoomed)
        regions: dict[Widget, Region] = {self.title_bar: Region(0, 0, size.width, 1)}
        for name, region in arrangement.regions.items():
            pane: Widget = self.panes[name]  # type: ignore[index]
            if pane is self.request and self.editor is not None:
                edge = 1 if name in arrangement.dividers else 0
                regions[self.request] = Region(region.x, region.y, region.width, 1)
                pane, region = (
                    self.editor,
                    Region(region.x + edge, region.y + 1, region.width - edge, region.height - 1),
                )
            regions[pane] = region
        for name, line_pane in self.panes.items():
            line_pane.divider = name in arrangement.dividers
        lines = self.bottom.lines_wanted(size.width)
        regions[self.bottom] = Region(0, max(size.height - lines, 0), size.width, lines)
        if regions != self.regions:
            self.regions.clear()
            self.regions.update(regions)
            self.title_bar.refresh(layout=True, repaint=False)

    @property
    def pane(self) -> LinePane:
        return self.panes[self.active]

    @property
    def is_single(self) -> bool:
        """Whether the terminal is too small for more than one pane."""
        return is_single(self.app.size)

    def activate(self, name: Pane) -> None:
        """Makes a pane the one that keys act on."""
        if name != self.active:
            self.pane.end_search() if self.pane.needle else None
            self.pane.set_active(False)
            self.active = name
            self.pane.set_active(True)
        self.place()
        self.bottom.update()

    # Showing.

    @property
    def steps(self) -> StepSheet | None:
        """The recording that is stepped through."""
        return self.worksheet.recording

    @property
    def stepper(self) -> Stepper | None:
        """Once the debugger is loaded."""
        return self.steps.stepper if self.steps is not None else None

    @property
    def entry(self) -> Entry | None:
        return self.worksheet.entry

    @property
    def linked(self) -> bool:
        """Whether a source tree is linked; before the debugger is there, whether one is going to be."""
        if self.session is None:
            return bool(self.opening.sources)
        return bool(self.session.trees.trees)

    def show_entry(self, *, home: bool = False) -> None:
        """Everything about the entry that is looked at."""
        entry = self.entry
        self.request.show(entry, self.base_url, home=home)
        self.response.show(entry)
        self.diagnosis.show(entry, linked=self.linked)
        self.show_list()

    def show_list(self) -> None:
        self.requests.rebuild()
        if self.worksheet.entries:
            self.requests.look_at(self.worksheet.current)
        self.title_bar.update()
        self.bottom.update()

    def tell(self, text: str, role: str = "text") -> None:
        """A message in the last line, until the next key."""
        self.bottom.tell(text, role)
        self._bar_changed()

    def show_problem(self, text: str, role: str = "error") -> None:
        """What is wrong with the edit, for as long as it is; as a warning where it will only be ignored."""
        mark = "✗ " if role == "error" else "? "
        note: Row = (Span(mark, role), Span(clean(text))) if text else ()
        if note != self.bottom.note:
            self.bottom.note = note
            self._bar_changed()

    def ask(self, question: Question) -> None:
        """A question in the last line."""
        self.bottom.question = question
        self._bar_changed()

    def _bar_changed(self) -> None:
        self.place()
        self.bottom.refresh()

    # Keys.

    @property
    def context(self) -> Place:
        """Where keys act now."""
        if self.copying:
            return "copy"
        return "editor" if self.editor is not None else self.active

    @property
    def searching(self) -> bool:
        return self.editor is None and not self.copying and bool(self.pane.needle)

    def on_key(self, event: events.Key) -> None:
        if self.bottom.question is not None:
            event.stop()
            self.bottom.press(event)
            self._bar_changed()
            return
        if self.bottom.message:
            self.bottom.message = ()
            self._bar_changed()
        command = self.keymap.command(event.key, self.context, searching=self.searching)
        if self.copying and command is None:
            self.copying = False
            event.stop()
            self.bottom.update()
            return
        if command is None:
            return
        event.stop()
        event.prevent_default()
        self.perform(command, event.key)

    def perform(self, command: Command, key: str = "") -> None:
        """Does what a command says, or tells why not."""
        self.copying = False
        reason = unmet(command, met(self))
        if reason:
            self.tell(f"{command.name}: {self.keymap.told(reason)}.", "warning")
            return
        self.act(self, command, key)
        self.bottom.update()

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        if self.bottom.question is not None:
            self.bottom.paste(event.text)
            self._bar_changed()
            return
        from llmdebug.tui.acts.pasting import paste

        paste(self, event.text)

    def on_text_area_changed(self, event: events.Event) -> None:
        event.stop()
        from llmdebug.tui.acts.editing import typed

        typed(self)

    def on_line_pane_pressed(self, event: LinePane.Pressed) -> None:
        event.stop()
        if self.editor is not None or event.pane.pane not in self.panes:
            return
        self.activate(event.pane.pane)
        if event.row is not None:
            event.pane.move_to(event.row)

    # Work beside the event loop.

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Runs work to its end; an error in it is told, and stops nothing else."""
        task = asyncio.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        if task.cancelled() or task.exception() is None or not self.is_running:
            return
        error = task.exception()
        self.tell(f"an error of llmdebug itself: {type(error).__name__}: {error}", "error")

    def set_theme(self, theme: Theme) -> None:
        self.theme = theme
        for pane in self.panes.values():
            pane.set_theme(theme)
        self.title_bar.set_theme(theme)
        self.bottom.set_theme(theme)
        if self.editor is not None:
            self.editor.set_theme(theme)
        self.styles.background = background_of(theme)
