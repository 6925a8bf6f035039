"""What Rust's serde says of a body that it can't read, as servers pass it on.

`parameters.best_of: invalid type: string "a", expected u32 at line 1 column 9`: the path stands there where the server
keeps track of it, line and column where the text itself was read.
"""

from __future__ import annotations

import re

from llmdebug.diagnosis.validation_text import Entry, Loc, loc_of

MAX_TEXT = 20_000
_SAID = re.compile(
    r"(?:(?:^|(?<=: )|(?<=\n))(?P<path>[\w\-.$?\[\]]{1,400}): )?"
    r"(?P<said>missing field `(?P<missing>[^`\n]{1,200})`"
    r"|unknown field `(?P<unknown>[^`\n]{1,200})`, (?:expected|there are)[^\n]{0,2000}?"
    r"|duplicate field `(?P<twice>[^`\n]{1,200})`"
    r"|unknown variant `(?P<variant>[^`\n]{0,200})`, (?:expected|there are)[^\n]{0,2000}?"
    r"|invalid type: (?P<given>[^\n]{1,2000}?), expected (?P<type>[^\n]{1,300}?)"
    r"|invalid value: (?P<refused>[^\n]{1,2000}?), expected (?P<value>[^\n]{1,300}?)"
    r"|invalid length (?P<length>\d{1,9}), expected [^\n]{1,300}?"
    r"|data did not match any variant of untagged enum (?P<union>\w{1,100})"
    r"|no variant of enum (?P<flat>\w{1,100}) found in flattened data)"
    r"(?: at line (?P<line>\d{1,9}) column (?P<column>\d{1,9})|\.?(?=\n|$))",
)
_BROKEN = re.compile(
    r"(?:EOF while parsing an? \w+"
    r"|expected (?:value|ident|`[^`\n]{1,9}`(?: or `[^`\n]{1,9}`)?)"
    r"|trailing (?:comma|characters)|key must be a string|invalid escape|invalid number|number out of range"
    r"|control character \([^)\n]{1,40}\) found while parsing a string|recursion limit exceeded"
    r"|lone leading surrogate in hex escape|invalid unicode code point)"
    r" at line \d{1,9} column \d{1,9}"
)
_NAMED = (("missing", "missing"), ("unknown", "extra_forbidden"), ("twice", "duplicate_key"))
_EXPECTED = tuple(
    (re.compile(pattern), kind)
    for pattern, kind in (
        (r"(?:a |an )?(?:borrowed )?(?:string|str|char)\w*\b", "string_type"),
        (r"(?:a )?bool", "bool_type"),
        (r"(?:a |an )?(?:nonzero )?(?:[ui](?:8|16|32|64|128|size)|integer)\b", "int_type"),
        (r"(?:a )?(?:f32|f64|float|number)", "float_type"),
        (r"(?:a |an )?(?:sequence|tuple|array|list)", "list_type"),
        (r"(?:a |an )?(?:map|object|struct|internally tagged|adjacently tagged)", "dict_type"),
    )
)


def serde_entries(text: str) -> list[Entry]:
    """The complaint that a text holds, if serde wrote it: one at most, as serde stops at the first."""
    text = text[:MAX_TEXT]
    if _BROKEN.search(text) and "type:" not in text.partition(" at line ")[0]:
        return [Entry(text, (), "json_invalid", speaker="rust")]
    match = _SAID.search(text)
    if match is None:
        return []
    kind, name = next(((kind, match[group]) for group, kind in _NAMED if match[group]), (_kind(match), ""))
    path = match["path"] or ""
    loc = () if path in {"", ".", "error"} else _loc(path)
    at = (int(match["line"]), int(match["column"])) if match["line"] else (0, 0)
    return [
        Entry(
            match["said"],
            (*loc, name) if name else loc,
            kind,
            title=match["union"] or match["flat"] or "",
            at=at,
            word=match["variant"] or "",
            speaker="rust",
        )
    ]


def _loc(path: str) -> Loc:
    return tuple(step for step in loc_of(path) if step != "?")


def _kind(match: re.Match[str]) -> str:
    """pydantic's name for what serde says."""
    if match["variant"] is not None:
        return "enum"
    if match["length"]:
        return "too_long" if "fewer" in match["said"] else "too_short"
    if match["type"]:
        kind = next((kind for pattern, kind in _EXPECTED if pattern.match(match["type"])), "model_type")
        return "int_from_float" if kind == "int_type" and match["given"].startswith("floating point") else kind
    if match["value"]:
        given = match["refused"]
        if not given.startswith(("integer", "floating point")):
            return "enum"
        return "greater_than_equal" if "`-" in given or "`0" in given else "less_than_equal"
    return "variant_type"
