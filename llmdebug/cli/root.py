"""What stands before any command."""

from __future__ import annotations

from typing import Annotated

import typer


def _version(wanted: bool) -> None:
    if wanted:
        from llmdebug import __version__

        print(f"llmdebug {__version__}")
        raise typer.Exit


def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """A terminal debugger for LLM servers: sends a request and, when the server refuses it, finds the line of the
    server's own source that refused, the field to blame and the request to send instead.

    A first word with :// means `open`.
    """
