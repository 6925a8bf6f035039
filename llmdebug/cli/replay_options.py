"""The options of `replay` alone."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


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


File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="A HAR file, a recording of llmdebug, an .http file, curl commands, or an OpenAI batch; - for stdin.",
        show_default=False,
    ),
]
Model = Annotated[
    str, typer.Option("--model", metavar="NAME", help="The model to ask for, instead of the recorded one.")
]
Until = Annotated[
    list[str],
    typer.Option(
        "--until",
        metavar="COND",
        help="A breakpoint, as 'status >= 400' or 'changed'; repeatable. Exit code 5 where it stops.",
        default_factory=list,
        show_default=False,
    ),
]
FailOn = Annotated[
    str | None,
    typer.Option(
        "--fail-on", metavar="COND", help="Exit code 6 where an exchange meets it; then refusals alone are no error."
    ),
]
First = Annotated[int, typer.Option("--from", metavar="N", min=1, help="The step to begin with, from 1.")]
To = Annotated[int | None, typer.Option("--to", metavar="N", min=1, help="The last step to send.")]
Record = Annotated[
    Path | None, typer.Option("--record", metavar="OUT", help="Record in this file, instead of the history.")
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on where the last replay of FILE stood, by its recording.")]
Pace = Annotated[PaceOption, typer.Option("--pace", help="Wait between requests as recorded, or not.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Send more than 100 requests without asking.")]
Format = Annotated[FormatOption | None, typer.Option("--format", help="What FILE is, where it does not show.")]
Diagnose = Annotated[bool, typer.Option("--diagnose/--no-diagnose", help="Trace refusals to their source.")]
