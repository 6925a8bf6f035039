"""Parameters of the query and the path: the same remedies, with the query as the object."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec

from llmdebug.diagnosis.finding import Finding, blamed
from llmdebug.diagnosis.remedies.case import Case
from llmdebug.diagnosis.remedies.otherroute import prefix_of
from llmdebug.diagnosis.remedies.proposal import Proposal
from llmdebug.index.python.inputs import Inputs

Maker = Callable[[Case], list[Proposal]]


def on_query(case: Case, makers: tuple[Maker, ...]) -> list[Proposal]:
    """What the makers propose for the query's parameters; nothing where none is blamed."""
    places = [field for field in case.finding.fields if field.place == "query"]
    if not places:
        return []
    inner = _as_body(case, [field.pointer for field in places])
    found = []
    for maker in makers:
        for proposal in maker(inner):
            made = proposal.bodies[0] if len(proposal.bodies) == 1 and not proposal.path else None
            if isinstance(made, dict):
                found.append(replace(proposal, bodies=(), query=_written(made), is_tried=True))
    return found


def _as_body(case: Case, named: list[str]) -> Case:
    finding = Finding(case.finding.kind, [blamed(pointer, "", 0.9) for pointer in named])
    request = msgspec.structs.replace(case.question.request, body=b"")
    question = replace(case.question, body={key: _value(text) for key, text in case.question.query}, request=request)
    taken = case.inputs.parameters if case.inputs else []
    inputs = Inputs(embedded={parameter.name: parameter.type for parameter in taken if parameter.where == "query"})
    inner = Case(question, finding, case.ground, case.registered)
    inner.__dict__["inputs"] = inputs
    return inner


def _value(text: str) -> Any:
    """A number where the text is one, so that it can be held against bounds."""
    try:
        return int(text) if re.fullmatch(r"-?\d{1,18}", text) else float(text)
    except ValueError:
        return text


def _written(made: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((key, _text(value)) for key, value in made.items() if not isinstance(value, dict | list))


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def collection(case: Case) -> list[Proposal]:
    """For a thing that a path names and that is not there: the path that lists what is."""
    registered = case.registered
    if registered is None or case.ground is None or not registered.path.endswith("}") or case.question.method != "GET":
        return []
    above = registered.path.rpartition("/")[0]
    if not case.ground.resolve("GET", above).matches:
        return []
    why = f"{registered.path} answers for one; this path lists all."
    return [Proposal(f"GET {above}", why, (), 0.8, 0.6, "GET", prefix_of(case) + above)]
