"""Batches of the OpenAI API: an input file of requests, and files of answers, joined by `custom_id`.

An input line holds a route, not an address: it needs a base URL, and gets the one of the API itself where
none is given. What a batch cannot hold: another method than POST, a body that is no JSON object, headers, times,
and of a failure anything but its sentence.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from llmdebug.formats.errors import FormatError
from llmdebug.formats.exchanges import Loaded, listed
from llmdebug.http.baseurl import is_absolute, join, route_candidates, split
from llmdebug.http.exchange import Exchange, Failure, Request, Response
from llmdebug.jsontext.parse import JsonError, parse_json

BASE_URL = "https://api.openai.com"
"""Where batches go."""
_JSON = (("Content-Type", "application/json"),)
_ROUTES = ("/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/responses", "/v1/moderations")


def is_batch(head: bytes) -> bool:
    """Whether a file begins as an input or an answer of a batch."""
    line = head.lstrip(b"\xef\xbb\xbf \t\r\n").partition(b"\n")[0]
    try:
        found = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return line.startswith(b'{"custom_id"')
    return isinstance(found, dict) and isinstance(found.get("custom_id"), str)


def read_batch(
    data: bytes, *, path: str = "", base_url: str | None = None, answers: Mapping[str, bytes] | None = None
) -> Loaded:
    """The requests of an input file, with the answers of the files `answers`, by path.

    Raises FormatError for answers that cannot be read or belong nowhere, and where no line is a request.
    """
    joined: dict[str, Exchange] = {}
    for answer_path, answer_data in (answers or {}).items():
        for line in _lines(answer_data, answer_path):
            if isinstance(line, FormatError):
                raise line
            number, value = line
            joined[_custom_id(value, answer_path, number)] = _answer(value, answer_path, number)
    loaded = listed(_each(data, path, base_url or BASE_URL, joined), path, "batch")
    if joined:
        told = (
            f"{len(joined)} answers belong to no request of {path or 'the input'}, the first to {next(iter(joined))!r}."
        )
        raise FormatError(next(iter(answers or {})), told)
    return loaded


def _each(data: bytes, path: str, base_url: str, joined: dict[str, Exchange]) -> Iterator[Exchange | FormatError]:
    """Line by line; the answers that were joined are taken out of `joined`."""
    seen: dict[str, int] = {}
    for line in _lines(data, path):
        try:
            if isinstance(line, FormatError):
                raise line
            number, value = line
            name = _custom_id(value, path, number)
            answered = joined.pop(name, None)
            request = _request(value, name, base_url, path, number)
            if name in seen:
                raise FormatError(path, f"The custom_id {name!r} stands in line {seen[name]} already.", line=number)
        except FormatError as error:
            yield error
            continue
        seen[name] = number
        yield Exchange(request=request) if answered is None else msgspec.structs.replace(answered, request=request)


def write_batch(exchanges: Iterable[Exchange]) -> Iterator[tuple[bytes, bytes]]:
    """For each exchange its line of the input file and that of the answers'; the latter is empty without an answer.

    Raises FormatError, with the entry's number, for a request that no batch can hold.
    """
    used: set[str] = set()
    for number, exchange in enumerate(exchanges, start=1):
        name = exchange.request.name or f"request-{number}"
        while name in used:
            name += f"-{number}"
        used.add(name)
        yield _written_request(exchange.request, name, number), _written_answer(exchange, name, number)


def _lines(data: bytes, path: str) -> Iterator[tuple[int, dict[str, Any]] | FormatError]:
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip(b"\xef\xbb\xbf \t\r"):
            continue
        try:
            value = parse_json(line.removeprefix(b"\xef\xbb\xbf")).value
        except JsonError as error:
            yield FormatError(path, f"This line is no JSON: {error.message}", line=number)
            continue
        if isinstance(value, dict):
            yield number, value
        else:
            yield FormatError(path, "This line is no JSON object.", line=number)


def _custom_id(value: dict[str, Any], path: str, number: int) -> str:
    name = value.get("custom_id")
    if not isinstance(name, str) or not name:
        raise FormatError(path, "This line has no custom_id.", line=number)
    return name


def _request(value: dict[str, Any], name: str, base_url: str, path: str, number: int) -> Request:
    url, body, method = value.get("url"), value.get("body"), value.get("method", "POST")
    if "response" in value or "error" in value:
        told = "This line is an answer of a batch: give the input file, and this one beside it with --answers."
        raise FormatError(path, told, line=number)
    if not isinstance(url, str) or (not url.startswith("/") and not is_absolute(url)):
        raise FormatError(path, "This line has no url that begins with '/'.", line=number)
    if not isinstance(body, dict):
        raise FormatError(path, "This line has no body that is a JSON object.", line=number)
    if not isinstance(method, str) or not method:
        raise FormatError(path, "The method of this line is no text.", line=number)
    return Request(method=method.upper(), url=join(base_url, url), headers=_JSON, body=_bytes(body), name=name)


def _answer(value: dict[str, Any], path: str, number: int) -> Exchange:
    """Its request is a stand-in."""
    stand_in = Request(method="POST", url="")
    response, error = value.get("response"), value.get("error")
    if isinstance(response, dict):
        status = response.get("status_code", 200)
        if isinstance(status, bool) or not isinstance(status, int) or not 100 <= status <= 999:
            raise FormatError(path, "The status_code of this line is none that HTTP has.", line=number)
        request_id = response.get("request_id")
        headers = (*_JSON, ("X-Request-Id", request_id)) if isinstance(request_id, str) and request_id else _JSON
        body = response.get("body")
        text = b"" if body is None else _bytes(body)
        return Exchange(request=stand_in, response=Response(status=status, headers=headers, body=text))
    told = error.get("message") if isinstance(error, dict) else None
    message = told if isinstance(told, str) and told else "The batch holds no answer to this request."
    return Exchange(request=stand_in, failure=Failure(kind="incomplete", message=message))


def _written_request(request: Request, name: str, number: int) -> bytes:
    body = _object(request.body)
    if request.method != "POST" or body is None:
        told = "is no POST" if request.method != "POST" else "has no body that is a JSON object"
        raise FormatError("", f"The request {told}: a batch cannot hold it.", entry=number)
    path = split(request.url)[1]
    route = next((one for one in route_candidates(path) if one in _ROUTES), path)
    return _line({"custom_id": name, "method": "POST", "url": route, "body": body})


def _written_answer(exchange: Exchange, name: str, number: int) -> bytes:
    response, failure = exchange.response, exchange.failure
    if response is None and failure is None:
        return b""
    line: dict[str, Any] = {"id": f"batch_req_{number}", "custom_id": name, "response": None, "error": None}
    if response is not None:
        known = next((value for key, value in response.headers if key.lower() == "x-request-id"), "")
        line["response"] = {"status_code": response.status, "request_id": known, "body": _value(response.body)}
    elif failure is not None:
        line["error"] = {"code": failure.kind, "message": failure.message}
    return _line(line)


def _object(body: bytes) -> dict[str, Any] | None:
    value = _value(body)
    return value if isinstance(value, dict) else None


def _value(body: bytes) -> Any:
    """A body that is no JSON becomes a text; none at all, null."""
    try:
        return parse_json(body).value if body else None
    except JsonError:
        return body.decode("utf-8", "replace")


def _bytes(value: Any) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(value).encode()


def _line(value: Any) -> bytes:
    return _bytes(value) + b"\n"
