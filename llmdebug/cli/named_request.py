"""The request that FILE[#name] names, sent to where the user wants it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from llmdebug.cli.guard import CommandError
from llmdebug.formats.errors import FormatError
from llmdebug.formats.http_file import HttpFile, parse_http_text, read_http_file, split_selector
from llmdebug.http.baseurl import redirected
from llmdebug.http.exchange import Request

if TYPE_CHECKING:
    from llmdebug.formats.exchanges import Exchanges

BASE_URL_VARIABLES = ("base_url", "baseUrl", "BASE_URL")
"""What files call the server's address; --base-url sets them."""
_SHOWN_NAMES = 12


def read_request(
    reference: str,
    *,
    base_url: str | None = None,
    default_base_url: str | None = None,
    variables: Mapping[str, str],
) -> tuple[Request, tuple[str, ...]]:
    """The request, and the warnings of its file. Raises FormatError, and CommandError for one that cannot be sent.

    `base_url` is where the request goes, whatever its file says; `default_base_url` serves only where the
    file names no server.
    """
    found, warnings = read_requests(
        reference, base_url=base_url, default_base_url=default_base_url, variables=variables
    )
    if len(found) > 1:
        path, _ = split_selector(reference)
        told = f"It holds {len(found)} requests, name one of them: {path}#NAME ({_names(found)})."
        raise FormatError(path, told)
    return found[0], warnings


def read_requests(
    reference: str, *, base_url: str | None = None, default_base_url: str | None = None, variables: Mapping[str, str]
) -> tuple[tuple[Request, ...], tuple[str, ...]]:
    """As read_request(), but where none is named all requests of the file, of which there is at least one."""
    path, name = split_selector(reference)
    others = _of_other_formats(path, base_url or default_base_url, variables)
    warnings: tuple[str, ...] = ()
    if others is not None:
        found = [others.exchange(number).request for number in range(len(others))]
        numbers = range(len(found)) if name is None else [_numbered(path, found, name)]
        for problem in filter(None, map(others.problem, numbers)):
            raise CommandError(problem)
        chosen, warnings = [found[number] for number in numbers], () if name else others.warnings
    else:
        file = _with_base(_opened(path), base_url, default_base_url, variables)
        chosen, warnings = (list(file.requests()) if name is None else [file.request(name)]), file.warnings
    if not chosen:
        raise FormatError(path, "There is no request in it.")
    return tuple(_sent_to(request, base_url) for request in chosen), warnings


def _of_other_formats(path: str, base_url: str | None, variables: Mapping[str, str]) -> Exchanges | None:
    """The requests of a file that is no .http file; None for one that is, or for standard input."""
    from llmdebug.formats.loading import format_of, open_exchanges

    if path == "-" or not Path(path).is_file() or format_of(path) == "http":
        return None
    return open_exchanges(path, base_url=base_url, variables=variables)


def _numbered(path: str, requests: Sequence[Request], name: str) -> int:
    """A request's place, by its name, else by its number from 1."""
    for number, request in enumerate(requests):
        if name in (request.name, str(number + 1)):
            return number
    raise FormatError(path, f"No request in it is named {name!r}; there are: {_names(requests)}.")


def _with_base(
    file: HttpFile, base_url: str | None, default_base_url: str | None, variables: Mapping[str, str]
) -> HttpFile:
    """The file with its variables, and the server that it lacks."""
    base = base_url or default_base_url
    kept = set() if base_url else {definition.name for definition in file.definitions}
    given = {variable: base for variable in BASE_URL_VARIABLES if base and variable not in kept}
    return msgspec.structs.replace(file, base_url=base, given={**given, **variables})


def _sent_to(request: Request, base_url: str | None) -> Request:
    if not base_url:
        return request
    return msgspec.structs.replace(request, url=redirected(request.url, base_url))


def _opened(path: str) -> HttpFile:
    if path != "-":
        return read_http_file(path)
    return parse_http_text(sys.stdin.buffer.read().decode("utf-8", "replace"), path="stdin")


def _names(requests: Sequence[Request]) -> str:
    names = [request.name or str(number) for number, request in enumerate(requests, start=1)]
    return ", ".join(names[:_SHOWN_NAMES]) + (", …" if len(names) > _SHOWN_NAMES else "")
