"""The tokens of the request: shown, converted, looked up before it is sent, and weighed after a refusal."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from llmdebug.tui.acts.remedies import shown_request
from llmdebug.tui.worksheet import Entry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from llmdebug.debugger.session import Finding, Session
    from llmdebug.debugger.tokenizing import Tokenizing
    from llmdebug.http.exchange import Request
    from llmdebug.tokens.report import TokenReport
    from llmdebug.tui.screens.main import MainScreen
    from llmdebug.tui.screens.tokens import TokensScreen
    from llmdebug.tui.views.tokencells import ShownReport


def show_tokens(screen: MainScreen) -> None:
    """The tokens of the request as it stands."""
    from llmdebug.tui.screens.tokens import TokensScreen

    if screen.session is None:
        screen.tell("The debugger is still being loaded: try again in a moment.", "warning")
        return
    screen.app.push_screen(TokensScreen(screen))


def tokenizing(screen: MainScreen, session: Session) -> Tokenizing:
    """The tokenizer of the session's server; loaded when it is first needed."""
    from llmdebug.debugger.tokenizing import Tokenizing

    if screen.tokens is None:
        screen.tokens = Tokenizing(session, name=screen.opening.tokenizer)
    return screen.tokens


def use_tokenizer(screen: MainScreen, name: str) -> None:
    """Another tokenizer from now on."""
    if screen.session is not None:
        tokenizing(screen, screen.session).use(name)


async def read_report(screen: MainScreen, view: TokensScreen) -> None:
    """Reads the tokens and gives them to the view, or why there are none."""
    from llmdebug.diagnosis.question import parse_body
    from llmdebug.tokens.values import TokenizerError
    from llmdebug.tui.views.tokencells import ShownReport

    entry, session = screen.entry, screen.session
    if entry is None or session is None:
        return
    body, problem = await asyncio.to_thread(parse_body, entry.request.body)
    if problem or body is None:
        view.show_problem(f"The body holds no prompt: {problem or 'there is none'}.")
        return
    try:
        report = await tokenizing(screen, session).read(body, progress=view.tell_stage)
    except TokenizerError as error:
        view.show_problem(str(error))
        return
    view.show(await asyncio.to_thread(ShownReport, report))


async def compare(screen: MainScreen, report: TokenReport, progress: Callable[[str], None]) -> ShownReport | None:
    """The report with the server's own tokens held against the local ones; None where the request is gone."""
    from llmdebug.diagnosis.question import parse_body
    from llmdebug.tui.views.tokencells import ShownReport

    entry, session = screen.entry, screen.session
    if entry is None or session is None:
        return None
    body, _ = await asyncio.to_thread(parse_body, entry.request.body)
    compared = await tokenizing(screen, session).compared(report, body, progress=progress)
    return await asyncio.to_thread(ShownReport, compared)


async def convert(screen: MainScreen, report: TokenReport) -> str:
    """Puts the request with its prompt in the other form in place; a sentence where that cannot be."""
    from llmdebug.debugger.evidence import conversion
    from llmdebug.debugger.replacement import replacement

    entry, session = screen.entry, screen.session
    if entry is None or session is None:
        return "There is no request."
    remedy = await conversion(session, entry.request, report)
    if remedy is None or screen.entry is not entry:
        told = "There is nothing to convert: one text or one list of ids can be,"
        return f"{told} with no id out of the vocabulary and no broken UTF-8."
    entry.request = shown_request(screen, replacement(remedy.requests[0], entry.request))
    entry.applied = None
    screen.show_entry(home=True)
    screen.tell(f"{remedy.title[:1].upper()}{remedy.title[1:]}. {remedy.why}")
    return ""


def _may_look(screen: MainScreen) -> bool:
    """Whether a tokenizer may be sought without being asked for: the server is asked where it is."""
    return bool(screen.opening.probe or screen.opening.tokenizer or screen.tokens)


async def is_held_back(screen: MainScreen, session: Session, entry: Entry) -> bool:
    """Whether a request is not sent yet: its ids have no token, and this was not said before."""
    from llmdebug.debugger.evidence import warning_of

    if screen.warned == entry.request.body or not _may_look(screen):
        return False
    warning = await warning_of(tokenizing(screen, session), entry.request, progress=screen.tell)
    if not warning:
        return False
    screen.warned = entry.request.body
    screen.tell(f"Not sent: {warning} " + screen.keymap.told("{send} sends it all the same."), "warning")
    return True


class HeldRemedies:
    """Remedies whose ids have no token are passed over when all are tried, and alone sent when asked once more."""

    def __init__(self, screen: MainScreen, session: Session, finding: Finding) -> None:
        self._screen = screen
        self._session = session
        self._again = screen.held[1] if screen.held is not None and screen.held[0] is finding else frozenset()
        self.numbers: list[int] = []

    async def hold(self, n: int, requests: Sequence[Request]) -> str:
        """Why remedy `n` is not sent; empty where it is."""
        from llmdebug.debugger.evidence import outside_of
        from llmdebug.tokens.values import TokenizerError

        if self._again:
            return "" if n in self._again else "It was tried before."
        if not _may_look(self._screen):
            return ""
        try:
            told = await outside_of(tokenizing(self._screen, self._session), requests, progress=self._screen.tell)
        except TokenizerError:
            return ""
        if told:
            self.numbers.append(n)
        return told

    def told(self) -> str:
        """Which were passed over, and how they are sent."""
        if not self.numbers:
            return ""
        shown = ", ".join(map(str, self.numbers))
        key = self._screen.keymap.told("{try-all} once more sends them.")
        return f" Not sent, as they hold ids without a token: {shown}. {key}"


async def weigh(screen: MainScreen, session: Session, entry: Entry, finding: Finding) -> None:
    """Adds to a diagnosis what the server's tokenizer says, where there is one to be read here."""
    from llmdebug.debugger.evidence import is_about_tokens, with_tokens
    from llmdebug.tokens.values import TokenizerError

    if not is_about_tokens(finding) or not _may_look(screen):
        return
    tokens = tokenizing(screen, session)
    try:
        if await tokens.local(_quietly) is None:
            return
    except TokenizerError:
        return
    weighed = await with_tokens(session, tokens, finding, progress=_quietly)
    if entry.finding is not finding or entry.applied is not None:
        return
    entry.finding = weighed
    if entry.diagnosis is not None:
        entry.diagnosis = weighed.diagnosis
        if screen.entry is entry:
            screen.request.rebuild()
            _show_in_place(screen, entry)
            screen.bottom.update()


def _show_in_place(screen: MainScreen, entry: Entry) -> None:
    """The diagnosis anew, as far down and in the view in which it is being read."""
    pane = screen.diagnosis
    trail, top, cursor = pane.trail, pane.top, pane.cursor
    pane.show(entry, linked=screen.linked)
    pane.trail, pane.top, pane.cursor = trail, top, cursor
    pane.rebuild()


def _quietly(what: str) -> None:
    """The diagnosis is on the screen already."""
