"""Asking the server of a session what it is, with the session's credentials and connection but short times."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from llmdebug.families.load import load_families
from llmdebug.http.baseurl import is_absolute, join, root_of
from llmdebug.http.client import Client, ClientOptions
from llmdebug.http.exchange import Exchange, Request
from llmdebug.linking.probe import MAX_BODY, SECONDS, Server, probe


async def probe_server(
    base_url: str, options: ClientOptions | None, prepared: Callable[[Request], Request], families: Path | None
) -> tuple[Server, tuple[str, ...]]:
    """What the server is, and what is wrong with the user's own families."""
    known = load_families(families)
    quick = msgspec.structs.replace(
        options or ClientOptions(),
        connect_timeout_s=SECONDS,
        first_byte_timeout_s=SECONDS,
        total_timeout_s=SECONDS,
        max_body_bytes=MAX_BODY,
    )
    root = root_of(base_url)
    async with Client(quick) as client:

        async def ask(path: str) -> Exchange:
            url = path if is_absolute(path) else join(root, path)
            return await client.send(prepared(Request(method="GET", url=url)))

        return await probe(known.by_name.values(), ask), known.problems
