"""`llmdebug replay`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from llmdebug.cli import options


class PaceOption(StrEnum):
    """What --pace takes."""

    none = "none"
    recorded = "recorded"


class FormatOption(StrEnum):
    """What --format takes."""

    har = "har"
    jsonl = "jsonl"
    http = "http"
    curl = "curl"
    batch = "batch"


def command(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A HAR file, a recording of llmdebug, an .http file, curl commands, or an OpenAI batch.",
            show_default=False,
        ),
    ],
    *,
    base_url: options.BaseUrl = None,
    model: Annotated[
        str, typer.Option("--model", metavar="NAME", help="The model to ask for, instead of the recorded one.")
    ] = "",
    until: Annotated[
        list[str],
        typer.Option(
            "--until",
            metavar="COND",
            help="A breakpoint, as 'status >= 400' or 'changed'; repeatable. Exit code 5 where it stops.",
            default_factory=list,
            show_default=False,
        ),
    ],
    fail_on: Annotated[
        str | None,
        typer.Option(
            "--fail-on",
            metavar="COND",
            help="Exit code 6 where an exchange meets it; then refusals alone are no error.",
        ),
    ] = None,
    first: Annotated[int, typer.Option("--from", metavar="N", min=1, help="The step to begin with, from 1.")] = 1,
    to: Annotated[int | None, typer.Option("--to", metavar="N", min=1, help="The last step to send.")] = None,
    record: Annotated[
        Path | None, typer.Option("--record", metavar="OUT", help="Record in this file, instead of the history.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where the last replay of FILE stood, by its recording.")
    ] = False,
    pace: Annotated[PaceOption, typer.Option("--pace", help="Wait between requests as recorded, or not.")] = (
        PaceOption.none
    ),
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Send more than 100 requests without asking.")] = False,
    format: Annotated[
        FormatOption | None, typer.Option("--format", help="What FILE is, where it does not show.")
    ] = None,
    answers: options.Answers,
    variable: options.Variables,
    header: options.Headers,
    api_key_env: options.ApiKeyEnv = None,
    source: options.Sources,
    diagnose: Annotated[bool, typer.Option("--diagnose/--no-diagnose", help="Trace refusals to their source.")] = True,
    as_json: options.AsJson = False,
    no_record: options.NoRecord = False,
    connect_timeout: options.ConnectTimeout = None,
    first_byte_timeout: options.FirstByteTimeout = None,
    timeout: options.TotalTimeout = None,
    proxy: options.Proxy = None,
    ca_file: options.CaFile = None,
    client_cert: options.ClientCert = None,
    client_key: options.ClientKey = None,
    insecure: options.Insecure = False,
    send_secrets: options.SendSecrets = False,
) -> int:
    """Send recorded requests again, one after the other, and compare the answers with the recorded ones.

    stdout gets a line for each step and the refusals by the place that refused; with --json one object a line.
    """
    from llmdebug.cli.connection import Connection, effective_settings
    from llmdebug.cli.replaying import Replay, replay

    connection = Connection(
        base_url=base_url,
        variables=variable,
        headers=header,
        api_key_env=api_key_env,
        sources=source,
        proxy=proxy,
        ca_file=ca_file,
        client_cert=client_cert,
        client_key=client_key,
        insecure=insecure,
        send_secrets=send_secrets,
        settings=effective_settings(connect_timeout, first_byte_timeout, timeout, no_record=no_record),
    )
    wanted = Replay(
        file=file,
        format=None if format is None else format.value,
        answers=tuple(answers),
        model=model,
        until=tuple(until),
        fail_on=fail_on,
        first=first,
        to=to,
        record=record,
        resume=resume,
        pace=pace.value,
        agreed=yes,
        diagnose=diagnose,
        as_json=as_json,
    )
    return replay(wanted, connection)
