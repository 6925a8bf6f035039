"""`llmdebug convert`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from llmdebug.cli import options


class InputOption(StrEnum):
    """What --from takes."""

    har = "har"
    jsonl = "jsonl"
    http = "http"
    curl = "curl"
    batch = "batch"


class OutputOption(StrEnum):
    """What --to takes."""

    har = "har"
    jsonl = "jsonl"
    http = "http"
    curl = "curl"
    batch = "batch"
    httpx = "httpx"
    openai = "openai"


def command(
    source: Annotated[
        str,
        typer.Argument(
            metavar="IN",
            help="A HAR file, a recording of llmdebug, an .http file, curl commands, or a batch; "
            "#NAME or #NUMBER picks one request.",
            show_default=False,
        ),
    ],
    target: Annotated[
        str, typer.Argument(metavar="OUT", help="A file that is not there yet; - for stdout.", show_default=False)
    ],
    *,
    from_: Annotated[
        InputOption | None, typer.Option("--from", metavar="F", help="har, jsonl, http, curl or batch; else seen.")
    ] = None,
    to: Annotated[
        OutputOption | None,
        typer.Option(
            "--to",
            metavar="F",
            help="har, jsonl, http, curl, batch, httpx or openai (Python that sends it); else by OUT's name.",
        ),
    ] = None,
    only: Annotated[
        str | None, typer.Option("--only", metavar="COND", help="Only what meets a condition, as 'status >= 400'.")
    ] = None,
    answers: options.Answers,
    base_url: options.BaseUrl = None,
    variable: options.Variables,
    with_secrets: Annotated[
        bool, typer.Option("--with-secrets", help="Write keys and cookies instead of {{secret:NAME}}.")
    ] = False,
) -> int:
    """Write requests, and their answers where the format holds them, in another format.

    What OUT's format cannot hold is told on stderr.
    """
    from llmdebug.cli.converting import Conversion, convert

    wanted = Conversion(
        source=source,
        target=target,
        from_=None if from_ is None else from_.value,
        to=None if to is None else to.value,
        only=only,
        answers=tuple(answers),
        base_url=base_url,
        variables=tuple(variable),
        with_secrets=with_secrets,
    )
    return convert(wanted)
