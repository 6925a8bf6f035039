"""`llmdebug try`."""

from __future__ import annotations

from typing import Annotated

import typer

from llmdebug.cli import options


def command(
    reference: options.Reference,
    *,
    source: options.Sources,
    tokenizer: options.TokenizerName = "",
    remedy: Annotated[int, typer.Option("--remedy", metavar="N", min=1, help="Which remedy to send.")] = 1,
    try_all: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Send every remedy, with few tokens to write, and tell which are answered; at most 12 requests.",
        ),
    ] = False,
    base_url: options.BaseUrl = None,
    variable: options.Variables,
    header: options.Headers,
    api_key_env: options.ApiKeyEnv = None,
    as_json: options.AsJson = False,
    show_secrets: options.ShowSecrets = False,
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
    """Send a request, diagnose its refusal, send remedy N or all: confirmed where one is answered with 2xx.

    stdout gets the diagnosis and the verdict, stderr what happens on the way.
    """
    from llmdebug.cli.connection import Connection, effective_settings
    from llmdebug.cli.trying import try_remedy

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
        settings=effective_settings(
            connect_timeout, first_byte_timeout, timeout, no_record=no_record, no_probe=no_probe
        ),
        tokenizer=tokenizer,
    )
    return try_remedy(reference, connection, None if try_all else remedy, as_json=as_json, show_secrets=show_secrets)
