"""The options of a file for `curl -K`: one a line, `header = "X: y"`, with or without dashes, `#` before a comment."""

from __future__ import annotations

import re
from collections.abc import Iterator

from llmdebug.formats.curl_options import Option, OptionError, Word, options_of

_LINE = re.compile(r"(-{0,2}[^\s=:]+)(?:[ \t]*[=:][ \t]*|[ \t]+|$)(.*)")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "v": "\v"}


def config_options(text: str, line: int) -> Iterator[Option]:
    """Each as if it stood in the command at `line`. Raises OptionError, naming the line of the file."""
    for number, written in enumerate(text.splitlines(), start=1):
        stripped = written.strip()
        if not stripped or stripped.startswith("#"):
            continue
        try:
            yield from options_of(_words(stripped, line))
        except OptionError as error:
            raise OptionError(f"Line {number} of its config file: {error}", line) from None


def _words(stripped: str, line: int) -> list[Word]:
    match = _LINE.match(stripped)
    if match is None:
        raise OptionError(f"{stripped!r} is no option", line)
    name, rest = match[1], match[2].strip()
    dashed = name if name.startswith("-") else f"--{name}"
    if not rest:
        return [Word(dashed, line)]
    quoted = _QUOTED.match(rest)
    if quoted is not None:
        value = re.sub(r"\\(.)", lambda escape: _ESCAPES.get(escape[1], escape[1]), quoted[1])
    else:
        value = rest.split()[0]
    return [Word(dashed, line), Word(value, line)]
