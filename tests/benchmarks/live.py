"""How many refusals of a running server are answered with a 2xx by the first remedy, or by one of the first two.

    python tests/benchmarks/live.py CASES TREE URL [--list]

The requests of the cases are sent to URL, a server whose source is TREE, as they stand; those that it refuses are
diagnosed and their first two remedies sent, with what the server lists as its models known to them. "Keeps" counts
those where what was answered still holds what the sender wanted: only what is to blame was changed, and nothing was
dropped that the server takes.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import httpx

sys.path.insert(0, str(Path(__file__).parent.parent / "trees"))

from recorded import Case, read_cases
from remedies import send

from llmdebug.debugger.bounded import bounded, limit_names
from llmdebug.debugger.models import models_in
from llmdebug.diagnosis.complaint import read_answer
from llmdebug.diagnosis.diagnose import diagnose
from llmdebug.diagnosis.verdict import Diagnosis, Remedy, RemedyRequest
from llmdebug.http.exchange import Exchange, Request, Response
from llmdebug.index.build import Index, open_index
from llmdebug.jsontext import pointer as pointers
from llmdebug.source.tree import open_tree

TRIED = 2
SECONDS = 45.0
"""Whatever takes longer was not refused: it writes."""


class Trial(NamedTuple):
    """What became of a remedy."""

    title: str
    answered: bool
    keeps: bool
    said: str


def sent(client: httpx.Client, request: Request) -> Response:
    """The answer; status 0 with the reason where there is none."""
    try:
        return send(client, request.method, request.url, dict(request.headers), request.body)
    except httpx.HTTPError as error:
        return Response(status=0, body=str(error).encode())


def refused(response: Response) -> bool:
    return not 200 <= response.status < 300 or read_answer(response).refused


def keeps_intent(case: Case, told: Diagnosis, remedy: Remedy) -> bool:
    """Whether a remedy changes only what is to blame, and drops nothing that the server would have taken.

    A value that stands elsewhere in the new body was moved, not dropped.
    """
    body, truth = case.request.body, case.truth
    new = json.dumps(remedy.requests[0].body, ensure_ascii=False)
    unheard = {*(truth.ignored or ()), *told.ignored}
    touched = {*(truth.fields or ()), *(field.pointer for field in told.fields), *unheard}
    for step in remedy.patch:
        place = str(step["path"])
        if step["op"] == "remove" and place not in unheard and truth.kind != "unknown_field":
            old = pointers.get(body, place) if pointers.has(body, place) else None
            if json.dumps(old, ensure_ascii=False) not in new:
                return False
        if (
            not any(place.startswith(pointer) or pointer.startswith(place) for pointer in touched)
            and step["op"] != "add"
        ):
            return False
    return True


def small(request: RemedyRequest, remedy: Remedy, told: Diagnosis, index: Index) -> Request:
    """A remedy's request as an experiment: with few tokens to write."""
    body = b"" if request.body is None else json.dumps(request.body, allow_nan=False).encode()
    made = Request(method=request.method, url=request.url, headers=tuple(request.headers.items()), body=body)
    return bounded(made, remedy, told, limit_names(made)(index))


def tried(client: httpx.Client, case: Case, told: Diagnosis, index: Index) -> list[Trial]:
    found = []
    for remedy in told.remedies[:TRIED]:
        answers = [sent(client, small(request, remedy, told, index)) for request in remedy.requests]
        answered = bool(answers) and not any(refused(answer) for answer in answers)
        said = next((f"{a.status} {read_answer(a).text[:160]}" for a in answers if refused(a)), "")
        found.append(Trial(remedy.title, answered, answered and keeps_intent(case, told, remedy), said))
    return found


def main(arguments: list[str]) -> None:
    cases_folder, tree, url = (a for a in arguments if not a.startswith("--"))
    index: Index = open_index(open_tree(tree))
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    with httpx.Client(timeout=SECONDS, trust_env=False) as client:
        listing = Request(method="GET", url=url + "/v1/models")
        models = models_in(Exchange(request=listing, response=sent(client, listing)))
        for case in read_cases(Path(cases_folder)):
            exchange = case.exchange
            request = Request(
                method=exchange.request.method,
                url=url + case.request.path,
                headers=exchange.request.headers,
                body=exchange.request.body,
            )
            answer = sent(client, request)
            if not refused(answer) or not answer.status:
                print(f"{case.id:45} not refused: {answer.status}")
                continue
            told = diagnose(Exchange(request=request, response=answer), [index], models=models)
            outcomes = tried(client, case, told, index)
            for row in (counts[case.truth.kind], counts["all"]):
                row[0] += 1
                row[1] += [t.answered for t in outcomes[:1]] == [True]
                row[2] += any(t.answered for t in outcomes)
                row[3] += any(t.keeps for t in outcomes)
            if "--list" in arguments or not any(t.answered for t in outcomes):
                _tell(case, told, answer, outcomes)
    print(f"\n{'kind':20}{'refusals':>10}{'first':>10}{'first two':>12}{'keeps':>8}")
    for name, (total, first, two, kept) in sorted(counts.items(), key=lambda item: (item[0] == "all", item[0])):
        shares = [f"{100 * part / total:.0f}%" for part in (first, two, kept)]
        print(f"{name:20}{total:>10}{shares[0]:>10}{shares[1]:>12}{shares[2]:>8}")


def _tell(case: Case, told: Diagnosis, answer: Response, outcomes: list[Trial]) -> None:
    body: Any = case.request.raw_body or json.dumps(case.request.body, ensure_ascii=False)
    print(f"{case.id} [{case.truth.kind}] found {told.kind} {[f.pointer for f in told.fields]}")
    print(f"    {case.request.path} {body[:200]}\n    {answer.status} {read_answer(answer).text[:200]!r}")
    for trial in outcomes:
        mark = "+" if trial.keeps else "~" if trial.answered else "-"
        print(f"    {mark} {trial.title} {trial.said!r}")


if __name__ == "__main__":
    if len([a for a in sys.argv[1:] if not a.startswith("--")]) != 3:
        sys.exit(__doc__)
    main(sys.argv[1:])
