"""The command table: everything the app can be asked to do, said once.

The footer, the help, the palette, the key settings and README's list of keys are made of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

Pane = Literal["requests", "request", "response", "diagnosis"]
Place = Pane | Literal["viewer", "editor", "copy"]
"""Where the user is. `viewer`: a screen of its own, as help and source."""
Context = Literal[
    "anywhere", "panes", "requests", "request", "response", "diagnosis", "editor", "search", "copy", "viewer"
]
"""Where a command belongs. `panes`: in every pane while no editor is open. `viewer`: help and source views, too."""

CONTEXTS: dict[Context, str] = {
    "panes": "In every pane",
    "requests": "In the list of requests",
    "request": "In the request",
    "response": "In the response",
    "diagnosis": "In the diagnosis",
    "viewer": "Moving, in panes and views",
    "search": "After a search, until Esc",
    "copy": "After y",
    "editor": "While editing",
    "anywhere": "Always",
}

Need = Literal[
    "request",
    "idle",
    "busy",
    "answer",
    "finding",
    "remedy",
    "site",
    "sent",
    "file",
    "changed",
    "fold",
    "turn",
    "steps",
    "attempts",
]

REASONS: dict[Need, str] = {
    "request": "there is no request yet: paste a curl command or a JSON body, or press {edit}",
    "idle": "a request is under way: {cancel} cancels it",
    "busy": "nothing is under way; {quit} leaves llmdebug",
    "answer": "there is no answer yet: {send} sends the request",
    "finding": "there is no diagnosis yet: {send} sends the request",
    "remedy": "the diagnosis offers nothing to send",
    "site": "the diagnosis names no place in a source tree",
    "sent": "the request was not sent yet",
    "file": "the session was opened without a .http file",
    "changed": "the request is as it was",
    "fold": "there is nothing to fold here",
    "steps": "no recording is open: llmdebug open --file FILE opens one",
    "attempts": "this step has no other attempt: edit it and send it again, and there are two",
    "turn": "the answer holds no assistant message to append",
}
"""What each need is told as when it is not met; `{command}` stands for its key."""


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """Something the app does when asked."""

    name: str
    """As written in the config file and the palette."""
    short: str
    """For the footer: one or two words."""
    help: str
    keys: tuple[str, ...]
    """As Textual names them; the first is shown."""
    context: Context = "panes"
    needs: tuple[Need, ...] = ()
    footer: int = 0
    """Rank in the footer; 0 keeps it out."""


def _command(
    name: str,
    keys: str,
    short: str,
    help: str,
    context: Context = "panes",
    needs: tuple[Need, ...] = (),
    footer: int = 0,
) -> Command:
    return Command(
        name=name, keys=tuple(keys.split()), short=short, help=help, context=context, needs=needs, footer=footer
    )


COMMANDS: tuple[Command, ...] = (
    _command("send", "s ctrl+r", "send", "send the request as it stands", needs=("request", "idle"), footer=1),
    _command("cancel", "x ctrl+c", "cancel", "cancel the request that is under way", needs=("busy",), footer=2),
    _command("edit", "e i", "edit", "edit the request: its line, headers and body", footer=3),
    _command(
        "remedy",
        "1 2 3 4 5 6 7 8 9",
        "try",
        "put remedy 1 to 9 in place of the request; s then sends it",
        needs=("remedy", "idle"),
        footer=4,
    ),
    _command(
        "try-all",
        "R",
        "try all",
        "send every remedy, with few tokens to write, and tell which are answered",
        needs=("remedy", "idle"),
    ),
    _command(
        "open-source",
        "o",
        "source",
        "open the source line in your editor ($VISUAL, $EDITOR)",
        needs=("site",),
        footer=5,
    ),
    _command("view-source", "v", "view", "look at the source line here, with search", needs=("site",)),
    _command("copy", "y", "copy", "copy a place, the request as curl, a body or the diagnosis", footer=6),
    _command("tokens", "number_sign", "tokens", "the prompt as tokens, their ids and count", needs=("request",)),
    _command("next-pane", "tab", "pane", "go to the next pane"),
    _command("previous-pane", "shift+tab", "pane", "go to the pane before"),
    _command("zoom", "z", "zoom", "show this pane alone, or all panes again", footer=7),
    _command("list", "p", "requests", "pick a request from the list", footer=8),
    _command("next-request", "right_square_bracket", "next", "go to the next request"),
    _command("previous-request", "left_square_bracket", "previous", "go to the request before"),
    _command(
        "undo",
        "u",
        "undo",
        "take the request back to what it was before",
        needs=("request", "changed", "idle"),
    ),
    _command(
        "append-turn",
        "a",
        "append turn",
        "append the answer as the next assistant turn, ready for yours",
        needs=("answer", "turn", "idle"),
    ),
    _command("save", "w", "save", "save the request to a .http file", needs=("request",)),
    _command("duplicate", "d", "duplicate", "work on a copy of the request", needs=("request",)),
    _command("take-draft", "U", "unsent edit", "take up the unsent edit that was kept from the last time"),
    _command("edit-outside", "E", "editor", "edit the request in your own editor", needs=("request",)),
    _command("link-source", "L", "link source", "link the server's source: a folder, pypi:…, git:… or auto"),
    _command("step", "n", "step", "send the next step of the recording", needs=("steps", "idle"), footer=1),
    _command("continue", "c", "continue", "send up to the next breakpoint", needs=("steps", "idle"), footer=2),
    _command("break", "b", "break", "stop at a condition, or at this step; again: no more", needs=("steps",), footer=4),
    _command("run-to-here", "r", "run to here", "send up to the step under the cursor", needs=("steps", "idle")),
    _command("skip", "S", "skip", "pass over the next step", needs=("steps", "idle")),
    _command("restart", "B", "restart", "begin at the first step again", needs=("steps", "idle")),
    _command(
        "attempt",
        "A",
        "attempt",
        "the step's attempt before this one; before the first, the recorded one",
        needs=("steps", "attempts", "idle"),
        footer=3,
    ),
    _command("resume", "C", "resume", "go on where the last replay of this file stood", needs=("steps", "idle")),
    _command("pace", "P", "pace", "wait between the steps as it was recorded, or not", needs=("steps",)),
    _command("refusals", "f", "refusals", "the refusals by the line that refused", needs=("steps",)),
    _command("filter", "F", "filter", "list only the steps that meet a condition", needs=("steps",)),
    _command("history", "H", "history", "what was sent before, searchable by conditions"),
    _command("theme", "T", "theme", "switch to the next theme"),
    _command("palette", "colon ctrl+p", "commands", "find a command by its name"),
    _command("help", "question_mark", "more", "show the keys that work here", footer=9),
    _command("redraw", "ctrl+l", "redraw", "draw the whole screen again", "anywhere"),
    _command("suspend", "ctrl+z", "suspend", "go to the shell; fg comes back"),
    _command("quit", "q ctrl+q", "quit", "leave; unsent edits are kept"),
    _command("pick", "enter", "choose", "go to the request under the cursor", "requests", ("request",), 2),
    _command("leave-list", "escape", "back", "leave the list; the request stays", "requests", (), 3),
    _command("edit-here", "enter", "edit", "edit at the line under the cursor", "request", ("request",)),
    _command("next-view", "t", "view", "the next view: body, raw, headers, events, text", "response", ("answer",), 4),
    _command(
        "fold", "space enter", "fold", "fold or unfold the object under the cursor", "response", ("answer", "fold")
    ),
    _command("fold-all", "minus", "fold all", "fold everything below the first level", "response", ("answer",)),
    _command("unfold-all", "plus", "unfold all", "unfold everything", "response", ("answer",)),
    _command(
        "view-here",
        "enter",
        "view",
        "look at the place under the cursor, or take the remedy there",
        "diagnosis",
        ("finding",),
    ),
    _command("trail", "t", "trail", "the verdict, or the trail that led to it", "diagnosis", ("finding",), 4),
    _command("down", "j down", "down", "one line down", "viewer"),
    _command("up", "k up", "up", "one line up", "viewer"),
    _command("left", "h left", "left", "to the left; in a tree, fold or go to the parent", "viewer"),
    _command("right", "l right", "right", "to the right; in a tree, unfold", "viewer"),
    _command("half-down", "ctrl+d", "half down", "half a page down", "viewer"),
    _command("half-up", "ctrl+u", "half up", "half a page up", "viewer"),
    _command("page-down", "pagedown ctrl+f", "page down", "a page down", "viewer"),
    _command("page-up", "pageup ctrl+b", "page up", "a page up", "viewer"),
    _command("top", "g home", "top", "to the first line", "viewer"),
    _command("bottom", "G end", "bottom", "to the last line", "viewer"),
    _command("search", "slash", "search", "search in this pane", "viewer", footer=10),
    _command("search-next", "n", "next", "the next place found", "search", footer=1),
    _command("search-previous", "N", "previous", "the place found before", "search", footer=2),
    _command("search-end", "escape", "end search", "end the search", "search", footer=3),
    _command("copy-place", "p", "file:line", "copy file and line of the place", "copy", ("site",), 1),
    _command("copy-curl", "c", "curl", "copy the request as a curl command", "copy", ("request",), 2),
    _command("copy-request", "b", "body", "copy the request's body", "copy", ("request",), 3),
    _command("copy-response", "r", "response", "copy the response's body", "copy", ("answer",), 4),
    _command("copy-diagnosis", "d", "diagnosis", "copy the diagnosis as text", "copy", ("finding",), 5),
    _command("copy-line", "y", "line", "copy the line under the cursor", "copy", (), 6),
    _command("leave-editor", "escape", "done", "leave the editor; the edit stays", "editor", footer=1),
    _command("send-edit", "ctrl+r", "send", "leave the editor and send", "editor", ("idle",), 2),
    _command("format", "ctrl+t", "format", "indent the JSON body anew", "editor", (), 3),
)

BY_NAME: dict[str, Command] = {command.name: command for command in COMMANDS}


def unmet(command: Command, met: Iterable[Need]) -> str:
    """Why a command cannot be done now; empty where it can."""
    have = set(met)
    return next((REASONS[need] for need in command.needs if need not in have), "")
