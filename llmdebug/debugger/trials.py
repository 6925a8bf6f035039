"""A remedy as an experiment: what may be sent of it, and what its sending says of the diagnosis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from llmdebug.debugger.outcome import Outcome
from llmdebug.diagnosis.verdict import Diagnosis, TrailStep
from llmdebug.http.exchange import Exchange, Request
from llmdebug.http.secrets import fill

Verdict = Literal["confirmed", "settled", "refuted", "no_answer"]
"""`settled`: another refusal came, so that the one which the remedy is for is overcome."""
VERDICTS: dict[Outcome, Verdict] = {"answered": "confirmed", "refused": "refuted", "no_answer": "no_answer"}
BUSY = frozenset({429, 502, 503, 504})
"""Statuses that tell nothing of a request: no check need have seen it."""


def names_added(proposed: Request, original: Request) -> Sequence[str]:
    """Secrets that a proposed request asks for and the refused one did not hold: a remedy quotes what a server says."""
    return sorted(set(fill(proposed, {})[1]) - set(fill(original, {})[1]))


def verdict_on_another(refused: Exchange) -> Verdict:
    """What a refusal says that is not the first one."""
    return "no_answer" if refused.response is not None and refused.response.status in BUSY else "settled"


def no_longer(diagnosis: Diagnosis) -> str:
    """What a settled diagnosis is the end of, as a clause."""
    reason = "the first reason" if diagnosis.kind in {"other", "none"} else diagnosis.kind.replace("_", " ")
    return f"no longer refused for {reason}"


def experiment(
    diagnosis: Diagnosis, n: int, verdict: Verdict, last: Exchange, following: str = ""
) -> tuple[TrailStep, TrailStep]:
    """The steps that the trail goes on with when remedy `n` was sent, `last` its last request.

    `following` sums up the refusal that came next.
    """
    ended = last.failure.message if last.failure else ""
    if last.response is not None:
        ended = f"answered {last.response.status}" + (f"; {ended}" if ended else "")
    told = {
        "confirmed": f"confirmed: remedy {n} passed",
        "settled": f"settled: with remedy {n} {no_longer(diagnosis)}; refused next: {following}",
        "refuted": f"refuted: remedy {n} was refused too",
        "no_answer": "open: no complete answer came",
    }
    return (
        TrailStep(step="experiment", text=f"sent remedy {n}, {diagnosis.remedies[n - 1].title}: {ended}"),
        TrailStep(step="verdict", text=told[verdict]),
    )
