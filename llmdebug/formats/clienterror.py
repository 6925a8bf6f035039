"""The text of a refusal as people paste it: a client library's exception, `curl -i`, or the bare body.

Gives the response that is behind it, as far as the text tells. A Python literal, which is how client
libraries print a JSON body, becomes JSON again.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from typing import Any

from llmdebug.http.exchange import Headers, Response
from llmdebug.jsontext.parse import JsonError, parse_json
from llmdebug.jsontext.scan import depth_exceeds

_MAX_LITERAL = 1_000_000
_MAX_LITERAL_DEPTH = 90
"""Python's own parser gives up at about 100 open brackets."""
_MAX_BRACES_TRIED = 20

_STATUS_LINE = re.compile(r"(?:< )?HTTP/(\d(?:\.\d)?)[ \t]+(\d{3})(?:[ \t]+([^\r\n]*))?")
_ERROR_CODE = re.compile(r"Error code: (\d{3})(?: - )?")
_HTTPX = re.compile(
    r"(?:Client error|Server error|Redirect response|Informational response) '(\d{3}) ?([^'\n]*)' for url '[^'\n]*'"
)
_REQUESTS = re.compile(r"\b(\d{3}) (?:Client|Server) Error: (.*?) for url: \S+")
_HTTPX_ADVICE = re.compile(r"\s*For more information check: \S+")
_EXCEPTION = re.compile(r"(?:^|\s)(?:[A-Za-z_][\w]*\.)*([A-Za-z_]\w*(?:Error|Exception)): ")
_STATUS_OF_EXCEPTION = {
    "BadRequestError": 400,
    "AuthenticationError": 401,
    "PermissionDeniedError": 403,
    "NotFoundError": 404,
    "ConflictError": 409,
    "UnprocessableEntityError": 422,
    "RateLimitError": 429,
    "InternalServerError": 500,
    "ServiceUnavailableError": 503,
}
"""As the client libraries of the OpenAI API name them."""


def read_client_error(text: str) -> Response:
    """The response behind a text; status 0 where it tells none. A text nobody foresaw is the body itself."""
    stripped = text.strip().removeprefix("\ufeff")
    return (
        _printed_response(stripped)
        or _whole_body(stripped)
        or _error_code(stripped)
        or _status_exception(stripped)
        or _named_exception(stripped)
        or _response(0, stripped.encode("utf-8", "surrogatepass"))
    )


def _printed_response(text: str) -> Response | None:
    """`curl -i` and `curl -v`: the last status line counts, those before are of a proxy or a 100."""
    lines = text.replace("\r\n", "\n").split("\n")
    starts = [number for number, line in enumerate(lines) if _STATUS_LINE.fullmatch(line)]
    verbose = [number for number in starts if lines[number].startswith("< ")]
    if not verbose and starts[:1] != [0]:
        return None
    start = verbose[-1] if verbose else _last_head(lines)
    match = _STATUS_LINE.fullmatch(lines[start])
    if match is None:
        return None
    headers: list[tuple[str, str]] = []
    at = start + 1
    for at in range(start + 1, len(lines) + 1):
        line = lines[at].removeprefix("< ").rstrip("<") if at < len(lines) else ""
        name, colon, value = line.partition(":")
        if not colon or " " in name:
            break
        headers.append((name, value.strip()))
    body = [line for line in lines[at:] if not (verbose and line.startswith(("* ", "{ [", "< ", "} [")))]
    return Response(
        status=int(match[2]),
        reason=(match[3] or "").strip(),
        http_version=f"HTTP/{match[1]}",
        headers=tuple(headers),
        body="\n".join(body).strip("\n").removeprefix("<\n").encode("utf-8", "surrogatepass"),
    )


def _last_head(lines: list[str]) -> int:
    """Heads follow each other, each with a blank line: the last before the body is the answer's."""
    start = at = 0
    while at < len(lines) and _STATUS_LINE.fullmatch(lines[at]):
        start = at
        while at < len(lines) and lines[at].strip():
            at += 1
        at += 1
    return start


