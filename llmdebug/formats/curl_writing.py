"""A request as a curl command that sends it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable

from llmdebug.http.exchange import Request, header

LARGEST_ARGUMENT = 100_000
"""Bytes of a body that goes on the command line; Linux takes 128 KiB a word."""
_ADDED_WHEN_SENT = frozenset({"content-length", "transfer-encoding"})
_SECRET = re.compile(r"\{\{secret:([A-Za-z_]\w*)\}\}")

Beside = Callable[[bytes], str]
"""Puts a body into a file and gives its name."""


def curl_command(request: Request, *, beside: Beside | None = None) -> str:
    """A command that sends this request; `{{secret:NAME}}` becomes the shell variable NAME.

    A body that is no text or too large for a command line goes into a file by `beside`. Without that, a large one
    goes into a here-document, which ends it with a line feed, and one that is no text is left out and said so.
    """
    body, here = _body(request, beside)
    parts = ["curl -sS"]
    if request.method != ("POST" if body else "GET"):
        parts[0] += " -I" if request.method == "HEAD" and not body else f" -X {shlex.quote(request.method)}"
    if re.search(r"/\.", request.url):
        parts[0] += " --path-as-is"
    if re.search(r"[\[\]{}]", _SECRET.sub("", request.url)):
        parts[0] += " -g"
    parts[0] += f" {_word(request.url)}"
    parts += [_header(name, value) for name, value in request.headers if _is_written(name, value, request)]
    if body and header(request.headers, "Content-Type") is None:
        parts.append("-H 'Content-Type:'")
    return " \\\n  ".join([*parts, *([body] if body else [])]) + here


def _is_written(name: str, value: str, request: Request) -> bool:
    place = request.url.partition("://")[2].partition("/")[0].rpartition("@")[2]
    return name.lower() not in _ADDED_WHEN_SENT and not (name.lower() == "host" and value == place)


def _header(name: str, value: str) -> str:
    return f"-H {_word(f'{name}: {value}' if value else f'{name};')}"


def _body(request: Request, beside: Beside | None) -> tuple[str, str]:
    """The option that sends the body, and what follows the command."""
    body = request.body
    if not body:
        return ("--data-raw ''", "") if request.method in ("POST", "PUT", "PATCH") else ("", "")
    try:
        text = None if b"\0" in body else body.decode("utf-8")
    except UnicodeDecodeError:
        text = None
    if text is not None and len(body) <= LARGEST_ARGUMENT:
        return f"--data-raw {_word(text)}", ""
    if beside is not None:
        return f"--data-binary {shlex.quote('@' + beside(body))}", ""
    if text is None:
        return "--data-binary @body.bin  # the body is no text", ""
    end = "END_OF_BODY"
    while end in text:
        end += "_"
    return "--data-binary @-", f" <<'{end}'\n{text}\n{end}"


def _word(text: str) -> str:
    """Quoted for a shell, secrets outside of the quotes."""
    pieces = _SECRET.split(text)
    if len(pieces) == 1:
        return shlex.quote(text)
    quoted = (f'"${{{piece}}}"' if at % 2 else shlex.quote(piece) if piece else "" for at, piece in enumerate(pieces))
    return "".join(quoted)
