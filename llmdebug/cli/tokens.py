"""`llmdebug tokens`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from llmdebug.cli import options
from llmdebug.cli.connected import connected

if TYPE_CHECKING:
    from llmdebug.cli.connection import Connection


@connected(without=("source", "no_record", "send_secrets"))
def command(
    *,
    tokenizer: options.TokenizerName = "",
    text: Annotated[
        str | None, typer.Option("--text", metavar="TEXT", help="A text to turn into ids; - for stdin.")
    ] = None,
    ids: Annotated[
        str | None,
        typer.Option("--ids", metavar="1,2,3", help="Ids to turn into text, also as a JSON list; - for stdin."),
    ] = None,
    request: Annotated[
        str | None,
        typer.Option("--request", metavar="FILE#NAME", help="A request whose prompt, ids or messages to read."),
    ] = None,
    rendered: Annotated[
        bool, typer.Option("--rendered", help="Print only the text of the prompt, as the model gets it.")
    ] = False,
    compare: Annotated[bool, typer.Option("--compare", help="Hold the local tokens against the server's own.")] = False,
    connection: Connection,
    as_json: options.AsJson = False,
) -> int:
    """Show the tokens of a text, of ids, or of a request, as the server's tokenizer sees them.

    Without --tokenizer and without a readable folder the server's own /tokenize is asked. Each token with its position,
    id and text; what is out of the vocabulary; the share of the context. Ends with 1
    where an id has no token, the chat template refuses, or the context is too small.
    """
    from llmdebug.cli.tokenizing import Wanted, show_tokens

    wanted = Wanted(tokenizer=tokenizer, text=text, ids=ids, request=request, rendered=rendered, compare=compare)
    return show_tokens(wanted, connection, as_json=as_json)
