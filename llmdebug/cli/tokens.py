"""`llmdebug tokens`."""

from __future__ import annotations

from typing import Annotated

import typer

from llmdebug.cli import options


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
    base_url: options.BaseUrl = None,
    variable: options.Variables,
    header: options.Headers,
    api_key_env: options.ApiKeyEnv = None,
    as_json: options.AsJson = False,
    no_probe: options.NoProbe = False,
    connect_timeout: options.ConnectTimeout = None,
    first_byte_timeout: options.FirstByteTimeout = None,
    timeout: options.TotalTimeout = None,
    proxy: options.Proxy = None,
    ca_file: options.CaFile = None,
    client_cert: options.ClientCert = None,
    client_key: options.ClientKey = None,
    insecure: options.Insecure = False,
) -> int:
    """Show the tokens of a text, of ids, or of a request, as the server's tokenizer sees them.

    Without --tokenizer and without a readable folder the server's own /tokenize is asked. Each token with its position,
    id and text; what is out of the vocabulary; the share of the context. Ends with 1
    where an id has no token, the chat template refuses, or the context is too small.
    """
    from llmdebug.cli.connection import Connection, effective_settings
    from llmdebug.cli.tokenizing import Wanted, show_tokens

    connection = Connection(
        base_url=base_url,
        variables=variable,
        headers=header,
        api_key_env=api_key_env,
        sources=[],
        proxy=proxy,
        ca_file=ca_file,
        client_cert=client_cert,
        client_key=client_key,
        insecure=insecure,
        settings=effective_settings(connect_timeout, first_byte_timeout, timeout, no_record=True, no_probe=no_probe),
    )
    wanted = Wanted(tokenizer=tokenizer, text=text, ids=ids, request=request, rendered=rendered, compare=compare)
    return show_tokens(wanted, connection, as_json=as_json)
