"""What the options of a command say about where a request goes, and how."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from llmdebug.cli.guard import CommandError
from llmdebug.cli.named_request import read_request
from llmdebug.config.load import load_settings
from llmdebug.config.settings import Settings
from llmdebug.debugger.session import Session
from llmdebug.http import baseurl
from llmdebug.http.credentials import credentials, default_base_url
from llmdebug.http.exchange import Request

if TYPE_CHECKING:
    from llmdebug.http.options import ClientOptions


class Connection(msgspec.Struct, frozen=True, kw_only=True):
    """One field for each option."""

    base_url: str | None
    variables: Sequence[str]
    headers: Sequence[str]
    api_key_env: str | None
    sources: Sequence[str]
    proxy: str | None
    ca_file: str | None
    client_cert: str | None
    client_key: str | None
    insecure: bool
    send_secrets: bool = False
    settings: Settings
    tokenizer: str = ""
    """Folder, `tokenizer.json` or Hugging Face id; empty: the one that the server says it serves."""

    def request(self, reference: str) -> tuple[Request, tuple[str, ...]]:
        """The request that FILE[#name] names, and what is to be said of its file. Raises FormatError."""
        return read_request(
            reference,
            base_url=self.base_url,
            default_base_url=default_base_url(os.environ),
            variables=named_values(self.variables),
            send_secrets=self.send_secrets,
        )

    def session(self, request: Request, *, record_in: Path | None = None) -> Session:
        """For this request and what belongs to it. Raises TreeError and CredentialsError."""
        given = credentials(
            self.headers, api_key_env=self.api_key_env, environment=os.environ, unasked=not request.keyless
        )
        return Session(
            base_url=self.base_url or baseurl.split(request.url)[0],
            sources=self.sources,
            credentials=given,
            options=self._client_options(),
            keep=self.settings.record,
            record_in=record_in,
            history_mb=self.settings.history_mb,
            probing=self.settings.probe,
            families=self.settings.family_folder,
            send_secrets=self.send_secrets,
        )

    def _client_options(self) -> ClientOptions:
        from llmdebug.http.options import ClientOptions

        return ClientOptions(
            connect_timeout_s=self.settings.connect_timeout_s,
            first_byte_timeout_s=self.settings.first_byte_timeout_s,
            total_timeout_s=self.settings.total_timeout_s,
            proxy=self.proxy,
            ca_file=self.ca_file,
            client_cert=self.client_cert,
            client_key=self.client_key,
            insecure=self.insecure,
        )


def effective_settings(
    connect_timeout: float | None,
    first_byte_timeout: float | None,
    timeout: float | None,
    *,
    no_record: bool,
    no_probe: bool = False,
) -> Settings:
    """These flags over the environment over the config file. Raises ConfigError."""
    return load_settings(
        flags={
            "connect_timeout": connect_timeout,
            "first_byte_timeout": first_byte_timeout,
            "timeout": timeout,
            "record": False if no_record else None,
            "probe": False if no_probe else None,
        }
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
