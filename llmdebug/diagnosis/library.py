"""Texts of libraries that every server shares, and the calls that raise them.

A message that stands nowhere in the tree may be a library's: the site is then the server's call that let it out.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from llmdebug.diagnosis.blame import Evidence
from llmdebug.diagnosis.callsites import call_sites, claimable
from llmdebug.diagnosis.finding import Finding, Spot, blamed
from llmdebug.diagnosis.ground import Ground
from llmdebug.diagnosis.kinds import kind_of_text
from llmdebug.diagnosis.locate import walk
from llmdebug.diagnosis.question import Question
from llmdebug.diagnosis.route import Registered
from llmdebug.diagnosis.template import letters_in
from llmdebug.diagnosis.text_claim import settle

MAX_SPOTS = 3
MOST = 0.5
"""Share of a text that a library must say: a line of it inside the report of another server is not enough."""
BODY_NAME = re.compile(rb"loads\(\s*(?:await )?[\w.]*?(?:body|rfile|request\.data)(?:\(|\)|\.decode\b|\.read\b)")


@dataclass(frozen=True, slots=True)
class Library:
    """A library's way to complain."""

    name: str
    calls: tuple[str, ...]
    """Names of the calls that raise it, the most telling first."""
    texts: tuple[str, ...]
    """Patterns of what it says."""
    owner: str = ""
    """A pattern for the name of what the call is made on, where the call's own name tells too little."""
    is_telling: bool = False
    """Whether the calls have names that nothing else has."""
    about: tuple[str, ...] = ()
    """Fields of a request that it is usually given."""
    modules: tuple[str, ...] = ()
    """Modules that a tree imports to have it; none for what is part of the language."""

    def says(self, text: str) -> bool:
        return any(re.search(pattern, text, re.I) for pattern in self.texts)

    def share(self, text: str) -> float:
        """Of the letters of a text, those in lines that the library says; none where somebody else speaks first."""
        lines = [line for line in text.splitlines() if letters_in(line)]
        if not lines or not self.says(lines[0]):
            return 0.0
        said = [line for line in lines if self.says(line)]
        return sum(map(letters_in, said)) / max(letters_in(text), 1)

    def is_used(self, ground: Ground) -> bool:
        words = [f"{verb} {module}" for module in self.modules for verb in ("import", "from")]
        return not words or bool(ground.index.search.files_with(words))


