"""The server's tokenizer beside `send` and `try`: a warning before, evidence after."""

from __future__ import annotations

from collections.abc import Sequence

from llmdebug.cli.connection import Connection
from llmdebug.cli.stages import stages
from llmdebug.cli.talk import say
from llmdebug.debugger.evidence import is_about_tokens, outside_of, warning_of, with_tokens
from llmdebug.debugger.session import Finding, Session
from llmdebug.debugger.tokenizing import Tokenizing
from llmdebug.http.exchange import Request
from llmdebug.tokens.values import TokenizerError


def tokenizing(session: Session, connection: Connection) -> Tokenizing:
    """The tokenizer that was given, or that of the session's server."""
    return Tokenizing(session, name=connection.tokenizer)


async def warn_of_ids(tokens: Tokenizing, request: Request) -> None:
    """Says that ids of the request have no token."""
    with stages() as progress:
        warning = await warning_of(tokens, request, progress=progress)
    if warning:
        say(f"WARNING: {warning}")


async def held_back(tokens: Tokenizing, n: int, requests: Sequence[Request]) -> str:
    """Why remedy `n` is not sent without being asked for: ids of it have no token. Empty where it is."""
    try:
        with stages() as progress:
            told = await outside_of(tokens, requests, progress=progress)
    except TokenizerError:
        return ""
    return f"Remedy {n} is not sent: {told} With --bad-ids it is." if told else ""


async def weighed(session: Session, tokens: Tokenizing, finding: Finding) -> Finding:
    """The finding with what the tokenizer says, where that can be of use."""
    if not tokens.name and not is_about_tokens(finding):
        return finding
    with stages() as progress:
        return await with_tokens(session, tokens, finding, progress=progress)
