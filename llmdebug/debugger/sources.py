"""Which sources were last linked to which server, remembered from one start to the next.

A convenience: where its file cannot be read, nothing is remembered.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from llmdebug.http.secrets import redact_url
from llmdebug.recording.folder import HistoryError, state_folder, write_privately

FILE_NAME = "sources.json"
MAX_SERVERS = 200
MAX_BYTES = 1_000_000


def remembered(url: str) -> tuple[str, ...]:
    """The sources of the nearest base URL that `url` lies under; none where nothing is known of it."""
    address = _key(url) + "/"
    known = _read()
    under = [base for base in known if address.startswith(base + "/")]
    return known[max(under, key=len)] if under else ()


def remember(base_url: str, sources: Sequence[str]) -> None:
    """Links these sources to a server from now on. Raises HistoryError where that cannot be kept."""
    key = _key(base_url)
    found = tuple(sources)
    known = _read()
    if [*known.items()][-1:] == [(key, found)]:
        return
    known.pop(key, None)
    latest = dict([*known.items(), (key, found)][-MAX_SERVERS:])
    write_privately(state_folder() / FILE_NAME, msgspec.json.format(msgspec.json.encode(latest), indent=2) + b"\n")


def _key(url: str) -> str:
    """Scheme and host in lower case, and the path without its last slash; neither credentials nor query."""
    address = redact_url(url).partition("#")[0].partition("?")[0].rstrip("/")
    scheme, mark, rest = address.partition("://")
    place, slash, path = rest.partition("/")
    return f"{scheme.lower()}{mark}{place.rpartition('@')[2].lower()}{slash}{path}"


def _read() -> dict[str, tuple[str, ...]]:
    try:
        with open(state_folder() / FILE_NAME, "rb") as file:
            data = file.read(MAX_BYTES + 1)
        return msgspec.json.decode(data, type=dict[str, tuple[str, ...]])
    except (HistoryError, OSError, ValueError):
        return {}
