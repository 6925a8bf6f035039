"""One sentence for each kind of refusal: what was sent, what is wanted, and the server's words."""

from __future__ import annotations

import json
import re
from typing import Any

from llmdebug.diagnosis.finding import Finding
from llmdebug.diagnosis.ground import Ground
from llmdebug.diagnosis.locate import has_pointer, value_at
from llmdebug.diagnosis.question import Question
from llmdebug.diagnosis.remedies.admitted import literals
from llmdebug.diagnosis.remedies.case import Case
from llmdebug.diagnosis.remedies.elements import key_at_fault
from llmdebug.diagnosis.route import Registered
from llmdebug.diagnosis.text_claim import bare
from llmdebug.diagnosis.typewords import described
from llmdebug.diagnosis.verdict import BlamedField, Kind
from llmdebug.index.python.types import ANYTHING, Type
from llmdebug.jsontext.pointer import PointerError

MAX_QUOTED = 140
MAX_VALUE = 40

_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]+")
_FLAG = re.compile(r"(?<![\w-])--[a-z][\w-]*")


class Sentence:
    """Says what happened, for each kind."""

    def __init__(
        self, question: Question, finding: Finding, ground: Ground | None, registered: Registered | None
    ) -> None:
        self.question = question
        self.finding = finding
        self.ground = ground
        self.case = Case(question, finding, ground, registered)
        self.first = finding.fields[0] if finding.fields else None

    def of_kind(self, kind: Kind) -> str:
        maker = getattr(self, f"_{kind}", None)
        text: str = maker() if maker is not None else self._plain()
        return text

    @property
    def said(self) -> str:
        """What the server said, quoted; empty where it said nothing."""
        text = shortened(bare(self.case.text), MAX_QUOTED)
        return f'"{text}"' if text else ""

    def _plain(self) -> str:
        """For what has no sentence of its own: the server's words."""
        status = self.question.answer.status
        where = f" ({self._place()})" if self.first else ""
        return (
            f"the server answered {status}{where}: {self.said}"
            if self.said
            else f"the server answered {status} and said nothing"
        )

    def _place(self) -> str:
        if self.first is None:
            return "the request"
        return name_of(self.first)

    def _value(self) -> Any:
        return value_at(self.question.body, self.first.pointer) if self.first and self.first.place == "body" else None

    def _is_there(self) -> bool:
        if self.first is None or self.first.place != "body":
            return False
        return not self.first.pointer or has_pointer(self.question.body, self.first.pointer)

    def _type(self) -> Type:
        """What the tree declares for the first blamed field."""
        if self.ground is None or self.first is None or self.first.place != "body":
            return ANYTHING
        try:
            return self.case.type_at(self.first.pointer)
        except (PointerError, RecursionError):
            return ANYTHING

    def _is_bad_key(self) -> bool:
        return self.first is not None and self.first.place == "body" and key_at_fault(self.case, self.first.pointer)

    # one for each kind

    def _none(self) -> str:
        return f"the server answered {self.question.answer.status}; nothing was refused"

    def _ignored_field(self) -> str:
        places = self.finding.ignored
        if not places:
            return self._none()
        shown_places = listed(places[:4]) + (" and others" if len(places) > 4 else "")
        one, status = len(places) == 1, self.question.answer.status
        if all(self.case.declared(place) is not None for place in places):
            return f"answered {status}, but {shown_places} had no effect"
        said = "is not taken here: it had" if one else "are not taken here: they had"
        return f"answered {status}, but {shown_places} {said} no effect"

    def _missing_field(self) -> str:
        absent = [f for f in self.finding.fields if f.place != "body" or not has_pointer(self.question.body, f.pointer)]
        names = [name_of(field) for field in absent if field.pointer][:3]
        if self.first is not None and not self.first.pointer and self.first.place == "body":
            return "the request needs a body, and has none"
        if not names:
            return self._quoted("something that must be there is missing")
        if len(names) > 1 and self.finding.spots and self.finding.spots[0].role != "declares":
            return f"{' or '.join(names)} must be given, and none is"
        return f"{names[0]} is required and missing"

    def _unknown_field(self) -> str:
        if self.first is None:
            return self._quoted("a field of the request is refused, as nobody takes it")
        return f"{self._place()} is refused: no field of this name is taken here"

    def _wrong_type(self) -> str:
        if self.first is None:
            return self._quoted("a value of the request has the wrong type")
        wanted = described(self._type())
        place = self._place() if self.first.pointer else "the body"
        if not self._is_there():
            return self._quoted(f"{place} has the wrong type")
        given = shown(self._value()) if isinstance(self._value(), dict | list | type(None)) else _kind_of(self._value())
        return f"{place} must be {wanted}, and is {given}" if wanted else self._quoted(f"{place} is {given}")

    def _out_of_range(self) -> str:
        if self.first is None or not self._is_there():
            return self._quoted(f"{self._place()} is out of range")
        if self._is_bad_key():
            return self._quoted(f"the key of {self._place()} is out of range")
        return self._quoted(f"{self._place()} is {shown(self._value())}, which is out of range")

    def _bad_value(self) -> str:
        if self.first is None or not self._is_there():
            return self._quoted("a value of the request is not admitted")
        if self._is_bad_key():
            return self._quoted(f"the key of {self._place()} is not admitted")
        if literals(self._type()) and not self.case.admits(self._type(), self._value()):
            return f"{self._place()} is {shown(self._value())}, and must be {described(self._type())}"
        return self._quoted(f"{self._place()} is {shown(self._value())}, which is not admitted")

    def _conflict(self) -> str:
        names = list(dict.fromkeys(name_of(field) for field in self.finding.fields))[:3]
        if len(names) < 2:
            return self._quoted(f"{self._place()} conflicts with another part of the request")
        return self._quoted(f"{listed(names)} do not go together")

    def _unsupported(self) -> str:
        flags = list(dict.fromkeys(_FLAG.findall(self.question.answer.text[:4_000])))[:2]
        what = f"{self._place()} asks for something" if self.first else "the request asks for something"
        if flags:
            return f"{what} that the server was not started for ({' or '.join(flags)})"
        return self._quoted(f"{what} that this server or its model does not offer")

    def _context_length(self) -> str:
        return self._quoted(f"{self._place()} does not fit into the model's context")

    def _malformed_json(self) -> str:
        if self.question.body_problem:
            return f"the body is no JSON: {self.question.body_problem}"
        if self.first is not None and self.first.pointer:
            return self._quoted(f"{self._place()} must hold JSON, and does not parse")
        return self._quoted("a part of the request that must be JSON does not parse")

    def _content_type(self) -> str:
        sent = self.question.content_type
        return f"the body must be sent as JSON; it was sent as {shortened(sent, 60) if sent else 'no type at all'}"

    def _no_route(self) -> str:
        request = f"{self.question.method} {shortened(self.question.path, 80)}"
        if self.ground is None:
            return f"the server has no route for {request}"
        resolution = self.ground.resolve(self.question.method, self.question.path)
        if resolution.matches:
            condition = next((why for s in self.finding.spots for why in s.why if s.role == "checks"), "")
            told = f": {condition}" if condition else ", though the linked tree registers it"
            return f"this server does not serve {request}{told}"
        near = f"; the nearest is {resolution.nearest[0].path}" if resolution.nearest else ""
        return f"no route takes {request}{near}"

    def _wrong_method(self) -> str:
        resolution = self.ground.resolve(self.question.method, self.question.path) if self.ground else None
        taken = sorted({method for r in (resolution.other_methods if resolution else ()) for method in r.route.methods})
        path = shortened(self.question.path, 80)
        return f"{path} takes {' or '.join(taken) if taken else 'another method'}, not {self.question.method}"

    def _auth(self) -> str:
        return self._quoted("the server does not accept the credentials of this request, or its origin")

    def _payload_too_large(self) -> str:
        return self._quoted(f"the body of {len(self.question.request.body)} bytes is larger than the server takes")

    def _model_not_found(self) -> str:
        model = value_at(self.question.body, "/model")
        return (
            f"the model {shown(model)} is not served here"
            if isinstance(model, str)
            else self._quoted("the model is not served here")
        )

    def _upstream(self) -> str:
        return self._quoted(f"something behind this server refused or failed ({self.question.answer.status})")

    def _quoted(self, text: str) -> str:
        return f"{text}: {self.said}" if self.said else text


