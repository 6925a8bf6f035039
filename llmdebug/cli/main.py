"""The `llmdebug` command: finds the command asked for, and loads no more than it needs."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

from llmdebug.cli.guard import exiting, guarded

if TYPE_CHECKING:
    import typer

COMMANDS = {
    "send": "llmdebug.cli.send",
    "diagnose": "llmdebug.cli.diagnose",
    "check": "llmdebug.cli.check",
    "try": "llmdebug.cli.try_remedy",
    "replay": "llmdebug.cli.replay",
    "convert": "llmdebug.cli.convert",
    "demo": "llmdebug.cli.demo",
    "tokens": "llmdebug.cli.tokens",
    "open": "llmdebug.cli.open",
    "link": "llmdebug.cli.link",
    "sources": "llmdebug.cli.sources",
    "config": "llmdebug.cli.config",
    "cache": "llmdebug.cli.cache",
}
"""Each module holds the command as its function `command`."""


def main() -> NoReturn:
    """The entry point."""
    _prepare_output()
    words = sys.argv[1:]
    if words and "://" in words[0] and not words[0].startswith("-"):
        words = ["open", *words]
    sys.exit(guarded(lambda: _run(words)))


def _run(words: list[str]) -> int:
    from llmdebug.cli.plain import run_plain

    code = run_plain(words)
    if code is not None:
        return code
    asked = words[0] if words and words[0] in COMMANDS else None
    application([asked] if asked else list(COMMANDS))(words, prog_name="llmdebug")
    return 0


def application(names: list[str]) -> typer.Typer:
    """The Typer application with these commands."""
    import typer

    from llmdebug.cli.exit_codes import EPILOG
    from llmdebug.cli.root import root

    app = typer.Typer(
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
        no_args_is_help=True,
    )
    app.callback(epilog=EPILOG)(root)
    for name in names:
        module = import_module(COMMANDS[name])
        app.command(name, epilog=EPILOG)(exiting(module.command))
    return app


def _prepare_output() -> None:
    """A terminal that lacks a character gets a question mark for it, not an error."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
