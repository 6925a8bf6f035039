"""What `diagnose` does: recorded exchanges, one after the other, against the trees."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from llmdebug.cli.exit_codes import ExitCode
from llmdebug.cli.guard import DEBUG_VARIABLE, CommandError
from llmdebug.cli.json_line import print_json
from llmdebug.cli.progress import progress_line
from llmdebug.cli.recorded import STDIN, recorded
from llmdebug.cli.standalone import BareAnswer
from llmdebug.cli.talk import say
from llmdebug.debugger.trees import LinkedTrees
from llmdebug.diagnosis.verdict import Diagnosis
from llmdebug.formats.errors import FormatError
from llmdebug.formats.logfile import LogFile
from llmdebug.http.baseurl import split
from llmdebug.http.exchange import Exchange
from llmdebug.http.secrets import hide, redact_exchange
from llmdebug.linking.linked import Linked, fetched
from llmdebug.linking.spec import AUTO

if TYPE_CHECKING:
    from llmdebug.cli.recorded_tokens import RecordedTokens


def diagnose_files(
    files: Sequence[str],
    sources: Sequence[str],
    *,
    as_json: bool,
    bare: BareAnswer | None = None,
    log: str | None = None,
    base_url: str | None = None,
    tokenizer: str = "",
) -> int:
    """Prints a diagnosis for each exchange, in order; `bare` is what is known of an answer without its request.

    `log` is the file that the server wrote beside them; `base_url` is the server that the source `auto` asks,
    without it that of the first exchange; `tokenizer` is the model's, to weigh the diagnoses with.
    """
    written = _end_of(log) if log is not None else ""
    trees = LinkedTrees(linked_sources(files, sources, base_url))
    code = ExitCode.OK
    with ExitStack() as closing:
        tokens = closing.enter_context(_tokens(tokenizer)) if tokenizer else None
        for file in files:
            for number, item in enumerate(recorded(file, bare or BareAnswer()), start=1):
                diagnosis, worse = _diagnosis(item, trees, f"{file}, entry {number}", written, tokens)
                code = max(code, worse)
                if as_json:
                    print_json(diagnosis)
                else:
                    _print_report(item, diagnosis, number)
    return code


def _end_of(log: str) -> str:
    """The end of a log file; that it cannot be of use is said at once."""
    file = LogFile(log)
    written = file.end()
    if file.left_out:
        say(f"{log}: The log is large: its first {file.left_out:,} bytes are not read.")
    if not written.strip():
        say(f"{log}: The log is empty, so it settles nothing.")
    elif "\0" in written:
        say(f"{log}: This is binary data rather than a log; what of it is text is read.")
    return written


def _tokens(tokenizer: str) -> RecordedTokens:
    from llmdebug.cli.recorded_tokens import RecordedTokens

    return RecordedTokens(tokenizer)


def linked_sources(files: Sequence[str], sources: Sequence[str], base_url: str | None) -> list[Linked]:
    """The sources, those that have to be fetched fetched; `auto` asks the server at `base_url`, else of the files."""
    found: list[Linked] = []
    with progress_line() as progress:
        for source in sources:
            if source == AUTO:
                from llmdebug.cli.automatic import link_of

                found += link_of(base_url or _first_server(files), progress)
            else:
                found.append(fetched(source, progress=progress))
    return found


def _first_server(files: Sequence[str]) -> str:
    for file in files:
        for item in recorded(file, BareAnswer()) if file != STDIN else ():
            if isinstance(item, Exchange) and item.request.url:
                return split(item.request.url)[0]
    raise CommandError("No recorded exchange says which server `--source auto` is to ask: give --base-url.")


def _diagnosis(
    item: Exchange | FormatError, trees: LinkedTrees, where: str, log: str, tokens: RecordedTokens | None
) -> tuple[Diagnosis, ExitCode]:
    """Every entry gets a diagnosis, also one that cannot be read or that brings llmdebug down."""
    if isinstance(item, FormatError):
        say(str(item))
        return Diagnosis(summary=f"The entry cannot be read: {item.message}", kind="other"), ExitCode.USAGE
    try:
        clean, secrets = redact_exchange(item)
        diagnosis = trees.diagnose(clean, log=hide(log, secrets))
        return tokens.weighed(clean, diagnosis, trees) if tokens is not None else diagnosis, ExitCode.OK
    except Exception as error:
        if os.environ.get(DEBUG_VARIABLE):
            raise
        told = f"{type(error).__name__}: {error}"
        say(f"{where}: an error of llmdebug itself: {told}")
        return Diagnosis(summary=f"llmdebug failed on this exchange: {told}", kind="other"), ExitCode.BUG


def _print_report(item: Exchange | FormatError, diagnosis: Diagnosis, number: int) -> None:
    from llmdebug.cli.report import headline, report

    blank = "\n" if number > 1 else ""
    title = "" if isinstance(item, FormatError) else headline(item, sys.stdout) + "\n"
    sys.stdout.write(blank + title + report(diagnosis, sys.stdout))