def shortened(text: str, most: int) -> str:
    """One line without control characters, cut at a word."""
    line = " ".join(_UNSEEN.sub(" ", text).split())
    if len(line) <= most:
        return line
    cut = line[: most - 1]
    space = cut.rfind(" ", most // 2)
    return (cut[:space] if space > 0 else cut).rstrip(" ,;:") + "…"


def listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def shown(value: Any) -> str:
    """A value of the request, short."""
    if isinstance(value, dict):
        return f"an object with {len(value)} key{'' if len(value) == 1 else 's'}" if value else "an empty object"
    if isinstance(value, list):
        return f"a list of {len(value)}" if value else "an empty list"
    if isinstance(value, str) and not value.strip():
        return "an empty text"
    if isinstance(value, str) and len(value) > MAX_VALUE:
        return f"a text of {len(value)} characters"
    if isinstance(value, int) and value.bit_length() > 200:
        return "a very large number"
    return json.dumps(value, ensure_ascii=False)


def name_of(field: BlamedField) -> str:
    """A field as a sentence names it: its pointer, and where it stands if not in the body."""
    name = shortened(field.pointer, 80)
    if field.place == "body":
        return name or "the body"
    return f"the {field.place}'s {name.lstrip('/')}"


def _kind_of(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"the number {shown(value)}"
    return f"the text {shown(value)}" if isinstance(value, str) and len(value) <= MAX_VALUE else shown(value)
