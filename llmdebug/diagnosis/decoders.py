"""What JSON decoders of other languages print where a value is not of the type that the code wants."""

from __future__ import annotations

import re

from llmdebug.diagnosis.validation_text import Entry

MAX_TEXT = 100_000
_GO = re.compile(
    r"json: cannot unmarshal (?P<given>\w+)(?: [^ \n]{1,40})? into Go "
    r"(?:struct field (?P<struct>\w+)\.(?P<path>[\w.-]+)|value) of type (?P<type>[^\s\"]+)"
)
_GO_MALFORMED = re.compile(
    r"^(?:invalid character '(?:\\.[0-9a-fA-Fx]*|[^'\n]|\\'|')' (?:looking for|after|in)|unexpected end of JSON input"
    r"|unexpected EOF$|EOF$)"
)
_GO_TYPES = (
    (re.compile(r"u?int\d*$"), "int_type"),
    (re.compile(r"float\d*$"), "float_type"),
    (re.compile(r"string$"), "string_type"),
    (re.compile(r"bool$"), "bool_type"),
    (re.compile(r"\["), "list_type"),
)


def decoder_entries(text: str) -> list[Entry]:
    """The errors of decoders in a text; empty where there are none.

    Go: https://pkg.go.dev/encoding/json#UnmarshalTypeError and #SyntaxError. Its location names keys, never places in
    lists: those are told by the JSON type of what was refused, kept as `given`.
    """
    text = text[:MAX_TEXT]
    found = []
    for told in _GO.finditer(text):
        kind = next((name for pattern, name in _GO_TYPES if pattern.match(told["type"])), "dict_type")
        path = tuple(told["path"].split(".")) if told["path"] else ()
        title = told["struct"] or told["type"].rpartition(".")[2]
        found.append(Entry(told[0], ("body", *path), kind, title=title, given=told["given"], speaker="go"))
    if not found and _GO_MALFORMED.match(text):
        found.append(Entry(text, (), "json_invalid", speaker="go"))
    return found
