"""Commands that talk to a server, and the options that each of them has: where it goes, with which keys, and how."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from functools import wraps
from typing import TYPE_CHECKING, Any

from llmdebug.cli import options

if TYPE_CHECKING:
    from llmdebug.cli.connection import Connection

PARAMETER = "connection"


def connected(*, without: Collection[str] = ()) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """The command gets a Connection as `connection`; its command line has the options of one in that place.

    `without` are those that mean nothing to it; what they stand for is off.
    """

    def decorated(command: Callable[..., int]) -> Callable[..., int]:
        @wraps(command)
        def run(**given: Any) -> int:
            taken = {name: given.pop(name) for name in shared}
            return command(connection=_connection(**taken, **{name: _OFF[name] for name in without}), **given)

        every = _parameters(_connection)
        shared = {name: parameter for name, parameter in every.items() if name not in without}
        parameters: list[inspect.Parameter] = []
        for name, parameter in _parameters(command).items():
            parameters += shared.values() if name == PARAMETER else [parameter]
        signature = inspect.Signature(parameters)
        run.__signature__ = signature  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in parameters}
        return run

    return decorated


_OFF: dict[str, Any] = {"source": [], "no_record": True, "send_secrets": False}


def _parameters(command: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """With evaluated types; that of the connection is not imported here and stands for any."""
    return dict(inspect.signature(command, eval_str=True, locals={"Connection": object}).parameters)


def _connection(
    *,
    base_url: options.BaseUrl = None,
    variable: options.Variables,
    header: options.Headers,
    api_key_env: options.ApiKeyEnv = None,
    source: options.Sources,
    send_secrets: options.SendSecrets = False,
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
) -> Connection:
    from llmdebug.cli.connection import Connection, effective_settings

    return Connection(
        base_url=base_url,
        variables=variable,
        headers=header,
        api_key_env=api_key_env,
        sources=source,
        send_secrets=send_secrets,
        proxy=proxy,
        ca_file=ca_file,
        client_cert=client_cert,
        client_key=client_key,
        insecure=insecure,
        settings=effective_settings(
            connect_timeout, first_byte_timeout, timeout, no_record=no_record, no_probe=no_probe
        ),
    )
