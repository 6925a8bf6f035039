"""Texts of libraries that every server shares, and the calls that raise them.

A message that stands nowhere in the tree may be a library's: the site is then the server's call that let it out.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from llmdebug.diagnosis.blame import Evidence
from llmdebug.diagnosis.finding import Finding, Spot, blamed
from llmdebug.diagnosis.ground import Ground
from llmdebug.diagnosis.kinds import kind_of_text
from llmdebug.diagnosis.locate import walk
from llmdebug.diagnosis.question import Question
from llmdebug.diagnosis.route import Registered, nearness
from llmdebug.diagnosis.text_claim import settle
from llmdebug.index.build import ASIDE
from llmdebug.index.python.inputs import functions_of
from llmdebug.index.python.syntax import dotted, last_name

MAX_FILES = 12
MAX_SPOTS = 3
FEW = 3
"""So many calls of a common name may still be claimed where no route is known to reach them."""


@dataclass(frozen=True, slots=True)
class Library:
    """A library's way to complain."""

    name: str
    text: re.Pattern[str]
    calls: tuple[str, ...]
    """Names of the calls that raise it, the most telling first."""
    owner: str = ""
    """A piece of the name of what the call is made on, where the call's own name tells too little."""
    is_telling: bool = False
    """Whether the calls have names that nothing else has."""
    about: tuple[str, ...] = ()
    """Fields of a request that it is usually given."""


def _library(name: str, calls: str, owner: str, about: str, *texts: str) -> Library:
    names = tuple(calls.split())
    telling = any("_" in call for call in names[:1])
    return Library(name, re.compile("|".join(texts), re.I), names, owner, telling, tuple(about.split()))


LIBRARIES = (
    _library(
        "a chat template",
        "apply_chat_template render from_string compile",
        "tok|templ|process|env",
        "messages",
        r"cannot apply chat template",
        r"continue_final_message and add_generation_prompt are not compatible",
        r"continue_final_message is set but",
        r"cannot use chat template functions",
        r"conversation roles must alternate",
        r"after the optional system message",
        r"tokenizer\.chat_template is not set",
        r"can only concatenate str .* to str",
        r"is undefined$",
        r"encountered unknown tag",
        r"unexpected end of template",
        r"expected token .* got",
    ),
    _library(
        "the tokenizer",
        "decode batch_decode convert_ids_to_tokens encode tokenizer",
        "tok",
        "tokens prompt input input_ids text",
        r"number too large to fit in target type",
        r"out of range integral type conversion attempted",
        r"can't convert negative int to unsigned",
        r"argument '?ids'?: ",
        r"TextEncodeInput must be Union",
        r"text input must be of type `?str",
    ),
    _library(
        "jsonschema",
        "check_schema validate validator_for",
        r"is not valid under any of the given schemas",
        r"failed validating",
    ),
    _library("base64", "b64decode", "", "", r"incorrect padding", r"only base64 data is allowed", r"invalid base64"),
    _library(
        "an image library",
        "open load_image verify",
        r"cannot identify image file",
        r"broken data stream when reading image",
    ),
    _library(
        "the HTTP client",
        "get request fetch",
        "",
        r"cannot connect to host",
        r"name or service not known",
        r"invalid url",
    ),
    _library(
        "msgspec",
        "decode convert",
        "msgspec|decoder",
        "",
        r"object missing required field",
        r"expected `\w+(?:[^`]*)`, got `\w+`",
        r"object contains unknown field",
        r"invalid enum value",
        r"json is malformed",
    ),
)


def from_library(ground: Ground, registered: Registered | None, question: Question, text: str) -> Finding | None:
    """The finding for a text that a library made; None where no library is known to say so."""
    library = next((known for known in LIBRARIES if known.text.search(text)), None)
    template = _own_template(text, question)
    if library is None and template is not None:
        library = LIBRARIES[0]
    if library is None:
        return None
    spots: list[Spot] = []
    for call in library.calls:
        spots = _calls(ground, registered, call, library)
        if spots:
            break
    evidence = Evidence(text, kind_of_text(text, question.answer.status), question.answer.param)
    kind, fields = settle(evidence, question)
    held = next((name for name in library.about if name in question.fields), None)
    if held and not fields:
        fields = [blamed(f"/{held}", f"what {library.name} is given", 0.5)]
    if kind == "missing_field" and held and not question.fields[held]:
        kind = "bad_value"
    return Finding(kind, fields, spots, confidence=0.6 if spots else 0.2)


def _own_template(text: str, question: Question) -> str | None:
    """The pointer of a template that the request itself brought and that says this."""
    if len(text) < 6:
        return None
    for pointer, value in walk(question.body):
        if isinstance(value, str) and len(value) > len(text) and text in value and ("{%" in value or "{{" in value):
            return pointer
    return None


def _calls(ground: Ground, registered: Registered | None, name: str, library: Library) -> list[Spot]:
    """Statements of serving code that make this call, those that the route reaches first."""
    index = ground.index
    held = [p for p in index.search.files_with([f".{name}("]) if not ASIDE.search(p)]
    reach = ground.reach(registered) if registered else None
    known = [p for p in held if p in index.loaded]
    index.load([*known, *[p for p in held if p not in index.loaded][:MAX_FILES]])
    found: list[tuple[tuple[int, int, float, str, int], Spot]] = []
    for path in held:
        if path not in index.loaded:
            continue
        callers = [f for f in index.loaded[path].functions if any(c.rpartition(".")[2] == name for c in f.calls)]
        if not callers:
            continue
        module = index.syntax(path)
        nodes = dict(functions_of(module)) if module else {}
        for function in callers:
            node = nodes.get(function.name)
            statement = _statement(node, name, library.owner) if node is not None else None
            if statement is None:
                continue
            depth = reach.of(path, function.name) if reach else None
            guarded = _is_guarded(node, statement.lineno) if node is not None else False
            closeness = nearness(registered.file, path) if registered else 0.0
            order = (0 if depth is not None else 1, 0 if guarded else 1, -closeness, path, statement.lineno)
            why = (f"calls {name}; the text is of {library.name}",)
            end = statement.end_lineno or statement.lineno
            found.append((order, Spot(path, statement.lineno, end, function.name, "checks", 0.6, why)))
    found.sort(key=lambda pair: pair[0])
    reached = [spot for order, spot in found if order[0] == 0]
    return (reached or ([spot for _, spot in found] if library.is_telling or len(found) <= FEW else []))[:MAX_SPOTS]


def _statement(node: ast.AST, name: str, owner: str) -> ast.stmt | None:
    """The first simple statement that makes the call, on something of that name."""
    for part in ast.walk(node):
        if (
            isinstance(part, ast.stmt)
            and not hasattr(part, "body")
            and any(
                isinstance(call, ast.Call)
                and last_name(call) == name
                and re.search(owner, dotted(call.func).rpartition(".")[0])
                for call in ast.walk(part)
            )
        ):
            return part
    return None


def _is_guarded(node: ast.AST, line: int) -> bool:
    """Whether a `try` stands around a line that answers for what it raises."""
    for part in ast.walk(node):
        if not isinstance(part, ast.Try) or not part.body[0].lineno <= line <= (part.body[-1].end_lineno or line):
            continue
        answers = (inner for handler in part.handlers for inner in ast.walk(handler))
        if any(isinstance(inner, ast.Raise | ast.Return) for inner in answers):
            return True
    return False
