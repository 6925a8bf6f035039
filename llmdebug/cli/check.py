"""`llmdebug check`."""

from __future__ import annotations

from typing import Annotated

import typer

from llmdebug.cli import options


def command(
    reference: Annotated[
        str,
        typer.Argument(
            metavar="FILE[#NAME]",
            help="An .http file (- for stdin); #NAME or #NUMBER picks one of several requests, else all are checked.",
            show_default=False,
        ),
    ],
    *,
    source: options.Sources,
    base_url: options.BaseUrl = None,
    variable: options.Variables,
    as_json: options.AsJson = False,
) -> int:
    """Tell what a server's source will refuse or ignore in a request, before it is sent.

    Held against the route, its schema and the checks in its code; what only the running server knows, such as its
    model and its limits, is not foreseen. With --json one line for each request, in the form llmdebug.diagnosis/1.
    """
    from llmdebug.cli.checking import check_requests
    from llmdebug.cli.connection import named_values

    return check_requests(reference, source, base_url=base_url, variables=named_values(variable), as_json=as_json)
