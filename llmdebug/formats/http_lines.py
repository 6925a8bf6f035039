"""The lines of an `.http` file, sorted into requests, variables and what is skipped."""

from __future__ import annotations

import re

import msgspec

from llmdebug.formats.errors import FormatError
from llmdebug.formats.variables import Definition

_SEPARATOR = re.compile(r"###+[ \t]*(.*)")
_DEFINITION = re.compile(r"@([A-Za-z_][\w.-]*)[ \t]*=[ \t]*(.*)")
_COMMENT = re.compile(r"[ \t]*(?:#|//)(.*)")
_NAME = re.compile(r"[ \t]*@name[ \t]*[= \t][ \t]*(\S.*)")
_HEADER = re.compile(r"([^\s:]+)[ \t]*:[ \t]*(.*)")
_INCLUDE = re.compile(r"<(?:(@)\S*)?[ \t]+(?!\{%)(\S.*)")
_VERSION = re.compile(r"HTTP/\d(?:\.\d)?")
_SCRIPT = re.compile(r"[<>][ \t]*\{%")
_RESPONSE_FILE = re.compile(r"(?:>>!?|<>)[ \t]+\S|>[ \t]+\S+\.js\b")


class BodyPart(msgspec.Struct, frozen=True):
    """A piece of a body: text, or the name of a file that holds it."""

    text: str
    line: int
    is_file: bool = False
    fill: bool = False
    """Whether the file's variables are filled in: `<@ file`."""


class Block(msgspec.Struct, frozen=True):
    """One request as it is written."""

    name: str
    request_line: str
    line: int
    query: str
    """From lines of their own below the request line."""
    headers: tuple[tuple[str, str, int], ...]
    """Name, value, line."""
    body: tuple[BodyPart, ...]


class _Lines:
    """The lines of one block, with a mark on the next."""

    def __init__(self, lines: list[tuple[int, str]]) -> None:
        self._lines = lines
        self._at = 0

    def next(self) -> tuple[int, str] | None:
        return self._lines[self._at] if self._at < len(self._lines) else None

    def take(self) -> tuple[int, str]:
        self._at += 1
        return self._lines[self._at - 1]

    def rest(self) -> list[tuple[int, str]]:
        rest, self._at = self._lines[self._at :], len(self._lines)
        return rest


class _Sorter:
    """Gathers what the blocks of a file hold."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.blocks: list[Block] = []
        self.definitions: list[Definition] = []
        self.warnings: list[str] = []

    def add(self, title: str, numbered: list[tuple[int, str]]) -> None:
        lines = _Lines(numbered)
        name = self._before_request(lines, title)
        first = lines.next()
        if first is None:
            return
        number, request_line = lines.take()
        query = self._query(lines)
        headers, inner_name = self._headers(lines)
        body = self._body(lines.rest())
        self.blocks.append(Block(inner_name or name, request_line.strip(), number, query, tuple(headers), tuple(body)))

    def _before_request(self, lines: _Lines, name: str) -> str:
        while (line := lines.next()) is not None:
            number, text = line
            comment = _COMMENT.fullmatch(text)
            definition = _DEFINITION.fullmatch(text.strip())
            if _SCRIPT.match(text):
                self._skip_script(lines)
                continue
            if comment:
                named = _NAME.fullmatch(comment[1])
                name = named[1].strip() if named else name
            elif definition:
                self.definitions.append(Definition(definition[1], definition[2].strip(), number))
            elif text.strip():
                return name
            lines.take()
        return name

    def _query(self, lines: _Lines) -> str:
        pieces = []
        while (line := lines.next()) is not None:
            text = line[1].strip()
            if not text.startswith(("?", "&")):
                break
            pieces.append(without_version(text))
            lines.take()
        return "".join(pieces)

    def _headers(self, lines: _Lines) -> tuple[list[tuple[str, str, int]], str]:
        headers: list[tuple[str, str, int]] = []
        name = ""
        while (line := lines.next()) is not None:
            number, text = line
            if not text.strip():
                break
            if _SCRIPT.match(text) or _INCLUDE.fullmatch(text) or _RESPONSE_FILE.match(text):
                break
            lines.take()
            comment = _COMMENT.fullmatch(text)
            if comment:
                named = _NAME.fullmatch(comment[1])
                name = named[1].strip() if named else name
                continue
            match = _HEADER.fullmatch(text.strip())
            if match is None:
                told = f"{_shown(text)} is no header: write 'Name: value', and a blank line before the body."
                raise FormatError(self._path, told, line=number)
            headers.append((match[1], match[2].strip(), number))
        return headers, name

    def _body(self, numbered: list[tuple[int, str]]) -> list[BodyPart]:
        parts: list[BodyPart] = []
        text: list[tuple[int, str]] = []
        lines = _Lines(numbered)
        while (line := lines.next()) is not None:
            if _SCRIPT.match(line[1]):
                self._skip_script(lines)
                continue
            lines.take()
            if _RESPONSE_FILE.match(line[1]):
                self.warnings.append(f"{self._path}:{line[0]}: a response file is not written or read.")
                continue
            include = _INCLUDE.fullmatch(line[1])
            if include is None:
                text.append(line)
                continue
            parts += _text_part(text)
            text = []
            parts.append(BodyPart(include[2].strip(), line[0], is_file=True, fill=include[1] is not None))
        return parts + _text_part(text)

    def _skip_script(self, lines: _Lines) -> None:
        number, text = lines.take()
        self.warnings.append(f"{self._path}:{number}: a script is not run; it is skipped.")
        while "%}" not in text:
            if lines.next() is None:
                raise FormatError(self._path, "The script is not closed with %}.", line=number)
            text = lines.take()[1]


def without_version(line: str) -> str:
    """A request line, or the last line of its query, without the `HTTP/1.1` at its end."""
    words = line.rsplit(None, 1)
    return words[0] if len(words) == 2 and _VERSION.fullmatch(words[1]) else line


def blocks_of(text: str, path: str) -> tuple[tuple[Block, ...], tuple[Definition, ...], tuple[str, ...]]:
    """The requests, variables and warnings of a file. Raises FormatError."""
    sorter = _Sorter(path)
    title = ""
    gathered: list[tuple[int, str]] = []
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        separator = _SEPARATOR.fullmatch(line)
        if separator is None:
            gathered.append((number, line))
            continue
        sorter.add(title, gathered)
        title, gathered = separator[1].strip(), []
    sorter.add(title, gathered)
    return tuple(sorter.blocks), tuple(sorter.definitions), tuple(sorter.warnings)


def _text_part(lines: list[tuple[int, str]]) -> list[BodyPart]:
    """Blank lines around a body are the file's, not the body's."""
    kept = list(lines)
    while kept and not kept[0][1].strip():
        kept.pop(0)
    while kept and not kept[-1][1].strip():
        kept.pop()
    if not kept:
        return []
    return [BodyPart("\n".join(text for _, text in kept), kept[0][0])]


def _shown(text: str) -> str:
    stripped = text.strip()
    return repr(stripped if len(stripped) <= 60 else stripped[:60] + "…")
