"""curl commands: one pasted command to a request, and a request as a command to paste elsewhere.

Reads what people and documentation write: `-X -H -d --data-raw --json -u -b -A --url -G`, `$'…'`, line
continuations, a leading `$`, variables before the command. Files (`@name`) are not read.
"""

from __future__ import annotations

import base64
import re
import shlex
from urllib.parse import quote

from llmdebug.formats.errors import FormatError
from llmdebug.http.exchange import Headers, Request, header

_START = re.compile(r"(?:^|[\s;&|])curl(?:\.exe)?\s")
_SHELL = re.compile(
    r"""\$'(?P<ansi>[^'\\]*+(?:\\.[^'\\]*+)*+)'|'[^']*+'|"[^"\\]*+(?:\\.[^"\\]*+)*+"
    |(?P<continued>[\\^]\r?\n)|\\.""",
    re.DOTALL | re.VERBOSE,
)
"""What shlex reads otherwise than a shell, beside the quoted texts in which it does not count."""
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "'": "'", '"': '"', "\\": "\\", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|([0-7]{1,3})|(.))", re.DOTALL)
_ENDS = frozenset({"|", "||", "&&", ";", "&", ">", ">>", "2>", "<"})

_WITH_VALUE = {
    "-X": "method", "--request": "method",
    "-H": "header", "--header": "header",
    "-d": "data", "--data": "data", "--data-ascii": "data", "--data-raw": "raw", "--data-binary": "data",
    "--data-urlencode": "urlencode", "--json": "json",
    "-u": "user", "--user": "user", "-b": "cookie", "--cookie": "cookie",
    "-A": "agent", "--user-agent": "agent", "-e": "referer", "--referer": "referer",
    "--url": "url", "--oauth2-bearer": "bearer",
}  # fmt: skip
_IGNORED_WITH_VALUE = frozenset(
    [
        "-o",
        "--output",
        "-m",
        "--max-time",
        "--connect-timeout",
        "-x",
        "--proxy",
        "--cacert",
        "--cert",
        "-E",
        "--key",
        "--retry",
        "-w",
        "--write-out",
        "-T",
        "--resolve",
        "--limit-rate",
        "-c",
        "--cookie-jar",
        "-F",
        "--form",
        "--max-redirs",
        "-K",
        "--config",
        "--noproxy",
        "--unix-socket",
        "-r",
        "--range",
    ]
)


def looks_like_curl(text: str) -> bool:
    """Whether a text begins as a curl command does."""
    return re.match(r"\s*(?:\$\s+)?(?:\w+=\S*\s+)*curl(?:\.exe)?\s", text) is not None


def parse_curl(text: str) -> Request:
    """The request of the first curl command in a text. Raises FormatError."""
    words = _words(text)
    command = _Command()
    while words:
        word = words.pop(0)
        if word in _ENDS:
            break
        command.take(word, words)
    return command.request()


def curl_command(request: Request) -> str:
    """A command that sends this request; a body that is no text is left out, and said so."""
    parts = ["curl -sS"]
    if request.method != ("POST" if request.body else "GET"):
        parts[0] += f" -X {shlex.quote(request.method)}"
    parts[0] += f" {shlex.quote(request.url)}"
    parts += [f"-H {shlex.quote(f'{name}: {value}')}" for name, value in request.headers]
    if request.body:
        try:
            parts.append(f"--data-raw {shlex.quote(request.body.decode('utf-8'))}")
        except UnicodeDecodeError:
            parts.append("--data-binary @body.bin  # the body is no text")
    return " \\\n  ".join(parts)


