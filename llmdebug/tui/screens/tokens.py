"""The tokens of a request: cells, ids, or a list; the other form put in place of a prompt."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from textual import events

from llmdebug.tui.commands import Command
from llmdebug.tui.panes.bars import Question
from llmdebug.tui.screens.viewer import ViewerScreen
from llmdebug.tui.views.rows import FixedRows, Row, Rows, Span, Stacked, wrap
from llmdebug.tui.views.safetext import clean, shorten_middle
from llmdebug.tui.views.tokencells import MODES, CellRows, ShownReport

if TYPE_CHECKING:
    from llmdebug.tokens.report import TokenReport
    from llmdebug.tui.screens.main import MainScreen

CONVERT = "c"
COMPARE = "="
TOKENIZER = "L"


class TokensScreen(ViewerScreen):
    """Opens at once and says how far the tokenizer is; leaving ends what is under way."""

    def __init__(self, main: MainScreen) -> None:
        super().__init__(main)
        self._shown: ShownReport | None = None
        self._mode = 0
        self._stage = "looking for the tokenizer"
        self._problem = ""
        self._work: asyncio.Task[None] | None = None

    # What is shown.

    def heading(self, cells: int) -> Row:
        told = "Tokens"
        vocabulary = self._shown.report.vocabulary if self._shown is not None else None
        if vocabulary is not None:
            told += f"  {vocabulary.size:,} ids of {vocabulary.place}"
        elif self._shown is not None:
            told += "  as the server itself counts them"
        return (Span(shorten_middle(clean(f"{told}{self._position()}"), cells)),)

    def _position(self) -> str:
        """Where the cursor stands among the tokens."""
        if not isinstance(self.pane.rows, Stacked) or not len(self.pane.rows):
            return ""
        rows, inside = self.pane.rows.within(min(self.pane.cursor, len(self.pane.rows) - 1))
        return f"  from position {rows.place(inside):,} on" if isinstance(rows, CellRows) else ""

    def make_rows(self, cells: int) -> Rows:
        if self._problem:
            return FixedRows(wrap((Span(clean(self._problem), "error"),), cells))
        if self._shown is None:
            return FixedRows([(Span(f"{self._stage}…", "dim"),)])
        return self._shown.rows(cells, MODES[self._mode])

    def hints(self) -> list[tuple[str, str]]:
        if self.pane.needle:
            return super().hints()
        following = MODES[(self._mode + 1) % len(MODES)]
        told = [
            ("t", f"as {following}"),
            (CONVERT, "convert"),
            (COMPARE, "compare"),
            (TOKENIZER, "tokenizer"),
            ("/", "search"),
        ]
        return [*told, ("Esc", "back")]

    # What is done.

    def on_mount(self) -> None:
        self.read()

    def on_unmount(self) -> None:
        if self._work is not None:
            self._work.cancel()

    def read(self) -> None:
        """Reads the request's tokens, again where they were read."""
        from llmdebug.tui.acts.tokens import read_report

        if self._work is not None:
            self._work.cancel()
        self._shown, self._problem = None, ""
        self._work = self.main.start(read_report(self.main, self))
        self.pane.rebuild(home=True)

    def tell_stage(self, what: str) -> None:
        self._stage = what
        self.pane.rebuild()

    def show(self, shown: ShownReport) -> None:
        self._shown = shown
        self.pane.rebuild(home=True)
        self.bottom.refresh()

    def show_problem(self, problem: str) -> None:
        self._problem = problem
        self.pane.rebuild(home=True)

    def press(self, event: events.Key, command: Command | None) -> bool:
        asked = self.main.keymap.command(event.key, "response")
        if asked is not None and asked.name == "next-view":
            self._mode = (self._mode + 1) % len(MODES)
            self.pane.rebuild(home=True)
            self.bottom.refresh()
        elif event.character == CONVERT:
            self._convert()
        elif event.character == COMPARE:
            self._compare()
        elif event.character == TOKENIZER:
            self._ask_tokenizer()
        elif asked is not None and asked.name == "tokens":
            self.leave()
        else:
            return False
        return True

    def _convert(self) -> None:
        if self._shown is None:
            self.bottom.tell("The tokens are not read yet.", "warning")
            self.bottom.refresh()
        else:
            self.main.start(self._converted(self._shown))

    def _compare(self) -> None:
        """Holds the tokens against the server's own: the server is asked now and not before."""
        if self._shown is None or self._shown.report.vocabulary is None:
            told = "The tokens are not read yet." if self._shown is None else "These are the server's own tokens."
            self.bottom.tell(told, "warning")
            self.bottom.refresh()
            return
        if self._work is not None:
            self._work.cancel()
        self._work = self.main.start(self._compared(self._shown.report))

    async def _compared(self, report: TokenReport) -> None:
        from llmdebug.tui.acts.tokens import compare

        def tell(what: str) -> None:
            self.bottom.tell(f"{what[:1].upper()}{what[1:]}…")
            self.bottom.refresh()

        compared = await compare(self.main, report, tell)
        if compared is not None and self.is_mounted:
            self._shown = compared
            self.bottom.tell("Compared with the server: see above the tokens.")
            self.pane.rebuild(home=True)
            self.bottom.refresh()

    async def _converted(self, shown: ShownReport) -> None:
        from llmdebug.tui.acts.tokens import convert

        problem = await convert(self.main, shown.report)
        if not problem:
            self.leave()
        elif self.is_mounted:
            self.bottom.tell(problem, "warning")
            self.bottom.refresh()

    def _ask_tokenizer(self) -> None:
        from llmdebug.tui.acts.tokens import use_tokenizer

        known = self.main.tokens.name if self.main.tokens is not None else ""

        def chosen(name: str) -> None:
            if name.strip():
                use_tokenizer(self.main, name.strip())
                self.read()

        self.bottom.question = Question("tokenizer: folder, tokenizer.json or Hugging Face id", known, chosen)
        self.bottom.refresh()
