"""`llmdebug demo`."""

from __future__ import annotations

from typing import Annotated

import typer


def command(
    serve: Annotated[
        bool,
        typer.Option("--serve", help="Serve until interrupted; print base URL and source folder, one a line."),
    ] = False,
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="For --serve; 0: any free one.")
    ] = 0,
    check: Annotated[bool, typer.Option("--check", help="Print the story, also on a terminal.")] = False,
) -> int:
    """Try llmdebug on a small server that comes with it: on the screen, or as a story without a terminal.

    In the story a request is sent and refused, its diagnosis names the line of the server's source, a remedy is
    sent and answered with 200. Exit code 0 only if it went so.
    """
    from llmdebug.cli.guard import CommandError

    if serve and check:
        raise CommandError("--serve and --check exclude each other.")
    if port and not serve:
        raise CommandError("--port is for --serve.")
    if serve:
        return _serve(port)
    from llmdebug.cli.story import tell_story

    return tell_story()


def _serve(port: int) -> int:
    from pathlib import Path

    from llmdebug.cli.exit_codes import ExitCode
    from llmdebug.demo.server import serve

    def ready(base_url: str, source: Path) -> None:
        print(base_url, source, sep="\n", flush=True)

    serve(port=port, on_ready=ready)
    return ExitCode.OK
