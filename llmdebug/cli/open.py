"""`llmdebug open`."""

from __future__ import annotations

from typing import Annotated

import typer

from llmdebug.cli import options


def command(
    url: Annotated[str | None, typer.Argument(metavar="URL", help="The server.", show_default=False)] = None,
    *,
    source: options.Sources,
    file: Annotated[str | None, typer.Option("--file", metavar="FILE", help="Requests to begin with.")] = None,
) -> int:
    """Open the screen on a server."""
    from llmdebug.cli.guard import CommandError

    raise CommandError("There is no screen in this version yet: use `llmdebug send` and `llmdebug diagnose`.")
