"""The server of an `.http` file's requests: the one the file names, or the one the user wants instead."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from llmdebug.formats.errors import FormatError
from llmdebug.formats.http_file import HttpFile
from llmdebug.http.exchange import Request
from llmdebug.http.keys import place_of, told_withheld, without_keys

VARIABLES = ("base_url", "baseUrl", "BASE_URL")
"""What files call the server's address."""


def with_server(
    file: HttpFile, base_url: str | None, default_base_url: str | None, variables: Mapping[str, str]
) -> HttpFile:
    """The file with its variables. `base_url` goes before the server that the file names, `default_base_url` behind."""
    base = base_url or default_base_url
    kept = set() if base_url else {definition.name for definition in file.definitions}
    given = {variable: base for variable in VARIABLES if base and variable not in kept}
    return msgspec.structs.replace(file, base_url=base, given={**given, **variables})


def requests_of(
    file: HttpFile, selector: str | None = None, *, send_secrets: bool = False
) -> tuple[list[Request], tuple[str, ...]]:
    """All requests, or the selected one, without the keys that the file wrote for another host; and what is told.

    Raises FormatError.
    """
    found: list[Request | FormatError] = list(file.entries() if selector is None else [file.request(selector)])
    for entry in found:
        if isinstance(entry, FormatError):
            raise entry
    kept, warnings = _kept(file, found, selector, send_secrets=send_secrets)
    return [entry for entry in kept if isinstance(entry, Request)], warnings


def entries_of(file: HttpFile, *, send_secrets: bool = False) -> tuple[list[Request | FormatError], tuple[str, ...]]:
    """As requests_of(), for all requests, with what is wrong in the place of one that cannot be filled in."""
    return _kept(file, file.entries(), None, send_secrets=send_secrets)


def _kept(
    file: HttpFile, found: list[Request | FormatError], selector: str | None, *, send_secrets: bool
) -> tuple[list[Request | FormatError], tuple[str, ...]]:
    left_out: dict[str, None] = {}
    elsewhere = ""
    kept: list[Request | FormatError] = []
    for number, entry in enumerate(found, start=1):
        home = "" if send_secrets else _home(file, number if selector is None else selector)
        if isinstance(entry, Request) and home and place_of(home) != place_of(entry.url):
            entry, names = without_keys(entry)
            elsewhere = elsewhere or (entry.url if names else "")
            left_out |= dict.fromkeys(names)
        kept.append(entry)
    told = (told_withheld(tuple(left_out), elsewhere),) if left_out else ()
    return kept, (*file.warnings, *told)


def _home(file: HttpFile, selector: str | int) -> str:
    """The URL of a request as the file alone has it; empty where it names no server."""
    given = {name: value for name, value in file.given.items() if name not in VARIABLES}
    try:
        return msgspec.structs.replace(file, base_url=None, given=given).request(selector).url
    except FormatError:
        return ""
