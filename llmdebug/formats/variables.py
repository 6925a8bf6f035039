"""Variables of `.http` files: `{{name}}`, and the `{{$…}}` ones that are computed.

`{{secret:NAME}}` is no variable but a redacted secret, and anything between the braces that could not be
a name (a template language's expression) is text: both stay as they are.
"""

from __future__ import annotations

import difflib
import random
import re
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from llmdebug.formats.errors import FormatError, decode_text, read_file

_REFERENCE = re.compile(r"\{\{\s*(?:([A-Za-z_][\w.-]*)|\$([A-Za-z][\w.-]*)((?:[ \t]++[^\s{}]++)*+))\s*\}\}")
_OF_A_STEP = re.compile(r"[\w-]+\.(?:request|response)\.(?:body|headers)\b")
"""`{{login.response.headers.X-Id}}` stays for whoever steps through the file."""
_MAX_EXPANDED = 16 * 1024 * 1024
_MAX_NESTED = 50
_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


class Definition(msgspec.Struct, frozen=True):
    """`@name = value` in a file."""

    name: str
    value: str
    line: int


class Variables:
    """Fills in one request's variables; a computed one that a definition holds keeps its value in it."""

    def __init__(
        self,
        definitions: Sequence[Definition],
        given: Mapping[str, str],
        environment: Mapping[str, str],
        path: str,
        folder: Path | None,
    ) -> None:
        self._definitions = definitions
        self._given = given
        self._environment = environment
        self._path = path
        self._folder = folder
        self._values: dict[str, str] = {}
        self._open: list[str] = []
        self._dotenv: dict[str, str] | None = None

    def filled(self, text: str, line: int) -> str:
        """The text with its variables' values. Raises FormatError at `line` and the lines that follow it."""
        if "{{" not in text:
            return text
        pieces: list[str] = []
        size = at = 0
        for match in _REFERENCE.finditer(text):
            here = line + text.count("\n", 0, match.start())
            if match[1] is not None and _OF_A_STEP.match(match[1]):
                value = match[0]
            elif match[1] is not None:
                value = self._value(match[1], here)
            else:
                value = self._computed(match[2], match[3].split(), here)
            pieces += (text[at : match.start()], value)
            at = match.end()
            size += len(value)
            if size > _MAX_EXPANDED:
                raise FormatError(self._path, "The variables expand to too long a text.", line=here)
        return "".join([*pieces, text[at:]])

    def _value(self, name: str, line: int) -> str:
        if name in self._given:
            return self._given[name]
        if name in self._values:
            return self._values[name]
        definition = self._definition(name, line)
        if name in self._open or len(self._open) > _MAX_NESTED:
            raise FormatError(self._path, f"The variable {name} is defined by itself.", line=definition.line)
        self._open.append(name)
        value = self.filled(definition.value, definition.line)
        self._open.pop()
        self._values[name] = value
        return value

    def _definition(self, name: str, line: int) -> Definition:
        """The last one before the line; else the first after it."""
        found = [item for item in self._definitions if item.name == name]
        before = [item for item in found if item.line <= line]
        if found:
            return before[-1] if before else found[0]
        known = {item.name for item in self._definitions} | set(self._given)
        raise FormatError(self._path, f"The variable {name} is not defined{_nearest(name, known)}", line=line)

    def _computed(self, name: str, arguments: list[str], line: int) -> str:
        if name == "processEnv":
            return self._looked_up(self._environment, "environment", arguments, line)
        if name == "dotenv":
            return self._looked_up(self._dotenv_values(line), ".env file", arguments, line)
        compute = _COMPUTED.get(name)
        if compute is None:
            told = f"There is no variable ${name}{_nearest(name, {*_COMPUTED, 'processEnv', 'dotenv'})}"
            raise FormatError(self._path, told, line=line)
        try:
            return compute(arguments)
        except (ValueError, IndexError, KeyError, OverflowError):
            raise FormatError(
                self._path, f"${name} cannot be computed from {' '.join(arguments) or 'nothing'}.", line=line
            ) from None

    def _looked_up(self, values: Mapping[str, str], where: str, arguments: list[str], line: int) -> str:
        if len(arguments) != 1:
            raise FormatError(self._path, f"Name one variable of the {where}.", line=line)
        name = arguments[0]
        if name.startswith("%"):
            name = self._value(name[1:], line)
        if name not in values:
            told = f"{name} is not set in the {where}{_nearest(name, set(values))}"
            raise FormatError(self._path, told, line=line)
        return values[name]

    def _dotenv_values(self, line: int) -> dict[str, str]:
        if self._dotenv is None:
            if self._folder is None:
                raise FormatError(self._path, "There is no folder to look for a .env file in.", line=line)
            file = self._folder / ".env"
            if not file.is_file():
                raise FormatError(self._path, f"There is no file {file}, which $dotenv reads.", line=line)
            self._dotenv = dict(_dotenv_lines(decode_text(read_file(file, _MAX_EXPANDED), file)))
        return self._dotenv


def _dotenv_lines(text: str) -> list[tuple[str, str]]:
    pairs = []
    for raw in text.splitlines():
        name, equals, value = raw.strip().removeprefix("export ").partition("=")
        value = value.strip()
        if not equals or name.startswith("#"):
            continue
        quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
        pairs.append((name.strip(), value[1:-1] if quoted else value.split(" #")[0].rstrip()))
    return pairs


def _nearest(name: str, known: set[str]) -> str:
    close = difflib.get_close_matches(name, sorted(known), n=1)
    return f"; did you mean {close[0]}?" if close else "."


def _moment(arguments: list[str]) -> float:
    """Now, or `-3 h` from now."""
    if not arguments:
        return time.time()
    return time.time() + int(arguments[0]) * _UNITS_S[arguments[1]]


def _uuid(arguments: list[str]) -> str:
    return str(uuid.uuid4())


def _timestamp(arguments: list[str]) -> str:
    return str(int(_moment(arguments)))


def _iso_time(arguments: list[str]) -> str:
    rest = arguments[1:] if arguments[:1] == ["iso8601"] else arguments
    return datetime.fromtimestamp(_moment(rest), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _random_int(arguments: list[str]) -> str:
    """The upper end is not reached, as in both editors that know the variable."""
    low, high = (int(argument) for argument in arguments or ("0", "1000"))
    return str(random.randrange(low, high))


_COMPUTED: dict[str, Callable[[list[str]], str]] = {
    "uuid": _uuid,
    "guid": _uuid,
    "random.uuid": _uuid,
    "timestamp": _timestamp,
    "isoTimestamp": _iso_time,
    "datetime": _iso_time,
    "randomInt": _random_int,
    "random.integer": _random_int,
}
