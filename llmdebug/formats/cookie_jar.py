"""Cookies of a file for `curl -b FILE`: the lines of Netscape's browser, and which of them a request carries."""

from __future__ import annotations

import ipaddress
import re
from typing import NamedTuple

from llmdebug.formats.curl_options import OptionError

_HTTP_ONLY = "#HttpOnly_"
_FIELDS = 6
"""Domain, subdomains too, path, TLS only, expiry, name; the value behind them may be missing."""
_ADDRESS = re.compile(r"(https?)://(?:[^/?#@]*@)?(\[[^\]/?#]*\]|[^:/?#]*)(?::\d*)?([^?#]*)", re.IGNORECASE)


class Cookie(NamedTuple):
    """A line of the file."""

    domain: str
    with_subdomains: bool
    path: str
    only_tls: bool
    expires: int
    """Unix time; 0 for the end of the session."""
    name: str
    value: str


def read_jar(text: str, line: int) -> list[Cookie]:
    """What the option at `line` reads. Raises OptionError for answers with Set-Cookie, which curl takes as well."""
    found: dict[tuple[str, str, str], Cookie] = {}
    for written in text.splitlines():
        if written.lower().startswith("set-cookie:"):
            told = "The cookies of a file with Set-Cookie lines are not followed here: write them as -b 'name=value'"
            raise OptionError(told, line)
        cookie = _cookie(written)
        if cookie is not None:
            key = (cookie.domain, cookie.path, cookie.name)
            found.pop(key, None)
            found[key] = cookie
    return list(found.values())


def _cookie(written: str) -> Cookie | None:
    """None for a comment, and for a line that is none."""
    plain = written.removeprefix(_HTTP_ONLY)
    fields = plain.split("\t")
    if plain.startswith("#") or len(fields) not in (_FIELDS, _FIELDS + 1):
        return None
    domain, subdomains, path, only_tls, expires, name, value = (*fields, "")[: _FIELDS + 1]
    if not (expires.isascii() and expires.isdecimal() and len(expires) < 20):
        return None
    return Cookie(
        domain=domain.removeprefix(".").lower(),
        with_subdomains=subdomains.upper() == "TRUE",
        path=path,
        only_tls=only_tls.upper() == "TRUE",
        expires=int(expires),
        name=name,
        value=value,
    )


def cookies_for(url: str, jar: list[Cookie], *, now: float, without_session: bool) -> list[str]:
    """`name=value` of those that curl sends there, in its order: the longest path first, of equals the latest."""
    match = _ADDRESS.match(url)
    if match is None:
        return []
    host, path = match[2].strip("[]").lower(), match[3] or "/"
    is_safe = match[1].lower() == "https" or host in ("localhost", "127.0.0.1", "::1")
    sent = [
        cookie
        for cookie in reversed(jar)
        if _is_of_host(cookie, host)
        and _is_of_path(cookie.path, path)
        and (is_safe or not cookie.only_tls)
        and (cookie.expires > now or (not cookie.expires and not without_session))
    ]
    sent.sort(key=lambda cookie: (len(cookie.path), len(cookie.domain), len(cookie.name)), reverse=True)
    return [f"{cookie.name}={cookie.value}" for cookie in sent]


def _is_of_host(cookie: Cookie, host: str) -> bool:
    if cookie.domain == host:
        return True
    return cookie.with_subdomains and not _is_address(host) and host.endswith("." + cookie.domain)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _is_of_path(of_cookie: str, path: str) -> bool:
    whole = of_cookie.rstrip("/")
    return path == whole or path.startswith(whole + "/")
