"""A request as the text people edit: request line, headers, a blank line, the body. And back."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import msgspec

from llmdebug.http.baseurl import is_absolute, join
from llmdebug.http.exchange import Request

MAX_EDITED_BYTES = 200_000
"""Larger bodies are not opened in the app's editor."""

_REQUEST_LINE = re.compile(r"(?P<method>[A-Za-z-]+)[ \t]+(?P<url>\S+)(?:[ \t]+HTTP/[\d.]+)?[ \t]*")
_NAME = re.compile(r"[!#$%&'*+.^_`|~\w-]+")


class RequestTextError(ValueError):
    """A text is no request; `line` is from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def shown_url(url: str, base_url: str | None) -> str:
    """A URL as it is shown: the path alone where it lies at the base URL's server."""
    if base_url and _origin(url) == _origin(base_url):
        parts = urlsplit(url)
        return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return url


def full_url(written: str, base_url: str | None) -> str:
    """The URL that is meant; raises ValueError where it cannot be told."""
    if is_absolute(written):
        return written
    if not written.startswith("/"):
        return f"http://{written}"
    if not base_url:
        raise ValueError("a path alone names no server: write the whole URL")
    origin = _origin(base_url)
    prefix = urlsplit(base_url).path.rstrip("/")
    return origin + written if prefix and written.startswith(prefix + "/") else join(base_url, written)


def _origin(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    return f"{parts.scheme}://{parts.netloc}".lower()


def head_text(request: Request, base_url: str | None) -> str:
    """The request line and the headers, with the blank line behind them."""
    lines = [f"{request.method} {shown_url(request.url, base_url)}"]
    lines += [f"{name}: {value}" for name, value in request.headers]
    return "\n".join([*lines, "", ""])


def request_text(request: Request, base_url: str | None, body: str) -> str:
    """The whole text, with the body as the caller formats it."""
    return head_text(request, base_url) + body


def parse_request(text: str, original: Request, base_url: str | None) -> Request:
    """The request that a text describes; its name stays. Raises RequestTextError."""
    head, _, body = text.replace("\r\n", "\n").partition("\n\n")
    first, *rest = head.split("\n")
    match = _REQUEST_LINE.fullmatch(first.strip())
    if match is None:
        raise RequestTextError("The first line is METHOD and URL, such as POST /v1/completions.", 1)
    try:
        url = full_url(match["url"], base_url)
    except ValueError as error:
        raise RequestTextError(f"{match['url']}: {error}.", 1) from None
    headers: list[tuple[str, str]] = []
    for number, line in enumerate(rest, start=2):
        name, colon, value = line.partition(":")
        if not line.strip():
            continue
        if not colon or not _NAME.fullmatch(name.strip()):
            raise RequestTextError("A header is 'Name: value'; a blank line ends the headers.", number)
        headers.append((name.strip(), value.strip()))
    return msgspec.structs.replace(
        original, method=match["method"].upper(), url=url, headers=tuple(headers), body=_body(body, original)
    )


def _body(text: str, original: Request) -> bytes:
    """The body's bytes; an untouched one keeps the bytes it had."""
    data = text.rstrip("\n").encode("utf-8", "surrogatepass")
    return original.body if data == original.body.rstrip(b"\n") else data


def body_line(text: str) -> int:
    """The line, from 1, on which the body begins."""
    head, blank, _ = text.partition("\n\n")
    return head.count("\n") + 3 if blank else head.count("\n") + 2
