"""`llmdebug send`."""

from __future__ import annotations

from typing import Annotated

import typer

from llmdebug.cli import options


def command(
    reference: options.Reference,
    *,
    base_url: options.BaseUrl = None,
    variable: options.Variables,
    header: options.Headers,
    api_key_env: options.ApiKeyEnv = None,
    source: options.Sources,
    tokenizer: options.TokenizerName = "",
    diagnose: Annotated[
        bool, typer.Option("--diagnose/--no-diagnose", help="Diagnose a refusal; tell ignored fields.")
    ] = True,
    log: options.ServerLog = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the request instead of sending it.")] = False,
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
    """Send a request; diagnose it if the server refuses, or if it takes it but ignores fields.

    stdout gets the answer's body, a stream's events one a line as they come; stderr status, times and the
    diagnosis.
    """
    from llmdebug.cli.connection import Connection, effective_settings
    from llmdebug.cli.sending import send

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
    return send(
        reference,
        connection,
        diagnose=diagnose,
        log=log,
        dry_run=dry_run,
        as_json=as_json,
        show_secrets=show_secrets,
    )
