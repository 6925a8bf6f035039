"""Shell text taken apart into commands and their words. Nothing is run.

Quotes, line continuations, comments, here-documents, pipes and lists of commands are read as a shell reads
them; variables get the values that the text itself gives them, else those of the environment, and `for` over
plain words is followed. What only running something could tell (`$(…)`, a variable that is not set) stays in its
word as a mark, which `check_word` turns into an error. A command inside `$(…)` is found as well: `answer=$(curl …)`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from llmdebug.formats.errors import FormatError
from llmdebug.formats.shellquotes import ANSI_QUOTED, parenthesis_end, unescaped
from llmdebug.formats.shellvariables import EXPANSION, IN_HERE_DOCUMENT, OUTPUT, Variables, mark

_PLAIN = re.compile(r"[^\s'\"\\$`#|&;<>()^]+")
_OPERATOR = re.compile(r"\d?(?:<<<|<<-?|>>|>&|<&|&>|>\||[<>])|\|\|?|&&?|;;?|[()]")
_IN_DOUBLE = re.compile(r"[^\"\\$`]+")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_WORDS_BEFORE = "then do else elif if while until ! { time sudo command exec nohup export declare local readonly env"
_LEADING = frozenset(_WORDS_BEFORE.split())
_WILD = re.compile(r"[*?\[{\0]")
_NUL = "This holds a NUL character, which no argument of a command can hold."
MAX_NESTED = 20
MAX_TURNS = 1_000
Word = tuple[str, int]
"""A word and its line."""


class ShellCommand(msgspec.Struct, frozen=True):
    """A command's words, its name first, without assignments and redirections."""

    words: tuple[str, ...]
    lines: tuple[int, ...]
    """Of each word."""
    stdin: str | None = None
    """From a here-document or here-string."""
    stdin_file: str = ""
    taken_once: bool = False
    """Whether it stands in a loop that is not followed."""
    if_failed: bool = False
    """Whether it stands behind `||`: a shell runs it only where the command before fails."""

    @property
    def line(self) -> int:
        return self.lines[0]


def shell_commands(text: str, *, path: str = "", environment: Mapping[str, str]) -> list[ShellCommand]:
    """Raises FormatError where a quote or a here-document is not closed, and for a NUL, which no argument can hold."""
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise FormatError(path, _NUL, line=line)
    reader = _Reader(text, path, environment)
    reader.read()
    return reader.commands


class _Loop:
    """A loop whose commands are being read; `for` over words that are known is gone through turn by turn."""

    def __init__(self, start: int, name: str = "", left: tuple[str, ...] = ()) -> None:
        self.start = start
        self.name = name
        self.left = list(left)
        self.is_followed = bool(left)


class _Reader:
    """Reads from left to right; `commands` are gathered on the way."""

    def __init__(
        self, text: str, path: str, environment: Mapping[str, str], depth: int = 0, first_line: int = 1
    ) -> None:
        self._text = text
        self._path = path
        self._environment = environment
        self._variables = Variables(environment)
        self._loops: list[_Loop] = []
        self._turns = 0
        self._depth = depth
        self._at = 0
        self._counted = (0, first_line)
        self._words: list[Word] = []
        self._line = 0
        self._word: list[str] | None = None
        self._stdin: str | None = None
        self._stdin_file = ""
        self._redirect = ""
        self._if_failed = False
        self._waiting: list[tuple[str, bool, bool, int]] = []
        """Here-documents that begin at the next line: end word, quoted, without tabs, number of their command."""
        self.commands: list[ShellCommand] = []

    def read(self) -> None:
        while self._at < len(self._text):
            self._next()
            if self._at >= len(self._text):
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
            match = ANSI_QUOTED.match(text, at)
            if match is None:
                raise self._error("A quote is not closed")
            quoted = unescaped(match[1])
            if "\0" in quoted:
                raise FormatError(self._path, _NUL, line=self._line_at(at))
            self._put(quoted)
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
        match = EXPANSION.match(text, at)
        if match is not None:
            self._at = match.end()
            return self._variables.value(match)
        inner = None
        if text.startswith("$(", at):
            end = parenthesis_end(text, at + 2)
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
            below._variables = self._variables
            below.read()
            self.commands += below.commands
        return OUTPUT

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
            self._if_failed = self._if_failed or sign == "||"

    def _put(self, piece: str) -> None:
        if self._word is None:
            self._word = []
            self._line = self._line_at(self._at)
        self._word.append(piece)

    def _end_word(self) -> None:
        if self._word is None:
            return
        word, self._word = "".join(self._word), None
        sign, self._redirect = self._redirect, ""
        if not sign:
            self._words.append((word, self._line))
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
        if_failed = self._if_failed
        self._if_failed = if_failed and not words
        assigned: dict[str, str] = {}
        while words:
            first = words[0][0]
            match = _ASSIGNMENT.fullmatch(first)
            if match is not None:
                assigned[match[1]] = match[2]
            elif first in ("while", "until"):
                self._loops.append(_Loop(self._at))
            elif first not in _LEADING:
                break
            words = words[1:]
        stdin, stdin_file = self._stdin, self._stdin_file
        self._words, self._stdin, self._stdin_file, self._redirect = [], None, "", ""
        if not words:
            self._variables.own.update(assigned)
        elif not self._control(*(word for word, _ in words)):
            once = any(not loop.is_followed for loop in self._loops)
            texts, lines = zip(*words, strict=True)
            self.commands.append(ShellCommand(texts, lines, stdin, stdin_file, once, if_failed))

    def _control(self, name: str, *words: str) -> bool:
        """Follows what decides about the commands around it; whether it is such."""
        if name == "for":
            self._begin_loop(words)
        elif name == "read":
            told = "The variable {} is read from elsewhere while the script runs: write its value in its place."
            self._variables.own.update({word: mark(told.format(word)) for word in words if word.isidentifier()})
        elif name == "done" and self._loops:
            self._end_turn(self._loops[-1])
        else:
            return False
        return True

    def _begin_loop(self, words: tuple[str, ...]) -> None:
        name, values = (words[0] if words else ""), words[2:]
        if all(_WILD.search(value) is None for value in values) and words[1:2] == ("in",):
            self._loops.append(_Loop(self._at, name, values))
            self._end_turn(self._loops[-1])
            return
        self._loops.append(_Loop(self._at))
        told = f"The variable {name} is set by a loop that is not followed: write its commands out, one for each value."
        self._variables.own[name] = mark(told)

    def _end_turn(self, loop: _Loop) -> None:
        if not loop.left:
            self._loops.pop()
            return
        self._turns += 1
        if self._turns > MAX_TURNS:
            raise FormatError(
                self._path, f"The loops make more than {MAX_TURNS:,} turns.", line=self._line_at(loop.start)
            )
        self._variables.own[loop.name] = loop.left.pop(0)
        self._at = loop.start

    def _here_documents(self) -> None:
        waiting, self._waiting = self._waiting, []
        for end_word, quoted, without_tabs, number in waiting:
            body = self._here_document(end_word, without_tabs)
            if not quoted:
                body = IN_HERE_DOCUMENT.sub(self._variables.of_here_document, body)
            if number < len(self.commands):
                self.commands[number] = msgspec.structs.replace(self.commands[number], stdin=body)

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
