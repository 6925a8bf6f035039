"""Requests written as `.http` files that read back as the same requests.

A body that the format cannot hold (bytes that are no text, lines that would be read as something else,
braces that would be read as variables) goes into a file of its own beside, and is included.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from llmdebug.formats.errors import FormatError
from llmdebug.http.exchange import Request, header
from llmdebug.http.secrets import redact

_READ_OTHERWISE = re.compile(r"^(?:###|[<>][ \t@!>]|<>)|\{\{(?!secret:)|\r", re.MULTILINE)
_ADDED_WHEN_SENT = frozenset({"content-length", "transfer-encoding"})


def append_http_file(path: str | Path, request: Request, *, keep_secrets: bool = False) -> None:
    """Adds a request at the file's end; a new file is for the user alone.

    Secrets become placeholders unless they are to be kept. Raises FormatError.
    """
    file = Path(path)
    written = request if keep_secrets else redact(request)[0]
    try:
        begun = file.exists() and file.stat().st_size > 0
        text = request_text(written, lambda body: body_beside(body, file))
        _append(file, ("\n\n" if begun else "") + text)
    except OSError as error:
        raise FormatError(path, f"The request cannot be saved: {error.strerror}.") from error


def _append(file: Path, text: str) -> None:
    number = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with os.fdopen(number, "w", encoding="utf-8", errors="surrogatepass", newline="") as opened:
        opened.write(text)


def request_text(request: Request, beside: Callable[[bytes], str]) -> str:
    """A request as it stands in a file; `beside` puts a body that cannot stand there into one of its own."""
    lines = [f"### {request.name}".rstrip(), f"{request.method} {request.url}"]
    host = request.url.partition("://")[2].partition("/")[0].rpartition("@")[2]
    for name, value in request.headers:
        if name.lower() in _ADDED_WHEN_SENT or (name.lower() == "host" and value == host):
            continue
        lines.append(f"{name}: {value}")
    if request.body:
        lines += ["", _body_text(request, beside)]
    return "\n".join(lines) + "\n"


def _body_text(request: Request, beside: Callable[[bytes], str]) -> str:
    try:
        text = request.body.decode("utf-8")
    except UnicodeDecodeError:
        return f"< ./{beside(request.body)}"
    form = (header(request.headers, "Content-Type") or "").lower().startswith("application/x-www-form")
    outer = text.split("\n")
    blank_edge = not outer[0].strip() or not outer[-1].strip()
    if blank_edge or _READ_OTHERWISE.search(text) or (form and re.search(r"\s", text)):
        return f"< ./{beside(request.body)}"
    return text


def body_beside(body: bytes, file: Path) -> str:
    """Writes a body into a new file beside `file`, for the user alone, and gives its name."""
    for number in range(1, 10_000):
        name = f"{file.stem}-{number}.body"
        try:
            opened = os.open(file.parent / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            continue
        with os.fdopen(opened, "wb") as written:
            written.write(body)
        return name
    raise FormatError(file, "There are too many bodies beside this file.")
