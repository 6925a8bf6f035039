"""An exchange taken apart into what the rest of the diagnosis asks about."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from llmdebug.diagnosis.complaint import Answer, ends, read_answer
from llmdebug.http.exchange import Exchange, Request, header

MAX_BODY = 64_000_000
MAX_ANSWER = 2_000_000


@dataclass(frozen=True)
class Question:
    """What was asked and answered."""

    request: Request
    answer: Answer
    path: str
    """Path of the URL, without query."""
    query: tuple[tuple[str, str], ...]
    body: Any
    """The parsed JSON body; None where there is none, or it is no JSON."""
    body_problem: str = ""
    """Why the body is no JSON, with line and column; empty where it is, or where none was sent."""
    answer_body: str = ""
    """The body of the answer as text, its start where it is long."""
    content_type: str = ""
    """Media type of the request, lower case, without parameters."""

    @property
    def method(self) -> str:
        return self.request.method.upper()

    @property
    def is_unreadable(self) -> bool:
        """Whether the body was meant to be JSON and is none."""
        return bool(self.body_problem) and self.content_type in {"", "application/json", "text/plain"}

    @property
    def fields(self) -> dict[str, Any]:
        """The keys of the body; empty where it is no object."""
        return self.body if isinstance(self.body, dict) else {}


def ask(exchange: Exchange) -> Question | None:
    """The question of an exchange; None where nothing was answered."""
    response = exchange.response
    if response is None:
        return None
    said = ends(response.body, MAX_ANSWER).decode("utf-8", "replace")
    return question_of(exchange.request, read_answer(response), said)


def question_of(request: Request, answer: Answer, answer_body: str = "") -> Question:
    """The question of a request, with what is said to it."""
    try:
        parts = urlsplit(request.url)
        path, query = parts.path, tuple(parse_qsl(parts.query, keep_blank_values=True))
    except ValueError:
        path, query = request.url, ()
    content_type = (header(request.headers, "content-type") or "").partition(";")[0].strip().lower()
    body, problem = parse_body(request.body)
    return Question(
        request=request,
        answer=answer,
        path=path or "/",
        query=query,
        body=body,
        body_problem=problem,
        answer_body=answer_body,
        content_type=content_type,
    )


def parse_body(data: bytes) -> tuple[Any, str]:
    """The JSON value of a body, and why there is none; NaN and Infinity are taken, as Python servers do."""
    if not data.strip():
        return None, ""
    if len(data) > MAX_BODY:
        return None, f"the body is larger than {MAX_BODY // 1_000_000} MB"
    try:
        return json.loads(data), ""
    except json.JSONDecodeError as error:
        return None, f"{error.msg} at line {error.lineno}, column {error.colno}"
    except UnicodeDecodeError as error:
        return None, f"byte {error.start} is not UTF-8"
    except (RecursionError, ValueError) as error:
        return None, f"{type(error).__name__}: {error}"
