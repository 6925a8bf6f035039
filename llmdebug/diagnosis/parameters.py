"""What a handler takes beside a JSON body, held against a request: parameters of the query and of forms."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal
from urllib.parse import parse_qsl

from llmdebug.diagnosis.ground import Ground
from llmdebug.diagnosis.question import Question
from llmdebug.diagnosis.route import Registered
from llmdebug.diagnosis.schema import Problem
from llmdebug.index.languages import PYTHON
from llmdebug.index.python.inputs import Taken, find_handler
from llmdebug.index.python.types import Anything, Object

FORMS = frozenset({"multipart/form-data", "application/x-www-form-urlencoded"})
_PART = re.compile(rb'content-disposition:[^\r\n]*\bname="([^"\r\n]*)"', re.IGNORECASE)
_MAX_FORM = 4_000_000


@dataclass(frozen=True, slots=True)
class ParameterProblem:
    """A parameter that is missing, or whose value is not admitted."""

    problem: Problem
    place: Literal["query", "body"]


def parameter_problems(ground: Ground, registered: Registered, question: Question) -> Iterator[ParameterProblem]:
    """The parameters of the query and of forms that the handler would refuse, in their order."""
    inputs = ground.inputs(registered)
    query = dict(question.query)
    given = _form_names(question)
    for taken in inputs.parameters:
        if taken.where == "query" and taken.name in query:
            for problem in ground.checker.check(taken.type, query[taken.name], f"/{taken.name}"):
                yield ParameterProblem(problem, "query")
        elif taken.where == "query" and _is_demanded(taken):
            yield ParameterProblem(Problem(f"/{taken.name}", "missing"), "query")
        elif taken.where == "form" and _is_demanded(taken) and given is not None and taken.name not in given:
            yield ParameterProblem(Problem(f"/{taken.name}", "missing"), "body")


def demands_body(ground: Ground, registered: Registered) -> bool:
    """Whether the framework reads the body into a model for the handler, which has no default for it."""
    body = ground.inputs(registered).body
    found = find_handler(ground.index, registered.file, registered.route)
    if not isinstance(body, Object) or found is None or not registered.file.endswith(PYTHON.suffixes):
        return False
    place, function = found
    for parameter in function.parameters:
        kind = ground.types.of(place, parameter.annotation) if parameter.annotation else None
        if isinstance(kind, Object) and (kind.model.path, kind.model.name) == (body.model.path, body.model.name):
            return parameter.default is None or re.fullmatch(r"Body\((?:\.\.\.)?\)", parameter.default) is not None
    return False


def _is_demanded(taken: Taken) -> bool:
    return taken.required and not isinstance(taken.type, Anything)


def _form_names(question: Question) -> set[str] | None:
    """The names of a form's fields, none where the body is something else; None where that can't be told."""
    if question.content_type not in FORMS:
        return set() if question.content_type or not question.request.body.strip() else None
    body = question.request.body
    if len(body) > _MAX_FORM:
        return None
    if question.content_type == "multipart/form-data":
        return {name.decode("utf-8", "replace") for name in _PART.findall(body)}
    return {name for name, _ in parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True)}
