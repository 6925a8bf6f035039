"""`llmdebug send`."""

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
    connection: Connection,
    tokenizer: options.TokenizerName = "",
    diagnose: Annotated[
        bool, typer.Option("--diagnose/--no-diagnose", help="Diagnose a refusal; tell ignored fields.")
    ] = True,
    log: options.ServerLog = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the request instead of sending it.")] = False,
    as_json: options.AsJson = False,
    show_secrets: options.ShowSecrets = False,
) -> int:
    """Send a request; diagnose it if the server refuses, or if it takes it but ignores fields.

    stdout gets the answer's body, a stream's events one a line as they come; stderr status, times and the
    diagnosis.
    """
    from llmdebug.cli.sending import send

    return send(
        reference,
        msgspec.structs.replace(connection, tokenizer=tokenizer),
        diagnose=diagnose,
        log=log,
        dry_run=dry_run,
        as_json=as_json,
        show_secrets=show_secrets,
    )