CHAT_TEMPLATE = Library(
    "a chat template",
    ("apply_chat_template", "render", "from_string"),
    (
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
    owner="tok|templ|process|env",
    is_telling=True,
    about=("messages",),
    modules=("transformers", "jinja2", "tokenizers"),
)
LIBRARIES = (
    CHAT_TEMPLATE,
    Library(
        "the tokenizer",
        ("decode", "batch_decode", "convert_ids_to_tokens", "encode"),
        (
            r"number too large to fit in target type",
            r"out of range integral type conversion attempted",
            r"can't convert negative int to unsigned",
            r"argument '?ids'?: ",
            r"TextEncodeInput must be Union",
            r"text input must be of type `?str",
        ),
        owner="tok",
        about=("tokens", "prompt", "input", "input_ids", "text"),
        modules=("transformers", "tokenizers", "sentencepiece"),
    ),
    Library(
        "the JSON reader",
        ("loads",),
        (
            r"^expecting (?:value|property name enclosed|',' delimiter|':' delimiter)",
            r"^(?:unterminated string starting|extra data|invalid control character|invalid \\escape)",
            r"^unexpected (?:end of data|character)",
            r"^the json object must be str, bytes",
        ),
        owner="json",
        modules=("json",),
    ),
    Library("int()", ("int",), (r"^invalid literal for int\(\)", r"^int\(\) argument must be")),
    Library("float()", ("float",), (r"^could not convert string to float", r"^float\(\) argument must be")),
    Library(
        "jsonschema",
        ("check_schema", "validate", "validator_for"),
        (r"is not valid under any of the given schemas", r"failed validating"),
        owner="schema|valid",
        modules=("jsonschema",),
    ),
    Library(
        "base64",
        ("b64decode",),
        (r"incorrect padding", r"only base64 data is allowed", r"invalid base64"),
        is_telling=True,
        modules=("base64", "pybase64"),
    ),
    Library(
        "an image library",
        ("open", "load_image", "verify"),
        (r"cannot identify image file", r"broken data stream when reading image"),
        owner="(?i:image)",
        modules=("PIL",),
    ),
    Library(
        "the HTTP client",
        ("get", "request", "fetch"),
        (r"cannot connect to host", r"name or service not known", r"invalid url"),
        owner="session|client|requests|http",
        modules=("requests", "aiohttp", "httpx", "urllib"),
    ),
    Library(
        "msgspec",
        ("decode", "convert"),
        (
            r"object missing required field",
            r"expected `\w+(?:[^`]*)`, got `\w+`",
            r"object contains unknown field",
            r"invalid enum value",
            r"json is malformed",
        ),
        owner="msgspec|decoder",
        modules=("msgspec",),
    ),
)


def from_library(ground: Ground, registered: Registered | None, question: Question, text: str) -> Finding | None:
    """The finding for a text that a library made; None where no library is known to say so."""
    library = next((known for known in LIBRARIES if known.share(text) >= MOST), None)
    if library is not None and not library.is_used(ground):
        return None
    if library is None and _own_template(text, question) is not None:
        library = CHAT_TEMPLATE
    if library is None:
        return None
    evidence = Evidence(text, kind_of_text(text, question.answer.status), question.answer.param)
    kind, fields = settle(evidence, question)
    broken = broken_json(text, question) if kind == "malformed_json" or library.calls[0] == "loads" else None
    if broken:
        kind, fields = "malformed_json", [blamed(broken, f"this text is no JSON: {text}", 0.85)]
    held = next((name for name in library.about if name in question.fields), None)
    if held and not fields:
        fields = [blamed(f"/{held}", f"what {library.name} is given", 0.5)]
    if kind == "missing_field" and held and not question.fields[held]:
        kind = "bad_value"
    key = _known_key(ground, fields[0].pointer) if fields else ""
    spots: list[Spot] = []
    for call in library.calls:
        why = f"calls {call}; the text is of {library.name}"
        sites = call_sites(ground, registered, call, library.owner, key, why)
        if question.body is not None:
            sites = [site for site in sites if not _parses_body(ground, site.spot)]
        spots = claimable(sites, library.is_telling)[:MAX_SPOTS]
        if spots:
            break
    return Finding(kind, fields, spots, confidence=0.6 if spots else 0.2)


def _parses_body(ground: Ground, spot: Spot) -> bool:
    """Whether a statement parses the body itself, which a request that is JSON gets past."""
    lines = ground.index.lines(spot.file)[spot.line - 1 : spot.end_line]
    return any(BODY_NAME.search(line) for line in lines)


def _own_template(text: str, question: Question) -> str | None:
    """The pointer of a template that the request itself brought and that says this."""
    if len(text) < 6:
        return None
    for pointer, value in walk(question.body):
        if isinstance(value, str) and len(value) > len(text) and text in value and ("{%" in value or "{{" in value):
            return pointer
    return None


def _known_key(ground: Ground, pointer: str) -> str:
    """The innermost key of a pointer that the tree speaks of at all."""
    keys = [step for step in reversed(pointer.split("/")) if step.isidentifier()]
    return next((key for key in keys if ground.index.search.files_with([key])), "")


def broken_json(text: str, question: Question) -> str | None:
    """The pointer of the string in the request that fails to parse as JSON, with this text where one does."""
    broken: list[str] = []
    for pointer, value in walk(question.body):
        if isinstance(value, str) and value.lstrip()[:1] in {"{", "["}:
            try:
                json.loads(value)
            except ValueError as error:
                if str(error) in text:
                    return pointer
                broken.append(pointer)
            except RecursionError:
                broken.append(pointer)
    return broken[0] if len(broken) == 1 else None