class _Command:
    """Options as they are read."""

    def __init__(self) -> None:
        self.method = ""
        self.url = ""
        self.headers: list[tuple[str, str]] = []
        self.data: list[str] = []
        self.form = True
        self.in_query = False
        self.head = False

    def take(self, word: str, rest: list[str]) -> None:
        name, value = _option(word)
        if name is None:
            self.url = self.url or word
        elif name in _WITH_VALUE:
            self._set(_WITH_VALUE[name], value if value is not None else _next(name, rest))
        elif name in _IGNORED_WITH_VALUE:
            if value is None:
                _next(name, rest)
        elif name in ("-G", "--get"):
            self.in_query = True
        elif name in ("-I", "--head"):
            self.head = True

    def _set(self, kind: str, value: str) -> None:
        if kind in ("method", "url"):
            setattr(self, kind, value)
        elif kind == "header":
            name, colon, text = value.partition(":")
            if colon and name.strip():
                self.headers.append((name.strip(), text.strip()))
        elif kind in ("data", "raw", "json"):
            if value.startswith("@") and kind != "raw":
                raise FormatError("", f"The command sends the file {value[1:]}, which is not read: paste its text.")
            self.data.append(value)
            self.form = self.form and kind != "json"
            if kind == "json":
                self.headers += [("Content-Type", "application/json"), ("Accept", "application/json")]
        elif kind == "urlencode":
            name, equals, text = value.partition("=")
            self.data.append(f"{name}={quote(text, safe='')}" if equals else quote(value, safe=""))
        elif kind == "user":
            self.headers.append(("Authorization", "Basic " + base64.b64encode(value.encode()).decode()))
        elif kind == "bearer":
            self.headers.append(("Authorization", f"Bearer {value}"))
        else:
            self.headers.append(({"cookie": "Cookie", "agent": "User-Agent", "referer": "Referer"}[kind], value))

    def request(self) -> Request:
        if not self.url:
            raise FormatError("", "This curl command names no URL.")
        url = self.url if "://" in self.url else f"http://{self.url}"
        body = ("&" if self.form else "").join(self.data)
        if self.in_query and body:
            url, body = url + ("&" if "?" in url else "?") + body, ""
        headers: Headers = tuple(self.headers)
        if body and header(headers, "Content-Type") is None:
            kind = "application/json" if body.lstrip()[:1] in ("{", "[") else "application/x-www-form-urlencoded"
            headers = (*headers, ("Content-Type", kind))
        method = self.method or ("HEAD" if self.head else "POST" if body else "GET")
        return Request(method=method.upper(), url=url, headers=headers, body=body.encode("utf-8", "surrogatepass"))


def _option(word: str) -> tuple[str | None, str | None]:
    """An option's name, and its value where both are one word."""
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        return name, value if equals else None
    if len(word) < 2 or not word.startswith("-"):
        return None, None
    for at in range(1, len(word)):
        short = "-" + word[at]
        if short in _WITH_VALUE or short in _IGNORED_WITH_VALUE:
            return short, word[at + 1 :] or None
    return ("-G" if "G" in word else "-I" if "I" in word else word), None


def _next(name: str, rest: list[str]) -> str:
    if not rest:
        raise FormatError("", f"The command ends behind {name}, which wants a value.")
    return rest.pop(0)


def _words(text: str) -> list[str]:
    match = _START.search(text)
    if match is None:
        raise FormatError("", "There is no curl command in this text.")
    kept: list[str] = []

    def plain(found: re.Match[str]) -> str:
        if found["continued"]:
            return " "
        if found["ansi"] is None:
            return found[0]
        kept.append(_unescaped(found["ansi"]))
        return f"\x00{len(kept) - 1}\x00"

    lexer = shlex.shlex(_SHELL.sub(plain, text[match.end() :]), posix=True, punctuation_chars="|;&<>")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError as error:
        raise FormatError("", f"This curl command is not complete: {error}.") from None
    return [re.sub(r"\x00(\d+)\x00", lambda found: kept[int(found[1])], word) for word in words]


def _unescaped(text: str) -> str:
    def letter(match: re.Match[str]) -> str:
        if match[1] or match[2]:
            return chr(int(match[1] or match[2], 16))
        if match[3]:
            return chr(int(match[3], 8))
        return _ESCAPES.get(match[4], "\\" + match[4])

    return _ESCAPE.sub(letter, text)
