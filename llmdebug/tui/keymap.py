"""Keys to commands: the table's own keys, and what the user has bound instead."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import assert_never, get_args

from llmdebug.tui.commands import BY_NAME, COMMANDS, Command, Context, Pane, Place

_SHOWN = {
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "question_mark": "?",
    "slash": "/",
    "colon": ":",
    "minus": "-",
    "plus": "+",
    "space": "Space",
    "enter": "Enter",
    "escape": "Esc",
    "tab": "Tab",
    "shift+tab": "Shift-Tab",
    "pagedown": "PgDn",
    "pageup": "PgUp",
    "home": "Home",
    "end": "End",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "full_stop": ".",
    "comma": ",",
    "semicolon": ";",
    "equals_sign": "=",
    "asterisk": "*",
    "exclamation_mark": "!",
    "at": "@",
    "number_sign": "#",
    "dollar_sign": "$",
    "ampersand": "&",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "vertical_line": "|",
    "tilde": "~",
    "apostrophe": "'",
    "quotation_mark": '"',
    "circumflex_accent": "^",
    "underscore": "_",
    "backslash": "\\",
    "left_parenthesis": "(",
    "right_parenthesis": ")",
}
_TYPED = {shown: key for key, shown in _SHOWN.items()} | {"pgdn": "pagedown", "pgup": "pageup", "esc": "escape"}
_NAMED = frozenset(_SHOWN) | frozenset({"backspace", "delete", "insert"}) | {f"f{n}" for n in range(1, 13)}

_COMMAND = re.compile("{(" + "|".join(BY_NAME) + ")}")

PLACES: tuple[Place, ...] = (*get_args(Pane), "viewer", "editor", "copy")


class KeymapError(ValueError):
    """A binding of the user's cannot be used; the text is a sentence."""


class Keymap:
    """Which command a key means in a context."""

    def __init__(self, bound: Mapping[str, Sequence[str]] | None = None) -> None:
        """`bound` are the user's keys by command; problems are told in `problems`, and the rest is used."""
        self.keys: dict[str, tuple[str, ...]] = {command.name: command.keys for command in COMMANDS}
        self.problems: list[str] = []
        for name, keys in (bound or {}).items():
            try:
                self.keys[_known(name)] = tuple(parse_key(key) for key in keys)
            except KeymapError as error:
                self.problems.append(str(error))
        self._by_context: dict[Context, dict[str, Command]] = {}
        for command in COMMANDS:
            taken = self._by_context.setdefault(command.context, {})
            for key in self.keys[command.name]:
                if key in taken:
                    self._conflict(key, taken[key], command, bound or {})
                if key not in taken or command.name in (bound or {}):
                    taken[key] = command
        self._overlaps(bound or {})

    def _conflict(self, key: str, one: Command, other: Command, bound: Mapping[str, object]) -> None:
        winner = other if other.name in bound else one
        self.problems.append(
            f"keys: {shown_key(key)} is bound to {one.name} and to {other.name}; it does {winner.name}."
        )

    def _overlaps(self, bound: Mapping[str, object]) -> None:
        """A user's key for every pane that a single pane's own key hides, and the reverse."""
        for layers in map(_layers, PLACES):
            for high, low in ((a, b) for n, a in enumerate(layers) for b in layers[n + 1 :]):
                shared = self._by_context.get(high, {}).keys() & self._by_context.get(low, {}).keys()
                for key in sorted(shared):
                    one, other = self._by_context[high][key], self._by_context[low][key]
                    told = f"keys: {shown_key(key)} does {one.name} in the {high} context, not {other.name}."
                    if (one.name in bound or other.name in bound) and told not in self.problems:
                        self.problems.append(told)

    def command(self, key: str, place: Place, *, searching: bool = False) -> Command | None:
        """The command of a key, or None."""
        for layer in _reached(place, searching):
            found = self._by_context.get(layer, {}).get(key)
            if found is not None:
                return found
        return None

    def in_context(self, place: Place, *, searching: bool = False) -> list[Command]:
        """The commands that can be reached, the nearest context first; one for each key."""
        seen: set[str] = set()
        found = []
        for layer in _reached(place, searching):
            for command in (c for c in COMMANDS if c.context == layer):
                mine = [k for k in self.keys[command.name] if k not in seen]
                if mine:
                    found.append(command)
            seen |= self._by_context.get(layer, {}).keys()
        return found

    def is_key_of(self, key: str, *names: str) -> str:
        """Which of the named commands has this key, wherever it belongs; empty for none."""
        return next((name for name in names if key in self.keys[name]), "")

    def shown(self, command: Command) -> str:
        """A command's first key, as the footer writes it."""
        if command.name == "remedy" and self.keys["remedy"] == BY_NAME["remedy"].keys:
            return "1-9"
        keys = self.keys[command.name]
        return shown_key(keys[0]) if keys else ""

    def told(self, text: str) -> str:
        """A sentence of ours with each `{command}` as the key that does it."""
        return _COMMAND.sub(lambda match: self.shown(BY_NAME[match[1]]) or "(no key)", text)

    def all_shown(self, command: Command) -> str:
        """All keys of a command."""
        if command.name == "remedy" and self.keys["remedy"] == BY_NAME["remedy"].keys:
            return "1-9"
        return ", ".join(shown_key(key) for key in self.keys[command.name])


@lru_cache(maxsize=256)
def shown_key(key: str) -> str:
    """A key as people write it."""
    if key in _SHOWN:
        return _SHOWN[key]
    modifier, plus, letter = key.rpartition("+")
    if plus and modifier:
        return "-".join(part.capitalize() for part in modifier.split("+")) + f"-{_SHOWN.get(letter, letter)}"
    return key.upper() if re.fullmatch(r"f\d+", key) else key


def parse_key(written: str) -> str:
    """A key as the user writes it (`Ctrl-x`, `ctrl+x`, `?`, `Space`) as Textual names it. Raises KeymapError."""
    text = written.strip()
    if len(text) == 1 and text not in _TYPED:
        return text
    folded = text.lower()
    for typed, key in _TYPED.items():
        if typed.lower() == folded:
            return key
    if folded in _NAMED:
        return folded
    parts = re.split(r"[+-]", folded)
    if len(parts) > 1 and all(part in ("ctrl", "shift", "alt") for part in parts[:-1]) and parts[-1]:
        return "+".join([*parts[:-1], _TYPED.get(parts[-1], parts[-1])])
    raise KeymapError(f"keys: {written!r} is no key; write one as 'x', 'Ctrl-x', 'F5', 'Enter' or '?'.")


def _reached(place: Place, searching: bool) -> tuple[Context, ...]:
    """While a search lasts its keys go before the pane's own."""
    return ("search", *_layers(place)) if searching else _layers(place)


def _layers(place: Place) -> tuple[Context, ...]:
    """The contexts in which a key is looked for, in this order."""
    match place:
        case "requests" | "request" | "response" | "diagnosis":
            return (place, "panes", "viewer", "anywhere")
        case "viewer" | "editor":
            return (place, "anywhere")
        case "copy":
            return (place,)
        case _:
            assert_never(place)


def _known(name: str) -> str:
    if name in BY_NAME:
        return name
    near = difflib.get_close_matches(name, BY_NAME, n=1)
    raise KeymapError(f"keys: there is no command {name!r}" + (f"; did you mean {near[0]!r}?" if near else "."))
