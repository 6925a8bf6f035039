"""Shell text taken apart into commands and their words. Nothing is run.

Quotes, line continuations, comments, here-documents, pipes and lists of commands are read as a shell reads
them; variables get the values that the text itself gives them, else those of the environment. What only
running something could tell (`$(…)`) stays in its word as a mark, which `check_word` turns into an error.
A command inside `$(…)` is found as well: `answer=$(curl …)`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from llmdebug.formats.errors import FormatError
from llmdebug.http.secretnames import is_secret_parameter

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "'": "'", '"': '"', "\\": "\\", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|([eE])|(.))", re.DOTALL
)
_PLAIN = re.compile(r"[^\s'\"\\$`#|&;<>()^]+")
_OPERATOR = re.compile(r"\d?(?:<<<|<<-?|>>|>&|<&|&>|>\||[<>])|\|\|?|&&?|;;?|[()]")
_IN_DOUBLE = re.compile(r"[^\"\\$`]+")
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)(?::?([-=?+])([^{}]*))?\}|([A-Za-z_]\w*))")
_IN_HERE_DOCUMENT = re.compile(r"\\(?P<escaped>[\\$`\n])|\$(?P<command>\()|(?P<variable>\$\{?[A-Za-z_][^\s{}\"']*\}?)")
_ANSI_QUOTED = re.compile(r"\$'([^'\\]*+(?:\\.[^'\\]*+)*+)'", re.DOTALL)
_PARENTHESES = re.compile(r"""'[^']*+'|"[^"\\]*+(?:\\.[^"\\]*+)*+"|\\.|[()]""", re.DOTALL)
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_WORDS_BEFORE = "then do else elif if while until ! { time sudo command exec nohup export declare local readonly env"
_LEADING = frozenset(_WORDS_BEFORE.split())
_MARK = "\0"
"""Stands in a word for what only running something could tell; a shell's word cannot hold it."""
MAX_NESTED = 20


class ShellCommand(msgspec.Struct, frozen=True):
    """A command's words, its name first, without assignments and redirections."""

    words: tuple[str, ...]
    line: int
    stdin: str | None = None
    """From a here-document or here-string."""
    stdin_file: str = ""


def shell_commands(text: str, *, path: str = "", environment: Mapping[str, str]) -> list[ShellCommand]:
    """Raises FormatError where a quote or a here-document is not closed."""
    reader = _Reader(text, path, environment)
    reader.read()
    return reader.commands


def check_word(word: str, path: str, line: int) -> str:
    """The word. Raises FormatError where a part of it is not known."""
    if _MARK in word:
        told = "A part of this command is the output of another: it is not run. Write its text in its place."
        raise FormatError(path, told, line=line)
    return word


