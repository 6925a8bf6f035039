"""`llmdebug sources`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from llmdebug.cli import options


class Action(StrEnum):
    """What to do with the sources."""

    LIST = "list"
    ADD = "add"
    REMOVE = "remove"
    WHICH = "which"
    VERIFY = "verify"


def command(
    action: Annotated[Action, typer.Argument(help="What to do.")] = Action.LIST,
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SOURCE",
            help="add, remove: pypi:NAME==VERSION or git:URL@TAG; verify: the same, or all that are kept; "
            "which: the URL of a server.",
            show_default=False,
        ),
    ] = None,
    as_json: options.AsJson = False,
) -> int:
    """Show the sources that were fetched, fetch or remove some, check that they are as they were fetched.

    A fetched source is only unpacked, never run. It is kept until it is removed, and serves without a network.
    """
    from llmdebug.cli import shelving

    given = sources or []
    if action is Action.ADD:
        return shelving.add(given, as_json=as_json)
    if action is Action.REMOVE:
        return shelving.remove(given)
    if action is Action.VERIFY:
        return shelving.verify(given)
    if action is Action.WHICH:
        return shelving.which(given, as_json=as_json)
    return shelving.show(given, as_json=as_json)
