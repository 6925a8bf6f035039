"""Base URLs that carry a path: `https://gw/team/llm/v1` and the route `/v1/chat/completions` behind it."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_ABSOLUTE = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


def is_absolute(url: str) -> bool:
    """Whether a URL names its scheme and host."""
    return _ABSOLUTE.match(url) is not None


def join(base: str, route: str) -> str:
    """The URL of a route behind a base; segments that end the base and begin the route stand once.

    `https://gw/team/llm/v1` with `/v1/chat/completions` gives `https://gw/team/llm/v1/chat/completions`.
    A base's query stays, before the route's own. An absolute route is returned as it is.
    """
    if is_absolute(route):
        return route
    address, _, base_query = base.partition("#")[0].partition("?")
    path, _, query = route.partition("?")
    origin, base_segments = _split_path(address)
    segments = path.lstrip("/").split("/") if path.strip("/") else []
    shared = _overlap(base_segments, segments)
    joined = "/".join([*base_segments, *segments[shared:]])
    queries = "&".join(part for part in (base_query, query) if part)
    slash = "/" if path.endswith("/") and joined and not joined.endswith("/") else ""
    return f"{origin}/{joined}{slash}" + (f"?{queries}" if queries else "")


def redirected(url: str, base_url: str) -> str:
    """A URL's path and query behind another base; segments that both name stand once."""
    base = base_url.rstrip("/")
    if url.startswith((base + "/", base + "?")):
        rest = url[len(base) :]
    else:
        _, _, rest = url.partition("://")[2].partition("/")
        rest = "/" + rest
    return join(base_url, rest)


def split(url: str, base: str | None = None) -> tuple[str, str]:
    """A URL as its base and the route path behind it, without query.

    With a `base` that the URL lies under, the route keeps the segments that join() would have folded:
    the longest reading, `/v1/chat/completions` behind `https://gw/team/llm/v1`. Without one, and where the
    host is none that can be, the base is scheme and host, and the route is the whole path.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        place, segments = _split_path(url.partition("#")[0].partition("?")[0])
        return place, "/" + "/".join(segments)
    origin = f"{parts.scheme}://{parts.netloc}"
    path = parts.path or "/"
    if base is not None:
        base_origin, base_segments = _split_path(base.partition("#")[0].partition("?")[0])
        prefix = "/" + "/".join(base_segments) if base_segments else ""
        if _same_origin(base_origin, origin) and (path == prefix or path.startswith(prefix + "/")):
            version = _version_tail(base_segments)
            route = path[len(prefix) :]
            return base, f"/{'/'.join(version)}{route}" if version else route or "/"
    return origin, path


def root_of(base: str) -> str:
    """A base without the version that ends it and without query: what a server's own routes stand behind."""
    origin, segments = _split_path(base.partition("#")[0].partition("?")[0])
    kept = segments[: len(segments) - len(_version_tail(segments))]
    return "/".join([origin, *kept])


def route_candidates(path: str) -> tuple[str, ...]:
    """A path and its suffixes at segment borders, longest first: what a server behind a gateway may see."""
    segments = path.strip("/").split("/")
    tail = "/" if path.endswith("/") and path != "/" else ""
    return tuple("/" + "/".join(segments[start:]) + tail for start in range(len(segments)))


def _split_path(address: str) -> tuple[str, list[str]]:
    match = _ABSOLUTE.match(address)
    start = match.end() if match else 0
    slash = address.find("/", start)
    if slash == -1:
        return address, []
    return address[:slash], address[slash:].rstrip("/").split("/")[1:]


def _overlap(base: list[str], route: list[str]) -> int:
    """How many of the route's first segments are also the base's last ones; the longest counts."""
    for size in range(min(len(base), len(route)), 0, -1):
        if base[-size:] == route[:size]:
            return size
    return 0


def _version_tail(segments: list[str]) -> list[str]:
    """The version that ends a base, `v1`: servers register their routes with it."""
    return segments[-1:] if segments and re.fullmatch(r"v\d+(?:(?:alpha|beta)\d*)?", segments[-1]) else []


def _same_origin(one: str, other: str) -> bool:
    return one.lower() == other.lower()
