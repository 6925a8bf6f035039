"""`llmdebug open`."""

from __future__ import annotations

from typing import Annotated

import typer

from llmdebug.cli import options


def command(
    url: Annotated[str | None, typer.Argument(metavar="URL", help="The server.", show_default=False)] = None,
    *,
    source: options.Sources,
    file: Annotated[str | None, typer.Option("--file", metavar="FILE", help="Requests to begin with.")] = None,
    header: options.Headers,
    api_key_env: options.ApiKeyEnv = None,
    no_record: options.NoRecord = False,
    connect_timeout: options.ConnectTimeout = 10.0,
    first_byte_timeout: options.FirstByteTimeout = 600.0,
    timeout: options.TotalTimeout = 3600.0,
    proxy: options.Proxy = None,
    ca_file: options.CaFile = None,
    client_cert: options.ClientCert = None,
    client_key: options.ClientKey = None,
    insecure: options.Insecure = False,
) -> int:
    """Open the screen on a server; `llmdebug URL` for short."""
    from llmdebug.tui.app import run

    return run(
        base_url=url,
        sources=tuple(source),
        file=file,
        header_lines=tuple(header),
        api_key_env=api_key_env,
        record=not no_record,
        client={
            "connect_timeout_s": connect_timeout or None,
            "first_byte_timeout_s": first_byte_timeout or None,
            "total_timeout_s": timeout or None,
            "proxy": proxy,
            "ca_file": ca_file,
            "client_cert": client_cert,
            "client_key": client_key,
            "insecure": insecure,
        },
    )
