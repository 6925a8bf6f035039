"""Validation errors that a server printed as `location: message`, joined by semicolons or lines."""

from __future__ import annotations

import re

from llmdebug.diagnosis.validation_text import Entry, loc_of

MESSAGES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("missing", r"Field required"),
        ("extra_forbidden", r"Extra inputs are not permitted"),
        ("string_type", r"Input should be a valid string"),
        ("int_parsing", r"Input should be a valid integer, unable to parse"),
        ("int_from_float", r"Input should be a valid integer, got a number with a fractional part"),
        ("int_type", r"Input should be a valid integer"),
        ("float_parsing", r"Input should be a valid number, unable to parse"),
        ("float_type", r"Input should be a valid number"),
        ("bool_parsing", r"Input should be a valid boolean, unable to interpret"),
        ("bool_type", r"Input should be a valid boolean"),
        ("list_type", r"Input should be a valid list"),
        ("dict_type", r"Input should be a valid dictionary"),
        ("model_attributes_type", r"Input should be (?:a valid dictionary or|an object|an instance of)"),
        ("greater_than_equal", r"Input should be greater than or equal to"),
        ("greater_than", r"Input should be greater than"),
        ("less_than_equal", r"Input should be less than or equal to"),
        ("less_than", r"Input should be less than"),
        ("union_tag_invalid", r"Input tag '.*' found using"),
        ("union_tag_not_found", r"Unable to extract tag using discriminator"),
        ("too_short", r"\w+ should have at least"),
        ("too_long", r"\w+ should have at most"),
        ("string_pattern_mismatch", r"String should match pattern"),
        ("literal_error", r"Input should be '"),
        ("json_invalid", r"JSON decode error"),
        ("value_error", r"Value error, "),
    )
)
"""pydantic's messages, and its names for them."""
_START = re.compile(
    r"(?:^|[;\n,] ?|\s)([\w.\-]+(?:\[[^\n]*?\])?(?:\.[\w.\-]+)*): (?=" + "|".join(p.pattern for _, p in MESSAGES) + ")"
)


def printed_entries(text: str) -> list[Entry]:
    """The validation errors in a text of `location: message` pieces; empty where there are none."""
    starts = list(_START.finditer(text[:100_000]))
    found = []
    for place, start in enumerate(starts):
        end = starts[place + 1].start() if place + 1 < len(starts) else len(text)
        message = text[start.end() : end].strip(" ;\n")
        kind = next(name for name, pattern in MESSAGES if pattern.match(message))
        loc = loc_of(start[1])
        found.append(Entry(message, _with_tag(loc, message, kind), kind))
    return found


def _with_tag(loc: tuple[str | int, ...], message: str, kind: str) -> tuple[str | int, ...]:
    """For a wrong tag, the location of the tag itself."""
    if kind in {"union_tag_invalid", "union_tag_not_found"}:
        tag = re.search(r"discriminator '(\w+)'|using '(\w+)'", message)
        if tag:
            return (*loc, tag[1] or tag[2])
    return loc
