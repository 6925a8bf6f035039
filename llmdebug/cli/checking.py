"""What `check` does: requests of a file held against the trees."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from llmdebug.cli.diagnosing import linked_sources
from llmdebug.cli.exit_codes import ExitCode
from llmdebug.cli.guard import CommandError
from llmdebug.cli.ink import Ink
from llmdebug.cli.json_line import print_json
from llmdebug.cli.named_request import read_requests
from llmdebug.cli.progress import progress_line
from llmdebug.cli.report import report
from llmdebug.cli.talk import say
from llmdebug.config.load import load_settings
from llmdebug.debugger import sources as remembering
from llmdebug.debugger.trees import LinkedTrees
from llmdebug.debugger.visible import visible
from llmdebug.diagnosis.verdict import Diagnosis
from llmdebug.http.baseurl import split
from llmdebug.http.exchange import Exchange, Request
from llmdebug.http.secrets import redact_exchange
from llmdebug.recording.folder import HistoryError

NOWHERE = "http://localhost"
"""Stands for the server of a request that is not sent."""
TAKEN = frozenset({"none", "ignored_field"})
"""Kinds of what is no refusal."""


def check_requests(
    reference: str, sources: Sequence[str], *, base_url: str | None, variables: Mapping[str, str], as_json: bool
) -> int:
    """Prints what is foreseen for each request; without `sources`, those last linked to its server are asked.

    Given ones are remembered for the servers that the requests name. Exit code USAGE where no source tells anything.
    """
    requests, warnings = read_requests(
        reference, base_url=base_url, default_base_url=NOWHERE, variables=variables, send_secrets=True
    )
    for warning in warnings:
        say(warning)
    trees = LinkedTrees(linked_sources((), sources or _remembered(requests), base_url))
    if sources:
        _remember(requests, trees)
    code = ExitCode.OK
    for number, request in enumerate(requests, start=1):
        clean = redact_exchange(Exchange(request=request))[0].request
        with progress_line() as progress:
            told = trees.check(clean, progress=progress)
        if told.kind not in TAKEN:
            code = ExitCode.REFUSED
        if as_json:
            print_json(told)
        else:
            _print_report(clean, told, number)
    return code if len(trees.defects()) < len(trees.trees) else ExitCode.USAGE


def _remembered(requests: Sequence[Request]) -> Sequence[str]:
    found = remembering.remembered(split(requests[0].url)[0]) if requests else ()
    if not found:
        raise CommandError("A request is checked against a server's source: give --source TREE.")
    return [str(source) for source in found]


def _remember(requests: Sequence[Request], trees: LinkedTrees) -> None:
    """Links the sources to the servers of these requests, as sending them would."""
    if not load_settings().record:
        return
    servers = dict.fromkeys(split(request.url)[0] for request in requests)
    try:
        for server in servers:
            if server != NOWHERE:
                remembering.remember(server, [link.source for link in trees.links])
    except HistoryError as error:
        say(f"The source is not remembered for next time: {error}")


def _print_report(request: Request, told: Diagnosis, number: int) -> None:
    blank = "\n" if number > 1 else ""
    title = Ink(sys.stdout)(visible(f"{request.method} {request.url}"), "bold")
    sys.stdout.write(f"{blank}{title}\n{report(told, sys.stdout)}")
