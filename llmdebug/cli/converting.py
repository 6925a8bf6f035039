"""What `convert` does."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from llmdebug.cli.connection import named_values
from llmdebug.cli.exit_codes import ExitCode
from llmdebug.cli.guard import CommandError
from llmdebug.cli.progress import progress_line
from llmdebug.cli.raw_output import write_bytes
from llmdebug.cli.talk import say, tell
from llmdebug.debugger.condition import parse_condition
from llmdebug.debugger.filter import matching
from llmdebug.formats.answerreferences import references_in
from llmdebug.formats.errors import FormatError
from llmdebug.formats.exchanges import Exchanges
from llmdebug.formats.http_file import split_selector
from llmdebug.formats.http_writing import body_beside
from llmdebug.formats.loading import Format, open_exchanges
from llmdebug.formats.writing import (
    FILLED_IN,
    LOSSES,
    REQUESTS_ONLY,
    SUFFIXES,
    Output,
    batch_answers,
    pieces,
    without_secrets,
)
from llmdebug.http.credentials import default_base_url
from llmdebug.http.exchange import Exchange

STDOUT = "-"
_MOST_TOLD = 5


class Conversion(msgspec.Struct, frozen=True, kw_only=True):
    """One field for each option."""

    source: str
    target: str
    from_: Format | None
    to: Output | None
    only: str | None
    answers: tuple[str, ...]
    base_url: str | None
    variables: tuple[str, ...]
    with_secrets: bool


def convert(wanted: Conversion) -> int:
    output = wanted.to or SUFFIXES.get(Path(wanted.target).suffix.lower())
    if output is None:
        raise CommandError(f"{wanted.target} does not tell its format: give --to.")
    condition = None if wanted.only is None else parse_condition(wanted.only)
    path, name = split_selector(wanted.source)
    exchanges = _opened(wanted, path)
    numbers: Iterable[int] = [_numbered(exchanges, path, name)] if name else range(len(exchanges))
    if condition is not None:
        kept = set(matching(condition, exchanges))
        numbers = [number for number in numbers if number in kept]
    chosen = [number for number in numbers if not exchanges.problem(number)]
    dependent: dict[int, str] = {}
    try:
        _write(wanted, output, exchanges, chosen, dependent)
    except FormatError as error:
        raise _placed(error, path, chosen) from None
    _tell(wanted, output, exchanges, chosen)
    if dependent and output not in FILLED_IN:
        tell(_told_dependent(dependent, output))
    return ExitCode.OK


def _placed(error: FormatError, path: str, chosen: list[int]) -> FormatError:
    """What the format cannot hold, by its place in the file that it stands in."""
    if error.path or error.entry is None:
        return error
    told = f"{error.message} --only leaves it out: --only 'method == POST', or another condition."
    return FormatError(path, told, entry=chosen[error.entry - 1] + 1)


def _opened(wanted: Conversion, path: str) -> Exchanges:
    with progress_line() as progress:
        found = open_exchanges(
            path,
            format=wanted.from_,
            base_url=wanted.base_url,
            default_base_url=default_base_url(os.environ),
            variables=named_values(wanted.variables),
            send_secrets=True,
            answers=wanted.answers,
            progress=lambda done, of: progress(f"reading {path}", done, of),
        )
    for warning in found.warnings:
        say(warning)
    return found


def _numbered(exchanges: Exchanges, path: str, name: str) -> int:
    for number in range(len(exchanges)):
        if exchanges.row(number).name == name:
            return number
    if name.isdecimal() and 1 <= int(name) <= len(exchanges):
        return int(name) - 1
    raise CommandError(f"{path}: There is no request {name!r} in it.")


def _chosen(
    wanted: Conversion, exchanges: Exchanges, numbers: Iterable[int], dependent: dict[int, str]
) -> Iterator[Exchange]:
    """`dependent` gets the numbers of those that refer to earlier answers, and the first reference of each."""

    def found() -> Iterator[Exchange]:
        for number in numbers:
            exchange = exchanges.exchange(number)
            references = references_in(exchange.request)
            if references:
                dependent[number] = references[0]
            yield exchange

    return found() if wanted.with_secrets else without_secrets(found())


def _told_dependent(dependent: dict[int, str], output: Output) -> str:
    listed = ", ".join(f"{number + 1:,}" for number in list(dependent)[:_MOST_TOLD])
    more = ", …" if len(dependent) > _MOST_TOLD else ""
    example = next(iter(dependent.values()))
    return (
        f"Not filled in: {len(dependent):,} of the requests ({listed}{more}) need earlier answers, as {example}. "
        f"They are written as they stand, which {output} does not fill in; `llmdebug replay` of the source does."
    )


def _write(
    wanted: Conversion, output: Output, exchanges: Exchanges, numbers: list[int], dependent: dict[int, str]
) -> None:
    if wanted.target == STDOUT:
        for piece in pieces(_chosen(wanted, exchanges, numbers, dependent), output):
            write_bytes(sys.stdout, piece)
        return
    target = Path(wanted.target)
    found = _chosen(wanted, exchanges, numbers, dependent)
    _write_new(target, pieces(found, output, beside=lambda body: body_beside(body, target)))
    if output == "batch" and _answered(exchanges, numbers):
        beside = target.with_name(f"{target.stem}-answers{target.suffix}")
        _write_new(beside, batch_answers(_chosen(wanted, exchanges, numbers, dependent)))
        tell(f"The answers are in {beside}.")


def _write_new(path: Path, written: Iterable[bytes]) -> None:
    """For the user alone. What is there already stays; a file that cannot be completed is taken away."""
    try:
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise CommandError(f"{path} is there already: nothing is overwritten.") from None
    try:
        with os.fdopen(number, "wb") as file:
            for piece in written:
                file.write(piece)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _answered(exchanges: Exchanges, numbers: list[int]) -> int:
    rows = (exchanges.row(number) for number in numbers)
    return sum(row.status is not None or bool(row.failure) for row in rows)


def _tell(wanted: Conversion, output: Output, exchanges: Exchanges, numbers: list[int]) -> None:
    tell(f"{len(numbers):,} of {len(exchanges):,} written as {output}.")
    answered = _answered(exchanges, numbers)
    if output in REQUESTS_ONLY and answered:
        tell(f"Left out: {answered:,} answers; it holds requests only.")
    if output == "batch" and wanted.target == STDOUT and answered:
        tell(f"Left out: {answered:,} answers; write to a file to keep them beside it.")
    if LOSSES[output] and exchanges.format != output:
        tell(LOSSES[output])