class _Reader:
    """Reads from left to right; `commands` are gathered on the way."""

    def __init__(
        self, text: str, path: str, environment: Mapping[str, str], depth: int = 0, first_line: int = 1
    ) -> None:
        self._text = text
        self._path = path
        self._environment = environment
        self._own: dict[str, str] = {}
        """Variables that the text sets."""
        self._depth = depth
        self._at = 0
        self._counted = (0, first_line)
        self._words: list[str] = []
        self._line = 0
        self._word: list[str] | None = None
        self._stdin: str | None = None
        self._stdin_file = ""
        self._redirect = ""
        self._waiting: list[tuple[str, bool, bool, int]] = []
        """Here-documents that begin at the next line: end word, quoted, without tabs, number of their command."""
        self.commands: list[ShellCommand] = []

    def read(self) -> None:
        while self._at < len(self._text):
            self._next()
        self._end_command()
        if self._waiting:
            raise self._error(f"The here-document is not closed with {self._waiting[0][0]}")

    def _next(self) -> None:
        text, at = self._text, self._at
        letter = text[at]
        plain = _PLAIN.match(text, at)
        if plain is not None and not (plain[0].isdecimal() and text[plain.end() : plain.end() + 1] in ("<", ">")):
            self._put(plain[0])
            self._at = plain.end()
        elif letter in "\\^" and re.match(r"[\\^]\r?\n", text[at : at + 3]):
            self._at = text.index("\n", at) + 1
        elif letter == "\n":
            self._at += 1
            self._end_command()
            self._here_documents()
        elif letter.isspace():
            self._at += 1
            self._end_word()
        elif letter == "#" and self._word is None:
            end = text.find("\n", at)
            self._at = len(text) if end == -1 else end
        else:
            self._quoted_or_operator(letter)

    def _quoted_or_operator(self, letter: str) -> None:
        text, at = self._text, self._at
        if letter == "'":
            self._put(text[at + 1 : self._closed("'", at + 1)])
        elif text.startswith("$'", at):
            match = _ANSI_QUOTED.match(text, at)
            if match is None:
                raise self._error("A quote is not closed")
            self._put(_unescaped(match[1]))
            self._at = match.end()
        elif letter == '"' or text.startswith('$"', at):
            self._at += 1 if letter == '"' else 2
            self._double_quoted()
        elif letter == "\\":
            self._put(text[at + 1 : at + 2])
            self._at += 2
        elif letter in "$`":
            self._put(self._expansion())
        else:
            self._operator(letter)

    def _closed(self, quote: str, start: int) -> int:
        end = self._text.find(quote, start)
        if end == -1:
            raise self._error("A quote is not closed")
        self._at = end + 1
        return end

    def _double_quoted(self) -> None:
        text = self._text
        self._put("")
        while True:
            plain = _IN_DOUBLE.match(text, self._at)
            if plain is not None:
                self._put(plain[0])
                self._at = plain.end()
            letter = text[self._at : self._at + 1]
            if not letter:
                raise self._error("A quote is not closed")
            if letter == '"':
                self._at += 1
                return
            if letter == "\\":
                escaped = text[self._at + 1 : self._at + 2]
                self._put("" if escaped == "\n" else escaped if escaped in ('"', "\\", "$", "`") else "\\" + escaped)
                self._at += 2
            else:
                self._put(self._expansion())

    def _expansion(self) -> str:
        """What stands for `$…` or `…` in backquotes; goes on behind it."""
        text, at = self._text, self._at
        match = _VARIABLE.match(text, at)
        if match is not None:
            self._at = match.end()
            return self._value(match)
        inner = None
        if text.startswith("$(", at):
            end = _parenthesis_end(text, at + 2)
            if end is None:
                raise self._error("A parenthesis is not closed")
            inner, self._at = text[at + 2 : end], end + 1
        elif text[at] == "`":
            inner = text[at + 1 : self._closed("`", at + 1)]
        if inner is None:
            self._at += 1
            return text[at]
        if self._depth < MAX_NESTED and "curl" in inner:
            below = _Reader(inner, self._path, self._environment, self._depth + 1, self._line_at(at))
            below._own = self._own
            below.read()
            self.commands += below.commands
        return _MARK

    def _value(self, match: re.Match[str]) -> str:
        """A variable's value; a secret of the environment by its name, and an unknown variable as it is written."""
        name = match[1] or match[4]
        own = self._own.get(name)
        value = self._environment.get(name) if own is None else own
        if match[2] in ("-", "=") and not value:
            return str(match[3])
        if own is None and is_secret_parameter(name):
            return "{{secret:" + name + "}}"
        return match[0] if value is None else value

    def _operator(self, letter: str) -> None:
        match = _OPERATOR.match(self._text, self._at)
        if match is None:
            self._put(letter)
            self._at += 1
            return
        sign = match[0]
        self._at = match.end()
        self._end_word()
        if sign[-1] in "<>" or sign.endswith(("<<-", ">&", "<&", "&>", ">|")):
            self._redirect = sign.lstrip("0123456789")
        else:
            self._end_command()

    def _put(self, piece: str) -> None:
        if self._word is None:
            self._word = []
            if not self._words:
                self._line = self._line_at(self._at)
        self._word.append(piece)

    def _end_word(self) -> None:
        if self._word is None:
            return
        word, self._word = "".join(self._word), None
        sign, self._redirect = self._redirect, ""
        if not sign:
            self._words.append(word)
        elif sign == "<<<":
            self._stdin = word + "\n"
        elif sign.startswith("<<"):
            before = self._text[max(self._at - len(word) - 3, 0) : self._at]
            quoted = "'" in before or '"' in before or "\\" in before
            self._waiting.append((word, quoted, sign.endswith("-"), len(self.commands)))
        elif sign == "<":
            self._stdin_file = word

    def _end_command(self) -> None:
        self._end_word()
        words = self._words
        assigned: dict[str, str] = {}
        while words:
            match = _ASSIGNMENT.fullmatch(words[0])
            if match is not None:
                assigned[match[1]] = match[2]
            elif words[0] not in _LEADING:
                break
            words = words[1:]
        if words:
            self.commands.append(ShellCommand(tuple(words), self._line, self._stdin, self._stdin_file))
        else:
            self._own.update(assigned)
        self._words, self._stdin, self._stdin_file, self._redirect = [], None, "", ""

    def _here_documents(self) -> None:
        waiting, self._waiting = self._waiting, []
        for end_word, quoted, without_tabs, number in waiting:
            body = self._here_document(end_word, without_tabs)
            if not quoted:
                body = _IN_HERE_DOCUMENT.sub(self._of_here_document, body)
            if number < len(self.commands):
                self.commands[number] = msgspec.structs.replace(self.commands[number], stdin=body)

    def _of_here_document(self, match: re.Match[str]) -> str:
        if match["escaped"]:
            return "" if match["escaped"] == "\n" else match["escaped"]
        return _MARK if match["command"] else _VARIABLE.sub(self._value, match["variable"])

    def _here_document(self, end_word: str, without_tabs: bool) -> str:
        lines: list[str] = []
        while self._at < len(self._text):
            end = self._text.find("\n", self._at)
            end = len(self._text) if end == -1 else end
            line = self._text[self._at : end].removesuffix("\r")
            self._at = end + 1
            line = line.lstrip("\t") if without_tabs else line
            if line == end_word:
                return "".join(lines)
            lines.append(line + "\n")
        raise self._error(f"The here-document is not closed with {end_word}")

    def _line_at(self, offset: int) -> int:
        """Counted on from the last place that was asked for."""
        before, line = self._counted
        line += self._text.count("\n", before, offset) if offset >= before else -self._text.count("\n", offset, before)
        self._counted = (offset, line)
        return line

    def _error(self, told: str) -> FormatError:
        return FormatError(self._path, f"The shell text is not complete: {told}.", line=self._line_at(self._at))


def _parenthesis_end(text: str, start: int) -> int | None:
    """Where a `$(` is closed, quotes passed over."""
    depth = 1
    for match in _PARENTHESES.finditer(text, start):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if depth == 0:
            return match.start()
    return None


def _unescaped(text: str) -> str:
    """As `$'…'` says it; bytes that are written one by one become the text they make."""

    def letter(match: re.Match[str]) -> str:
        hexadecimal = match[2] or match[3]
        if hexadecimal:
            code = int(hexadecimal, 16)
            return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
        if match[1] or match[4]:
            byte = int(match[1], 16) if match[1] else int(match[4], 8) & 0xFF
            return chr(byte) if byte < 0x80 else chr(0xDC00 + byte)
        return "\x1b" if match[5] else _ESCAPES.get(match[6], "\\" + match[6])

    return _ESCAPE.sub(letter, text).encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
