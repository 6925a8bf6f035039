"""`llmdebug open`."""

from __future__ import annotations

from typing import Annotated

import typer

from llmdebug.cli import options


def command(
    url: Annotated[str | None, typer.Argument(metavar="URL", help="The server.", show_default=False)] = None,
    *,
    source: options.Sources,
    file: Annotated[
        str | None, typer.Option("--file", metavar="FILE", help="Requests, or a recording to step through.")
    ] = None,
    tokenizer: options.TokenizerName = "",
    model: Annotated[
        str,
        typer.Option("--model", metavar="NAME", help="The model to ask for, instead of the recorded one."),
    ] = "",
    header: options.Headers,
    api_key_env: options.ApiKeyEnv = None,
    no_record: options.NoRecord = False,
    no_probe: options.NoProbe = False,
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
    """Open the screen on a server; `llmdebug URL` for short."""
    from llmdebug.cli.connection import effective_settings
    from llmdebug.cli.screen import show_screen

    return show_screen(
        effective_settings(connect_timeout, first_byte_timeout, timeout, no_record=no_record, no_probe=no_probe),
        base_url=url,
        sources=source,
        file=file,
        tokenizer=tokenizer,
        model=model,
        header_lines=tuple(header),
        api_key_env=api_key_env,
        send_secrets=send_secrets,
        client={
            "proxy": proxy,
            "ca_file": ca_file,
            "client_cert": client_cert,
            "client_key": client_key,
            "insecure": insecure,
        },
    )
