"""`llmdebug diagnose`."""

from __future__ import annotations

from typing import Annotated

import typer

from llmdebug.cli import options


def command(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            help="HAR files, recordings of llmdebug, or the text of an answer (also as a client prints it: "
            '"Error code: 400 - {…}"); - for stdin.',
            show_default=False,
        ),
    ],
    *,
    source: options.Sources,
    request: Annotated[
        str | None,
        typer.Option("--request", metavar="FILE#NAME", help="The request that an answer's text belongs to."),
    ] = None,
    status: Annotated[
        int | None,
        typer.Option("--status", metavar="N", min=100, max=599, help="The status of an answer's text."),
    ] = None,
    base_url: options.BaseUrl = None,
    variable: options.Variables,
    log: options.ServerLog = None,
    tokenizer: options.TokenizerName = "",
    as_json: options.AsJson = False,
) -> int:
    """Diagnose recorded exchanges without sending anything.

    With --json one line for each exchange, in order, in the form llmdebug.diagnosis/1.
    """
    from llmdebug.cli.connection import named_values
    from llmdebug.cli.diagnosing import diagnose_files
    from llmdebug.cli.named_request import read_request
    from llmdebug.cli.standalone import BareAnswer
    from llmdebug.cli.talk import say

    bare = BareAnswer(status=status)
    if request is not None:
        found, warnings = read_request(
            request,
            base_url=base_url,
            default_base_url=NOWHERE,
            variables=named_values(variable),
            send_secrets=True,
        )
        for warning in warnings:
            say(warning)
        bare = BareAnswer(request=found, status=status)
    return diagnose_files(files, source, as_json=as_json, bare=bare, log=log, base_url=base_url, tokenizer=tokenizer)


NOWHERE = "http://localhost"
"""Stands for the server of a request that is not sent."""
