"""Where the main screen stands: what its first and last line say, and which commands can be done."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from llmdebug.tui.commands import Need, unmet
from llmdebug.tui.panes.layout import NARROW
from llmdebug.tui.views.rows import Row, Span
from llmdebug.tui.views.safetext import clean, shorten_middle

if TYPE_CHECKING:
    from llmdebug.tui.screens.main import MainScreen
    from llmdebug.tui.worksheet import Worksheet


def title(screen: MainScreen) -> tuple[Row, Row]:
    """The first line: server and source at the left, which request of how many at the right."""
    named = (Span("llmdebug", "bar_key"), Span("  ")) if screen.app.size.width >= NARROW else ()
    left: list[Span] = [*named, Span(clean(_server(screen)))]
    if screen.opening.client.get("insecure"):
        left.append(Span("  certificates not checked", "error"))
    if screen.linked:
        trees = screen.session.trees.trees if screen.session is not None else ()
        names = ", ".join([tree.name for tree in trees] or [Path(source).name for source in screen.opening.sources])
        left.append(Span("  source " + shorten_middle(clean(names), 30)))
        if trees and screen.session is not None and screen.session.trees.drift:
            left.append(Span(" is not what runs", "warning"))
    elif screen.linking:
        left.append(Span("  " + shorten_middle(clean(screen.linking), 40)))
    else:
        left.append(Span("  no source linked"))
    return tuple(left), _place(screen)


def _place(screen: MainScreen) -> Row:
    """Which request of how many; while many are sent, how far that is."""
    count = len(screen.worksheet.entries)
    stepper = screen.stepper
    if screen.replaying and stepper is not None:
        return (Span(f" replaying {stepper.at + 1:,}/{len(stepper.exchanges):,}", "warning"),)
    return (Span(f" {screen.worksheet.current + 1:,}/{count:,}"),) if count else ()


def list_title(worksheet: Worksheet) -> str:
    """The list's name, and what is special about it."""
    steps = worksheet.recording
    if steps is None:
        return f"Requests  {len(worksheet.entries):,}"
    told = [] if steps.shown is None else [f"{len(steps.shown):,} with {clean(steps.filter)}"]
    if steps.stepper is not None:
        told += [f"break {clean(one.source)}" for one in steps.stepper.breakpoints]
    return "Steps  " + " · ".join(told)


def _server(screen: MainScreen) -> str:
    if screen.opening.demo:
        start = 0 if screen.app.size.width >= NARROW else len("demo server at ")
        failed = screen.ready.is_set() and screen.session is None
        return "demo server did not start" if failed else f"demo server at {screen.base_url}"[start:]
    told = f"  {screen.server}" if screen.server else ""
    return f"{screen.base_url}{told}" if screen.base_url else "no server"


def met(screen: MainScreen) -> set[Need]:
    """What can be acted on now."""
    entry = screen.entry
    can: set[Need] = {"busy"} if screen.sending is not None else {"idle"}
    if screen.opening.file is not None:
        can.add("file")
    if screen.steps is not None:
        can.add("steps")
    if entry is None:
        return can
    can.add("request")
    if entry.attempts > 1 or (entry.attempts and screen.steps is not None and screen.steps.has_answer(entry)):
        can.add("attempts")
    if entry.can_go_back or entry.applied is not None:
        can.add("changed")
    if entry.exchange is not None:
        can |= {"answer", "sent"}
    if screen.response.text is not None and screen.response.text.choices:
        can.add("turn")
    if screen.response.can_fold:
        can.add("fold")
    if entry.diagnosis is not None:
        can.add("finding")
        if any(remedy.requests for remedy in entry.diagnosis.remedies):
            can.add("remedy")
        if screen.diagnosis.site is not None:
            can.add("site")
    return can


def hints(screen: MainScreen) -> list[tuple[str, str]]:
    """Keys and what they do, for the footer; help comes last."""
    can = met(screen)
    commands = screen.keymap.in_context(screen.context, searching=screen.searching)
    ranked = sorted((c for c in commands if c.footer and not unmet(c, can)), key=lambda c: c.footer)
    if screen.searching:
        ranked.sort(key=lambda c: c.context != "search")
    help_first = [c for c in ranked if c.name == "help"]
    others = [c for c in ranked if c.name != "help"]
    return [(screen.keymap.shown(command), command.short) for command in (*others, *help_first)]
