"""Which function does which command."""

from __future__ import annotations

from collections.abc import Callable

from llmdebug.tui.acts import (
    attempts,
    copying,
    drafting,
    editing,
    linking,
    listing,
    looking,
    moving,
    remedies,
    sending,
    stepping,
    tokens,
)
from llmdebug.tui.commands import Command
from llmdebug.tui.screens.main import MainScreen

Act = Callable[[MainScreen], None]

ACTS: dict[str, Act] = {
    "send": sending.send,
    "cancel": sending.cancel,
    "try-all": remedies.try_all,
    "edit": editing.edit,
    "edit-here": editing.edit_here,
    "undo": editing.undo,
    "duplicate": editing.duplicate,
    "append-turn": editing.append_turn,
    "save": editing.save,
    "take-draft": drafting.take_up,
    "edit-outside": editing.edit_outside,
    "leave-editor": editing.leave,
    "send-edit": editing.leave_and_send,
    "format": editing.format_body,
    "open-source": looking.open_source,
    "view-source": looking.view_source,
    "view-here": looking.view_here,
    "link-source": linking.link_source,
    "trail": looking.trail,
    "theme": looking.theme,
    "palette": looking.palette,
    "help": looking.help_,
    "redraw": looking.redraw,
    "suspend": looking.suspend,
    "quit": looking.quit_,
    "tokens": tokens.show_tokens,
    "copy": copying.choose,
    "copy-place": copying.place,
    "copy-curl": copying.curl,
    "copy-request": copying.request_body,
    "copy-response": copying.response_body,
    "copy-diagnosis": copying.diagnosis,
    "copy-line": copying.line,
    "next-pane": moving.next_pane,
    "previous-pane": moving.previous_pane,
    "zoom": moving.zoom,
    "list": moving.to_list,
    "pick": moving.pick,
    "leave-list": moving.leave_list,
    "next-request": moving.next_request,
    "previous-request": moving.previous_request,
    "step": stepping.step,
    "continue": stepping.go_on,
    "break": stepping.break_,
    "run-to-here": stepping.run_to_here,
    "skip": stepping.skip,
    "restart": stepping.restart,
    "attempt": attempts.before,
    "resume": listing.resume,
    "pace": stepping.pace,
    "refusals": listing.refusals,
    "filter": listing.filter_,
    "history": listing.history,
    "next-view": moving.next_view,
    "fold": moving.fold,
    "fold-all": moving.fold_all,
    "unfold-all": moving.unfold_all,
    "down": moving.down,
    "up": moving.up,
    "left": moving.left,
    "right": moving.right,
    "half-down": moving.half_down,
    "half-up": moving.half_up,
    "page-down": moving.page_down,
    "page-up": moving.page_up,
    "top": moving.top,
    "bottom": moving.bottom,
    "search": moving.search,
    "search-next": moving.search_next,
    "search-previous": moving.search_previous,
    "search-end": moving.search_end,
}
"""All but `remedy`, which takes a number."""


def act(screen: MainScreen, command: Command, key: str) -> None:
    """Does a command that can be done."""
    if command.name == "remedy":
        keys = screen.keymap.keys["remedy"]
        remedies.apply(screen, keys.index(key) + 1 if key in keys else 1)
        return
    if "steps" in command.needs and screen.stepper is None and not screen.ready.is_set():
        screen.start(_when_ready(screen, command))
        return
    ACTS[command.name](screen)


async def _when_ready(screen: MainScreen, command: Command) -> None:
    """Steps are shown before the debugger is loaded: a key typed so early is done then."""
    await screen.ready.wait()
    if screen.stepper is not None:
        ACTS[command.name](screen)
