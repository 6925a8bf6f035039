"""What the options of a command say about where a request goes, and how."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from llmdebug.cli.guard import CommandError
from llmdebug.cli.named_request import read_request
from llmdebug.debugger.session import Session
from llmdebug.http import baseurl
from llmdebug.http.credentials import credentials, default_base_url
from llmdebug.http.exchange import Request

if TYPE_CHECKING:
    from llmdebug.http.options import ClientOptions


class Connection(msgspec.Struct, frozen=True, kw_only=True):
    """Times are seconds; 0 waits for ever."""

    base_url: str | None
    variables: Sequence[str]
    headers: Sequence[str]
    api_key_env: str | None
    sources: Sequence[str]
    connect_timeout_s: float
    first_byte_timeout_s: float
    total_timeout_s: float
    proxy: str | None
    ca_file: str | None
    client_cert: str | None
    client_key: str | None
    insecure: bool
    record: bool

    def request(self, reference: str) -> tuple[Request, tuple[str, ...]]:
        """The request that FILE[#name] names, and what is to be said of its file. Raises FormatError."""
        return read_request(
            reference,
            base_url=self.base_url,
            default_base_url=default_base_url(os.environ),
            variables=named_values(self.variables),
        )

    def session(self, request: Request) -> Session:
        """Raises TreeError and CredentialsError."""
        return Session(
            base_url=self.base_url or baseurl.split(request.url)[0],
            sources=self.sources,
            credentials=credentials(self.headers, api_key_env=self.api_key_env, environment=os.environ),
            options=self._client_options(),
            keep=self.record,
        )

    def _client_options(self) -> ClientOptions:
        from llmdebug.http.options import ClientOptions

        return ClientOptions(
            connect_timeout_s=self.connect_timeout_s or None,
            first_byte_timeout_s=self.first_byte_timeout_s or None,
            total_timeout_s=self.total_timeout_s or None,
            proxy=self.proxy,
            ca_file=self.ca_file,
            client_cert=self.client_cert,
            client_key=self.client_key,
            insecure=self.insecure,
        )


def named_values(variables: Sequence[str]) -> dict[str, str]:
    """NAME=VALUE as a mapping. Raises CommandError."""
    pairs = {}
    for variable in variables:
        name, equals, value = variable.partition("=")
        if not equals or not name.strip():
            raise CommandError(f"{variable!r} is no variable: write it as NAME=VALUE.")
        pairs[name.strip()] = value
    return pairs
