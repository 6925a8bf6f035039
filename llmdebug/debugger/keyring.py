"""A session's secrets and credentials, each with the host it belongs to.

A key goes only to the host it was written for: what the user gives for the debugged server to that server, what was
seen in a request to the host of that request. The environment is asked by name, as the request names it.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import msgspec

from llmdebug.http.credentials import Credentials
from llmdebug.http.exchange import Exchange, Request
from llmdebug.http.keys import Place, host_of, place_of
from llmdebug.http.secretnames import is_secret_header
from llmdebug.http.secrets import fill, redact, redact_exchange


class KeyringError(Exception):
    """A secret cannot be filled in; the text is a sentence for the user."""


class Keyring:
    """`warn` gets sentences about what was left out."""

    def __init__(
        self, credentials: Credentials, base_url: str | None, warn: Callable[[str], None], *, anywhere: bool = False
    ) -> None:
        """`anywhere`: keys go to any host that a request names."""
        self._credentials = credentials
        self._home = place_of(base_url) if base_url else None
        self._warn = warn
        self._anywhere = anywhere
        self._places: dict[str, set[Place]] = {}
        self.secrets: dict[str, str] = dict(credentials.secrets)
        """Every secret seen so far, by the name it is kept under."""

    def redacted(self, exchange: Exchange) -> Exchange:
        """The exchange with its secrets by name; they belong to its host from then on."""
        clean, found = redact_exchange(exchange, self.secrets)
        self.know(found, exchange.request.url)
        return clean

    def redacted_request(self, request: Request) -> Request:
        """As redacted()."""
        clean, found = redact(request, self.secrets)
        self.know(found, request.url)
        return clean

    def prepared(self, request: Request) -> Request:
        """The request with what of the credentials may go to its host, and with the secrets that stand in it by name.

        Raises KeyringError for a secret that nobody knows, or that belongs to another host.
        """
        place = place_of(request.url)
        complete, missing = fill(self._applied(request, place), lambda name: self._value(name, place))
        if not missing:
            return complete
        foreign = [name for name in missing if name in self.secrets]
        if foreign:
            raise KeyringError(
                f"The request would take {', '.join(foreign)}, a key of another host, to {host_of(request.url)}: "
                "write the key of that host, or allow it with --send-secrets."
            )
        raise KeyringError(f"The request needs {', '.join(missing)}, a secret: set it as an environment variable.")

    def _applied(self, request: Request, place: Place) -> Request:
        """Headers that hold no secret go anywhere."""
        if self._anywhere or self._home is None or place == self._home:
            return self._credentials.applied(request)
        given = self._credentials.headers
        open_ones = tuple((name, value) for name, value in given if not is_secret_header(name))
        if len(open_ones) < len(given) or self._credentials.api_key:
            self._warn(
                f"The key for {self._home[1]} is not sent to {place[1] or request.url}: "
                "--send-secrets sends it to any host."
            )
        return msgspec.structs.replace(self._credentials, headers=open_ones, api_key="").applied(request)

    def _value(self, name: str, place: Place) -> str | None:
        known = self.secrets.get(name)
        if known and (self._anywhere or place in self._places.get(name, {self._home or place})):
            return known
        return os.environ.get(name)

    def know(self, found: dict[str, str], url: str) -> None:
        """Secrets by name that stand in a request to this URL."""
        self.secrets.update(found)
        for name in found:
            self._places.setdefault(name, set()).add(place_of(url))
