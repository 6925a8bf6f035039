"""The request that FILE[#name] names, sent to where the user wants it."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import msgspec

from llmdebug.formats.errors import FormatError
from llmdebug.formats.http_file import HttpFile, parse_http_text, read_http_file, split_selector
from llmdebug.http.baseurl import redirected
from llmdebug.http.exchange import Request

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
    """The request, and the warnings of its file. Raises FormatError.

    `base_url` is where the request goes, whatever its file says; `default_base_url` serves only where the
    file names no server.
    """
    path, name = split_selector(reference)
    file = _with_base(_opened(path), base_url, default_base_url, variables)
    if name is None and len(file) > 1:
        raise FormatError(path, f"It holds {len(file)} requests, name one of them: {path}#NAME ({_names(file)}).")
    return _sent_to(file.request(name), base_url), file.warnings


def read_requests(
    reference: str, *, base_url: str | None = None, default_base_url: str | None = None, variables: Mapping[str, str]
) -> tuple[tuple[Request, ...], tuple[str, ...]]:
    """As read_request(), but where none is named all requests of the file."""
    path, name = split_selector(reference)
    file = _with_base(_opened(path), base_url, default_base_url, variables)
    chosen = file.requests() if name is None else [file.request(name)]
    return tuple(_sent_to(request, base_url) for request in chosen), file.warnings


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


def _names(file: HttpFile) -> str:
    names = [name or str(number) for number, name in enumerate(file.names, start=1)]
    return ", ".join(names[:_SHOWN_NAMES]) + (", …" if len(names) > _SHOWN_NAMES else "")
