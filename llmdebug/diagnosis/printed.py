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
        ("union_tag_invalid", r"Input tag '[^\n]{0,200}' found using"),
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
MAX_PRINTED = 100_000
MAX_ENTRIES = 400
MAX_LOCATION = 1_000
_MESSAGE = re.compile("(?<=: )(?:" + "|".join(p.pattern for _, p in MESSAGES) + ")")


def printed_entries(text: str) -> list[Entry]:
    """The validation errors in a text of `location: message` pieces; empty where there are none."""
    text = text[:MAX_PRINTED]
    starts: list[tuple[str, int]] = []
    for message in _MESSAGE.finditer(text):
        location = _location(text, message.start() - 2)
        if location:
            starts.append((location, message.start()))
        if len(starts) >= MAX_ENTRIES:
            break
    found = []
    ends = [start - 2 - len(location) for location, start in starts[1:]]
    for (location, start), end in zip(starts, [*ends, len(text)], strict=False):
        message_text = text[start:end].strip(" ;,\n")
        kind = next(name for name, pattern in MESSAGES if pattern.match(text, start))
        found.append(Entry(message_text, _with_tag(loc_of(location), message_text, kind), kind))
    return found


def _location(text: str, end: int) -> str:
    """The location that ends there: words and dots, with anything in brackets."""
    depth, start = 0, end
    while start > 0 and end - start < MAX_LOCATION:
        character = text[start - 1]
        depth += (character == "]") - (character == "[")
        if depth < 0 or character == "\n" or (depth == 0 and not (character.isalnum() or character in "_.-[")):
            break
        start -= 1
    ended = start == 0 or text[start - 1] in ";, \n\t"
    return text[start:end] if ended and depth == 0 else ""


def _with_tag(loc: tuple[str | int, ...], message: str, kind: str) -> tuple[str | int, ...]:
    """For a wrong tag, the location of the tag itself."""
    if kind in {"union_tag_invalid", "union_tag_not_found"}:
        tag = re.search(r"discriminator '(\w+)'|using '(\w+)'", message)
        if tag:
            return (*loc, tag[1] or tag[2])
    return loc
