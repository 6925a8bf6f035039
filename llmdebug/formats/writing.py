"""Exchanges written in any of the formats, one in memory at a time; and what each format cannot hold."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from llmdebug.formats.answerreferences import references_in
from llmdebug.formats.batch import write_batch
from llmdebug.formats.curl_writing import curl_command
from llmdebug.formats.errors import FormatError
from llmdebug.formats.har_writing import har_pieces
from llmdebug.formats.http_writing import request_text
from llmdebug.formats.jsonlines import RecordError, RequestRecord, answer_record, encode_record, written_request
from llmdebug.formats.python_writing import httpx_script, openai_script
from llmdebug.http.exchange import Exchange, Request
from llmdebug.http.secrets import redact_exchange

Output = Literal["har", "jsonl", "http", "curl", "batch", "httpx", "openai"]

SUFFIXES: dict[str, Output] = {
    ".har": "har",
    ".jsonl": "jsonl",
    ".http": "http",
    ".rest": "http",
    ".sh": "curl",
    ".curl": "curl",
    ".py": "httpx",
}
FILLED_IN: frozenset[Output] = frozenset({"http", "jsonl"})
"""Those from which a replay fills in what stands for the values of earlier answers; to others it is text."""
REQUESTS_ONLY: frozenset[Output] = frozenset({"http", "curl", "httpx", "openai"})

LOSSES: dict[Output, str] = {
    "har": "HAR keeps no times of single events of a stream.",
    "jsonl": "",
    "http": "An .http file trims blanks around headers, and the body of a form.",
    "curl": "curl adds its own User-Agent.",
    "batch": "A batch keeps neither headers nor times nor addresses, and of a body its JSON value alone.",
    "httpx": "httpx writes a JSON body in its own spelling and adds its own User-Agent.",
    "openai": "The openai client adds its own headers, and its key where there is none.",
}
"""What a format cannot hold, told to the user; empty where it holds everything."""

Beside = Callable[[bytes], str]
"""Puts a body into a file of its own and gives its name."""


def without_secrets(exchanges: Iterable[Exchange]) -> Iterator[Exchange]:
    """Each secret as its placeholder, the same secret under the same name throughout."""
    known: dict[str, str] = {}
    for exchange in exchanges:
        clean, found = redact_exchange(exchange, known)
        known.update(found)
        yield clean


def pieces(exchanges: Iterable[Exchange], output: Output, *, beside: Beside | None = None) -> Iterator[bytes]:
    """The pieces of a file. Raises FormatError, with the entry's number, for what a format cannot hold at all.

    Of a batch, the file of its requests; its answers are written by batch_answers().
    """
    if output == "har":
        yield from har_pieces(exchanges)
    elif output == "jsonl":
        yield from _json_lines(exchanges)
    elif output == "batch":
        yield from (line for line, _ in write_batch(exchanges))
    else:
        for number, exchange in enumerate(exchanges, start=1):
            text = _request(exchange.request, number, output, beside)
            yield text.encode("utf-8", "backslashreplace" if output in ("httpx", "openai") else "surrogateescape")


def batch_answers(exchanges: Iterable[Exchange]) -> Iterator[bytes]:
    """The file of a batch's answers."""
    yield from (line for _, line in write_batch(exchanges) if line)


def _json_lines(exchanges: Iterable[Exchange]) -> Iterator[bytes]:
    for number, exchange in enumerate(exchanges, start=1):
        name, request = uuid.uuid4().hex, written_request(exchange.request)
        at = exchange.timing.started_at if exchange.timing is not None else time.time()
        try:
            yield encode_record(RequestRecord(id=name, at=at, request=request))
            if exchange.response is not None or exchange.failure is not None:
                yield encode_record(answer_record(name, exchange, request))
        except RecordError as error:
            raise FormatError("", f"This cannot be written: {error}.", entry=number) from error


def _request(request: Request, number: int, output: Output, beside: Beside | None) -> str:
    gap = "\n" if number > 1 else ""
    if output == "http":
        return gap + request_text(request, beside or _nowhere(number))
    title = f"# {_one_line(request.name)}\n" if request.name else ""
    title += "".join(f"# Fill in what an earlier answer gives: {told}\n" for told in references_in(request))
    if output == "curl":
        return gap + title + curl_command(request, beside=beside) + "\n"
    return gap + title + (httpx_script(request) if output == "httpx" else openai_script(request))


def _nowhere(number: int) -> Beside:
    def beside(body: bytes) -> str:
        raise FormatError("", "The body needs a file of its own: write to a file instead of stdout.", entry=number)

    return beside


def _one_line(text: str) -> str:
    return " ".join(text.split())
