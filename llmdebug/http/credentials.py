"""Where a request's credentials and base URL come from.

A header given by hand wins over `--api-key-env`, and that over OPENAI_API_KEY; a header that the request
itself carries counts as given by hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from llmdebug.http.exchange import Headers, Request, header

API_KEY_VARIABLE = "OPENAI_API_KEY"
BASE_URL_VARIABLES = ("OPENAI_BASE_URL", "OPENAI_API_BASE")
_CARRIES_KEY = ("Authorization", "X-Api-Key", "Api-Key")


class CredentialsError(ValueError):
    """A header or a variable cannot be used; the message is a sentence for the user."""


class Credentials(msgspec.Struct, frozen=True, kw_only=True):
    """What is added to requests."""

    headers: Headers = ()
    """Given by hand: they replace headers of the same name."""
    api_key: str = ""
    """Sent as a bearer token where the request carries no credentials of its own."""
    api_key_name: str = ""
    """The environment variable the key came from."""

    @property
    def secrets(self) -> dict[str, str]:
        """Secrets with the names they are known by, for redaction."""
        return {self.api_key_name: self.api_key} if self.api_key and self.api_key_name else {}

    def applied(self, request: Request) -> Request:
        """The request with these credentials."""
        given = {name.lower() for name, _ in self.headers}
        headers = tuple(item for item in request.headers if item[0].lower() not in given) + self.headers
        if self.api_key and not any(header(headers, name) for name in _CARRIES_KEY):
            headers = (*headers, ("Authorization", f"Bearer {self.api_key}"))
        return msgspec.structs.replace(request, headers=headers)


def credentials(
    header_lines: Iterable[str] = (),
    *,
    api_key_env: str | None = None,
    environment: Mapping[str, str],
    unasked: bool = True,
) -> Credentials:
    """From `-H` lines (`Name: value`) and the environment; `unasked`: OPENAI_API_KEY where no variable is named.

    Raises CredentialsError for a line without a colon, and for a variable named by hand that is not set.
    """
    headers = tuple(_header(line) for line in header_lines)
    name = api_key_env or (API_KEY_VARIABLE if unasked else "")
    key = environment.get(name, "").strip()
    if api_key_env and not key:
        raise CredentialsError(f"The environment variable {api_key_env} is not set; it should hold the key.")
    return Credentials(headers=headers, api_key=key, api_key_name=name if key else "")


def default_base_url(environment: Mapping[str, str]) -> str | None:
    """The base URL that the OpenAI client would take from the environment."""
    return next((environment[name].strip() for name in BASE_URL_VARIABLES if environment.get(name)), None)


def _header(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon or not name.strip():
        raise CredentialsError(f"{line!r} is no header: write it as 'Name: value'.")
    return name.strip(), value.strip()
