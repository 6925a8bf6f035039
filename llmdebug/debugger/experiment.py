"""All remedies of a diagnosis tried, one after the other: which of them does the server answer?"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from llmdebug.debugger.bounded import bounded, limit_names
from llmdebug.debugger.session import Finding, Session, SessionError, Trial
from llmdebug.http.exchange import Request
from llmdebug.index.build import Progress, silent

MAX_SENT = 12
"""So many requests are sent at most; a remedy that would take more is passed over."""

Hold = Callable[[int, Sequence[Request]], Awaitable[str]]
"""Why a remedy, by its number and requests, is not to be sent, as a sentence; empty where it is."""


async def try_all(
    session: Session,
    finding: Finding,
    *,
    on_trial: Callable[[int, Trial], None] | None = None,
    hold: Hold | None = None,
    progress: Progress = silent,
) -> list[tuple[int, Trial]]:
    """Each remedy that can be sent, by its number, with few tokens to write; an answered one does not end it.

    The finding of the last trial has the trail of all. Raises SessionError where no remedy can be sent.
    """
    asked = await asyncio.to_thread(session.trees.ask, limit_names(finding.exchange.request))
    declared = frozenset(name for names in asked for name in names)
    tried: list[tuple[int, Trial]] = []
    spent, problem = 0, ""
    for n, remedy in enumerate(finding.diagnosis.remedies, start=1):
        try:
            requests = session.apply(finding, n)
        except SessionError as error:
            problem = problem or str(error)
            continue
        held = await hold(n, requests) if hold is not None else ""
        if held:
            problem = problem or held
            continue
        if spent + len(requests) > MAX_SENT:
            problem = problem or f"Remedy {n} takes {len(requests)} requests: send it by itself."
            continue
        spent += len(requests)
        small = [bounded(request, remedy, finding.diagnosis, declared) for request in requests]
        trial = await session.settle(finding, n, await session.send_in_order(small), follow=False, progress=progress)
        finding = trial.finding
        tried.append((n, trial))
        if on_trial is not None:
            on_trial(n, trial)
    if not tried:
        raise SessionError(problem or "The diagnosis offers no remedy.")
    return tried
