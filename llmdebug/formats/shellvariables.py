"""The values of shell variables, and what stands in a word where only running something could tell its text."""

from __future__ import annotations

import re
from collections.abc import Mapping

from llmdebug.formats.errors import FormatError
from llmdebug.http.secretnames import is_secret_parameter

EXPANSION = re.compile(
    r"\$(?:\{(?P<braced>[A-Za-z_]\w*)(?::?(?P<sign>[-=?+])(?P<other>[^{}]*))?\}|(?P<plain>[A-Za-z_]\w*)"
    r"|(?P<given>[0-9@*#?!$]|\{[0-9@*#?!$]+\})|(?P<strange>\{[^{}\s]*\}))"
)
IN_HERE_DOCUMENT = re.compile(
    r"\\(?P<escaped>[\\$`\n])|(?P<command>\$\(|`[^`]*`)|(?P<variable>" + r"\$(?:\{[^{}]*\}|\w+))"
)
_MARK = re.compile("\0([^\0]*)\0")
OUTPUT = "\0A part of this command is the output of another: it is not run. Write its text in its place.\0"
"""Stands in a word for the output of a command."""


def mark(told: str) -> str:
    """Stands in a word for what is not known, and says why; a shell's word cannot hold it."""
    return f"\0{told}\0"


def check_word(word: str, path: str, line: int) -> str:
    """The word. Raises FormatError where a part of it is not known."""
    found = _MARK.search(word)
    if found is not None:
        raise FormatError(path, found[1], line=line)
    return word


class Variables:
    """Those that the text sets go before the environment's."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self.own: dict[str, str] = {}

    def value(self, match: re.Match[str]) -> str:
        """What stands for a match of EXPANSION; a secret of the environment stands by its name."""
        if match["given"]:
            return mark(
                f"{match[0]} is what a script is called with or what its shell knows: write its value in its place, "
                f"or \\{match[0]} for a dollar sign."
            )
        if match["strange"]:
            return mark(f"{match[0]} is no expansion that is followed here: write its value in its place.")
        name = match["braced"] or match["plain"]
        own = self.own.get(name)
        value = self._environment.get(name) if own is None else own
        if match["sign"] in ("-", "=") and not value:
            return str(match["other"])
        if match["sign"] == "+":
            return str(match["other"]) if value else ""
        if own is None and is_secret_parameter(name):
            return "{{secret:" + name + "}}"
        if value is None:
            return mark(f"The variable {name} is not set: set it in the environment, or write its value in its place.")
        return value

    def of_here_document(self, match: re.Match[str]) -> str:
        """What stands for a match of IN_HERE_DOCUMENT."""
        if match["escaped"]:
            return "" if match["escaped"] == "\n" else match["escaped"]
        return OUTPUT if match["command"] else EXPANSION.sub(self.value, match["variable"])
