"""`llmdebug try`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from llmdebug.cli import options
from llmdebug.cli.connected import connected

if TYPE_CHECKING:
    from llmdebug.cli.connection import Connection


@connected()
def command(
    reference: options.Reference,
    *,
    tokenizer: options.TokenizerName = "",
    remedy: Annotated[int, typer.Option("--remedy", metavar="N", min=1, help="Which remedy to send.")] = 1,
    try_all: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Send every remedy, with few tokens to write, and tell which are answered; at most 12 requests.",
        ),
    ] = False,
    bad_ids: Annotated[
        bool, typer.Option("--bad-ids", help="Send remedies too that hold ids without a token: servers die of some.")
    ] = False,
    connection: Connection,
    as_json: options.AsJson = False,
    show_secrets: options.ShowSecrets = False,
) -> int:
    """Send a request, diagnose its refusal, send remedy N or all: confirmed where one is answered with 2xx.

    stdout gets the diagnosis and the verdict, stderr what happens on the way.
    """
    from llmdebug.cli.trying import try_remedy

    return try_remedy(
        reference,
        msgspec.structs.replace(connection, tokenizer=tokenizer),
        None if try_all else remedy,
        bad_ids=bad_ids,
        as_json=as_json,
        show_secrets=show_secrets,
    )
