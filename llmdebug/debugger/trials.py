"""A remedy as an experiment: what may be sent of it, and what its sending says of the diagnosis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from llmdebug.debugger.outcome import Outcome
from llmdebug.diagnosis.verdict import Diagnosis, TrailStep
from llmdebug.http.exchange import Exchange, Request
from llmdebug.http.secrets import fill

Verdict = Literal["confirmed", "refuted", "no_answer"]
VERDICTS: dict[Outcome, Verdict] = {"answered": "confirmed", "refused": "refuted", "no_answer": "no_answer"}


def names_added(proposed: Request, original: Request) -> Sequence[str]:
    """Secrets that a proposed request asks for and the refused one did not hold: a remedy quotes what a server says."""
    return sorted(set(fill(proposed, {})[1]) - set(fill(original, {})[1]))


def experiment(diagnosis: Diagnosis, n: int, verdict: Verdict, last: Exchange) -> tuple[TrailStep, TrailStep]:
    """The steps that the trail goes on with when remedy `n` was sent, `last` its last request."""
    ended = last.failure.message if last.failure else ""
    if last.response is not None:
        ended = f"answered {last.response.status}" + (f"; {ended}" if ended else "")
    told = {
        "confirmed": f"confirmed: remedy {n} passed",
        "refuted": f"refuted: remedy {n} was refused too",
        "no_answer": "open: no complete answer came",
    }
    return (
        TrailStep(step="experiment", text=f"sent remedy {n}, {diagnosis.remedies[n - 1].title}: {ended}"),
        TrailStep(step="verdict", text=told[verdict]),
    )
