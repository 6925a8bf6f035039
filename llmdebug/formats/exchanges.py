"""Recorded exchanges as a list that is read piece by piece: what a row shows at once, the rest when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from llmdebug.formats.errors import FormatError
from llmdebug.http.exchange import Exchange, Failure, Request, Response
from llmdebug.http.wire import unsendable

Progress = Callable[[int, int], None]
"""Bytes read, of how many."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of an exchange without reading its bodies. Times are seconds."""

    method: str
    url: str
    name: str = ""
    status: int | None = None
    latency: float | None = None
    ttft: float | None = None
    started_at: float | None = None
    """Unix time."""
    failure: str = ""
    """The kind of the failure."""


class Stream(msgspec.Struct, frozen=True, kw_only=True):
    """The events of a stream, as far as a list is asked for them."""

    count: int = 0
    last: str | None = None
    """The last one's data."""


class Exchanges(Protocol):
    """A list of recorded exchanges, numbered from 0."""

    path: str
    format: str
    warnings: tuple[str, ...]
    """What could not be read, as sentences."""

    def __len__(self) -> int: ...

    def row(self, number: int) -> Row: ...

    def exchange(self, number: int) -> Exchange:
        """Of an entry that cannot be read a stand-in. Raises FormatError where the file has changed since."""

    def problem(self, number: int) -> str:
        """Why the entry cannot be sent, with its place in the file; empty where it can."""

    def request_text(self, number: int) -> str:
        """The request's body. Raises FormatError as exchange()."""

    def answer_text(self, number: int) -> str | None:
        """The answer's body; None where no answer came. Raises FormatError as exchange()."""

    def answer(self, number: int) -> Response | None:
        """The answer, a stream's events perhaps left out. Raises FormatError as exchange()."""

    def stream(self, number: int) -> Stream:
        """Of an answer that is none, and of no answer, without events. Raises FormatError as exchange()."""

    def note(self, number: int, name: str) -> Any:
        """A JSON value that was kept beside the exchange; None where there is none."""


class Loaded:
    """Exchanges that are all in memory: those of formats that are one document."""

    def __init__(
        self,
        exchanges: Sequence[Exchange],
        *,
        path: str = "",
        format: str = "",
        warnings: tuple[str, ...] = (),
        problems: Mapping[int, str] | None = None,
    ) -> None:
        self._exchanges = list(exchanges)
        self._problems = problems or {}
        self.path = path
        self.format = format
        self.warnings = warnings

    def __len__(self) -> int:
        return len(self._exchanges)

    def row(self, number: int) -> Row:
        return row_of(self._exchanges[number])

    def exchange(self, number: int) -> Exchange:
        return self._exchanges[number]

    def problem(self, number: int) -> str:
        return self._problems.get(number, "")

    def request_text(self, number: int) -> str:
        return self._exchanges[number].request.body.decode("utf-8", "replace")

    def answer_text(self, number: int) -> str | None:
        response = self._exchanges[number].response
        return None if response is None else response.body.decode("utf-8", "replace")

    def answer(self, number: int) -> Response | None:
        return self._exchanges[number].response

    def stream(self, number: int) -> Stream:
        return stream_of(self._exchanges[number].response)

    def note(self, number: int, name: str) -> Any:
        return None


def listed(
    found: Iterable[Exchange | FormatError], path: str, format: str, *, warnings: tuple[str, ...] = ()
) -> Loaded:
    """Entries of a file, those that cannot be read or sent with their problems. Raises the first where all are so."""
    exchanges: list[Exchange] = []
    problems: dict[int, str] = {}
    errors: list[FormatError] = []
    for number, item in enumerate(found):
        if isinstance(item, FormatError):
            errors.append(item)
            problems[number] = str(item)
            exchanges.append(stand_in(problems[number]))
            continue
        exchanges.append(item)
        told = unsendable(item.request)
        if told:
            problems[number] = str(FormatError(path, told, entry=number + 1))
    if errors and len(errors) == len(exchanges):
        raise errors[0]
    told = next(iter(problems.values()), "")
    passed = f"{len(problems):,} of {len(exchanges):,} entries cannot be sent; they are passed over. {told}"
    told_all = (*warnings, passed) if problems else warnings
    return Loaded(exchanges, path=path, format=format, warnings=told_all, problems=problems)


def stand_in(told: str) -> Exchange:
    """For an entry that cannot be read."""
    return Exchange(request=Request(method="-", url=""), failure=Failure(kind="bad_request", message=told))


def stream_of(response: Response | None) -> Stream:
    if response is None or not response.events:
        return Stream()
    return Stream(count=len(response.events), last=response.events[-1].data)


def row_of(exchange: Exchange) -> Row:
    request, response, timing = exchange.request, exchange.response, exchange.timing
    return Row(
        method=request.method,
        url=request.url,
        name=request.name,
        status=None if response is None else response.status,
        latency=None if timing is None else timing.end,
        ttft=None if timing is None else timing.first_byte,
        started_at=None if timing is None else timing.started_at,
        failure="" if exchange.failure is None else exchange.failure.kind,
    )
