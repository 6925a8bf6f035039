"""The lines that must start fastest, read without Typer, whose import would cost a short run a third of its time.

`diagnose FILE… --source TREE --json` is what programs run in bulk; `open URL`, `llmdebug URL` and `demo` are
what a person waits for. Every other line, and each mistake in these, is left to Typer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

ONCE = ("--file", "--tokenizer", "--model")
"""Options of `open` that have one value each."""


class Line(NamedTuple):
    """A command line taken apart."""

    words: list[str]
    values: dict[str, list[str]]
    flags: set[str]


def run_plain(words: Sequence[str]) -> int | None:
    """The exit code; None for a line that is Typer's to read."""
    command, rest = (words[0], words[1:]) if words else ("", words)
    if command == "diagnose":
        return _diagnose(taken_apart(rest, values=("--source",), flags=("--json",)))
    if command == "open":
        return _open(taken_apart(rest, values=("--source", *ONCE), flags=("--no-probe", "--no-record")))
    return _demo() if command == "demo" and not rest else None


def taken_apart(words: Sequence[str], *, values: Sequence[str], flags: Sequence[str]) -> Line | None:
    """None where there is an option beside these, or one without its value."""
    line = Line([], {name: [] for name in values}, set())
    left = list(words)
    while left:
        word = left.pop(0)
        name, equals, value = word.partition("=")
        if word in flags:
            line.flags.add(word)
        elif word in line.values and left and not left[0].startswith("-"):
            line.values[word].append(left.pop(0))
        elif name in line.values and equals and value:
            line.values[name].append(value)
        elif word == "-" or (word and not word.startswith("-")):
            line.words.append(word)
        else:
            return None
    return line


def _diagnose(line: Line | None) -> int | None:
    if line is None or not line.words or "--json" not in line.flags:
        return None
    from llmdebug.cli.diagnosing import diagnose_files

    return diagnose_files(line.words, line.values["--source"], as_json=True)


def _open(line: Line | None) -> int | None:
    if line is None or len(line.words) > 1 or any(len(line.values[name]) > 1 for name in ONCE):
        return None
    from llmdebug.cli.screen import show_screen
    from llmdebug.config.load import load_settings

    once = {name: line.values[name][0] for name in ONCE if line.values[name]}
    return show_screen(
        load_settings(flags={name: False for name in ("record", "probe") if f"--no-{name}" in line.flags}),
        base_url=line.words[0] if line.words else None,
        sources=line.values["--source"],
        file=once.get("--file"),
        tokenizer=once.get("--tokenizer", ""),
        model=once.get("--model", ""),
    )


def _demo() -> int | None:
    """The screen where there can be one; else the story."""
    from llmdebug.tui.terminal import unusable

    if unusable():
        return None
    from llmdebug.cli.screen import show_screen
    from llmdebug.config.load import load_settings

    return show_screen(load_settings(), demo=True)
