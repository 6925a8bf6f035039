"""`llmdebug link`."""

from __future__ import annotations

from typing import Annotated

import typer

from llmdebug.cli import options


def command(
    url: Annotated[str, typer.Argument(metavar="URL", help="The server.", show_default=False)],
    *,
    source: options.Sources,
    header: options.Headers,
    api_key_env: options.ApiKeyEnv = None,
    as_json: options.AsJson = False,
    no_probe: options.NoProbe = False,
    proxy: options.Proxy = None,
    ca_file: options.CaFile = None,
    client_cert: options.ClientCert = None,
    client_key: options.ClientKey = None,
    insecure: options.Insecure = False,
) -> int:
    """Tell what runs behind a URL, and link its source for later commands.

    The server is asked with a few GET requests, a second each. Without --source its source is looked for: in the
    environment of the process behind the port, else by the version that the server states.
    """
    from llmdebug.cli.connection import Connection, effective_settings
    from llmdebug.cli.linking import link
    from llmdebug.linking.spec import AUTO

    connection = Connection(
        base_url=url if "://" in url else f"http://{url}",
        variables=(),
        headers=header,
        api_key_env=api_key_env,
        sources=source or [AUTO],
        proxy=proxy,
        ca_file=ca_file,
        client_cert=client_cert,
        client_key=client_key,
        insecure=insecure,
        settings=effective_settings(None, None, None, no_record=False, no_probe=no_probe),
    )
    return link(connection, as_json=as_json)