def _whole_body(text: str) -> Response | None:
    if not text.startswith(("{", "[", "b'", 'b"')):
        return None
    found = _body_of(text)
    return None if found is None else _response(_stated_status(found), found)


def _error_code(text: str) -> Response | None:
    match = _last(_ERROR_CODE, text)
    if match is None:
        return None
    rest = text[match.end() :].strip()
    return _response(int(match[1]), _first_body(rest) or rest.encode("utf-8", "surrogatepass"))


def _status_exception(text: str) -> Response | None:
    """raise_for_status() of httpx and requests: it tells the status, and nothing of the body."""
    match = _last(_HTTPX, text) or _last(_REQUESTS, text)
    if match is None:
        return None
    rest = _HTTPX_ADVICE.sub("", text[match.end() :]).strip()
    body = _first_body(rest) or rest.encode("utf-8", "surrogatepass")
    return _response(int(match[1]), body, reason=match[2].strip())


def _named_exception(text: str) -> Response | None:
    """An exception's class tells the status, where it is one that client libraries share."""
    names = [match[1] for match in _EXCEPTION.finditer(text)]
    last = _last(_EXCEPTION, text)
    if last is None:
        return None
    rest = text[last.end() :].strip()
    body = _first_body(rest) or rest.encode("utf-8", "surrogatepass")
    named = next((_STATUS_OF_EXCEPTION[name] for name in names if name in _STATUS_OF_EXCEPTION), 0)
    return _response(_stated_status(body) or named, body)


def _first_body(text: str) -> bytes | None:
    """The first JSON value or Python literal that begins with a bracket somewhere in a text."""
    for match in list(re.finditer(r"[{\[]", text))[:_MAX_BRACES_TRIED]:
        rest = text[match.start() :]
        end = _balanced_end(rest)
        if end is None:
            continue
        found = _body_of(rest[:end])
        if found is not None:
            return found
    return None


def _balanced_end(text: str) -> int | None:
    """Where the bracket that a text begins with is closed, strings in either quote passed over."""
    depth = 0
    for match in re.finditer(
        r"""'[^'\\]*+(?:\\.[^'\\]*+)*+'|"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[{(]|[\]})]""", text, re.DOTALL
    ):
        token = match[0]
        if token in ("[", "{", "("):
            depth += 1
        elif token in ("]", "}", ")"):
            depth -= 1
            if depth == 0:
                return match.end()
    return None


def _body_of(text: str) -> bytes | None:
    """A JSON text as it is; a Python literal as JSON; None for anything else."""
    try:
        parse_json(text)
        return text.encode("utf-8", "surrogatepass")
    except JsonError:
        pass
    value = _literal(text)
    if isinstance(value, bytes):
        return value
    if not isinstance(value, dict | list | tuple):
        return None
    try:
        return json.dumps(value, ensure_ascii=False, default=repr).encode("utf-8", "surrogatepass")
    except (TypeError, ValueError, RecursionError):
        return None


def _literal(text: str) -> Any:
    """The value of a Python literal; None for anything else, and for what is too large to try."""
    if len(text) > _MAX_LITERAL or depth_exceeds(text, _MAX_LITERAL_DEPTH) is not None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _stated_status(body: bytes) -> int:
    """The status that a JSON body states of itself; 0 where it states none."""
    try:
        value = parse_json(body).value
    except JsonError:
        return 0
    for holder in (value, value.get("error") if isinstance(value, dict) else None):
        if not isinstance(holder, dict):
            continue
        for name in ("code", "status", "status_code"):
            stated = holder.get(name)
            if isinstance(stated, int) and 400 <= stated <= 599:
                return stated
    return 0


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    found = None
    for match in pattern.finditer(text):
        found = match
    return found


def _response(status: int, body: bytes, *, reason: str = "") -> Response:
    headers: Headers = ()
    return Response(status=status, reason=reason, headers=headers, body=body)
