"""The request that FILE[#name] names, sent to where the user wants it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from llmdebug.cli.guard import CommandError
from llmdebug.debugger.aim import Aim, withheld
from llmdebug.formats.errors import FormatError
from llmdebug.formats.http_file import HttpFile, parse_http_text, read_http_file, split_selector
from llmdebug.formats.http_server import requests_of, with_server
from llmdebug.http.baseurl import redirected
from llmdebug.http.exchange import Request
from llmdebug.http.keys import told_withheld, without_keys

if TYPE_CHECKING:
    from llmdebug.formats.exchanges import Exchanges

_SHOWN_NAMES = 12


def read_request(
    reference: str,
    *,
    base_url: str | None = None,
    default_base_url: str | None = None,
    variables: Mapping[str, str],
    send_secrets: bool = False,
) -> tuple[Request, tuple[str, ...]]:
    """The request, and the warnings of its file. Raises FormatError, and CommandError for one that cannot be sent.

    `base_url` is where the request goes, whatever its file says; `default_base_url` serves only where the
    file names no server. Keys that the file wrote for another host go along only with `send_secrets`.
    """
    found, warnings = read_requests(
        reference,
        base_url=base_url,
        default_base_url=default_base_url,
        variables=variables,
        send_secrets=send_secrets,
    )
    if len(found) > 1:
        path, _ = split_selector(reference)
        told = f"It holds {len(found)} requests, name one of them: {path}#NAME ({_names(found)})."
        raise FormatError(path, told)
    return found[0], warnings


def read_requests(
    reference: str,
    *,
    base_url: str | None = None,
    default_base_url: str | None = None,
    variables: Mapping[str, str],
    send_secrets: bool = False,
) -> tuple[tuple[Request, ...], tuple[str, ...]]:
    """As read_request(), but where none is named all requests of the file, of which there is at least one."""
    path, name = split_selector(reference)
    others = _of_other_formats(path, base_url, default_base_url, variables)
    if others is not None:
        chosen, warnings = _chosen(others, path, name)
    else:
        file = with_server(_opened(path), base_url, default_base_url, variables)
        chosen, warnings = requests_of(file, name, send_secrets=send_secrets)
    if not chosen:
        raise FormatError(path, "There is no request in it.")
    aim = Aim(base_url=base_url or "", send_secrets=send_secrets)
    left_out = tuple(dict.fromkeys(name for request in chosen for name in withheld(request, aim)))
    told = (told_withheld(left_out, base_url or ""),) if left_out else ()
    return tuple(_sent_to(request, aim) for request in chosen), (*warnings, *told)


def _chosen(others: Exchanges, path: str, name: str | None) -> tuple[list[Request], tuple[str, ...]]:
    """The requests of a file that is no .http file. Raises FormatError, CommandError."""
    found = [others.exchange(number).request for number in range(len(others))]
    numbers = range(len(found)) if name is None else [_numbered(path, found, name)]
    for problem in filter(None, map(others.problem, numbers)):
        raise CommandError(problem)
    return [found[number] for number in numbers], () if name else others.warnings


def _of_other_formats(
    path: str, base_url: str | None, default_base_url: str | None, variables: Mapping[str, str]
) -> Exchanges | None:
    """The requests of a file that is no .http file; None for one that is, or for standard input."""
    from llmdebug.formats.loading import format_of, open_exchanges

    if path == "-" or not Path(path).is_file() or format_of(path) == "http":
        return None
    return open_exchanges(path, base_url=base_url, default_base_url=default_base_url, variables=variables)


def _numbered(path: str, requests: Sequence[Request], name: str) -> int:
    """A request's place, by its name, else by its number from 1."""
    for number, request in enumerate(requests):
        if name in (request.name, str(number + 1)):
            return number
    raise FormatError(path, f"No request in it is named {name!r}; there are: {_names(requests)}.")


def _sent_to(request: Request, aim: Aim) -> Request:
    """As it stands in its file, but for where it goes and the keys that stay behind."""
    if not aim.base_url:
        return request
    kept = without_keys(request)[0] if withheld(request, aim) else request
    return msgspec.structs.replace(kept, url=redirected(kept.url, aim.base_url))


def _opened(path: str) -> HttpFile:
    if path != "-":
        return read_http_file(path)
    return parse_http_text(sys.stdin.buffer.read().decode("utf-8", "replace"), path="stdin")


def _names(requests: Sequence[Request]) -> str:
    names = [request.name or str(number) for number, request in enumerate(requests, start=1)]
    return ", ".join(names[:_SHOWN_NAMES]) + (", …" if len(names) > _SHOWN_NAMES else "")
