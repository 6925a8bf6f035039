"""curl commands read: in a shell file, or pasted, the requests that the real curl would send.

Files (`@name`) are read only where there is a folder to read them from, and only below it. What does not
change the request (where the answer goes, retries, proxies, certificates) is passed over.
"""

from __future__ import annotations

import base64
import os
import posixpath
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from llmdebug.formats.cookie_jar import Cookie, cookies_for, read_jar
from llmdebug.formats.curl_config import config_options
from llmdebug.formats.curl_form import FormPart, form_part, multipart
from llmdebug.formats.curl_options import Option, OptionError, Word, options_of
from llmdebug.formats.curl_urls import GlobError, address_of, urls_of
from llmdebug.formats.curl_writing import curl_command
from llmdebug.formats.errors import FormatError, read_file
from llmdebug.formats.shellvariables import check_word
from llmdebug.formats.shellwords import ShellCommand, shell_commands
from llmdebug.http.exchange import Request, header

__all__ = ["curl_command", "curl_entries", "looks_like_curl", "parse_curl", "parse_curls"]

_MOST_CONFIGS = 20
_MAX_FILE_BYTES = 256 * 1024 * 1024
_START = re.compile(r"(?:^|[\s;&|(`])(?:\S*/)?curl(?:\.exe)?\s")
_PROMPT = re.compile(r"^[ \t]*[$>%][ \t]+(?=(?:\w+=\S*[ \t]+)*curl)", re.MULTILINE)
_DATA = frozenset({"data", "data-ascii", "data-raw", "data-binary", "data-urlencode", "json"})
_HEADERS = {"user-agent": "User-Agent", "referer": "Referer"}


def looks_like_curl(text: str) -> bool:
    """Whether a text begins as a curl command does."""
    return re.match(r"\s*(?:[$>%]\s+)?(?:\w+=\S*\s+)*curl(?:\.exe)?\s", text) is not None


def parse_curl(text: str) -> Request:
    """The request of the first curl command in a text. Raises FormatError."""
    return parse_curls(text)[0]


def parse_curls(
    text: str,
    *,
    path: str = "",
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    warn: Callable[[str], None] | None = None,
) -> list[Request]:
    """The requests of all curl commands in a text, at least one. Raises FormatError, with the line.

    Without a folder no file is read. Shell variables that are named as secrets become `{{secret:NAME}}`. `warn` gets
    what is not followed, as sentences.
    """
    requests: list[Request] = []
    for entry in curl_entries(text, path=path, folder=folder, environment=environment, warn=warn):
        if isinstance(entry, FormatError):
            raise entry
        requests.append(entry)
    return requests


def curl_entries(
    text: str,
    *,
    path: str = "",
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    warn: Callable[[str], None] | None = None,
) -> list[Request | FormatError]:
    """As parse_curls(), with what is wrong in the place of a command that cannot be read.

    Raises FormatError where the text cannot be taken apart into commands.
    """
    if not _START.search(text):
        raise FormatError(path, "There is no curl command in it.")
    known = os.environ if environment is None else environment
    requests: list[Request | FormatError] = []
    for command in shell_commands(_PROMPT.sub("", text), path=path, environment=known):
        name = posixpath.basename(command.words[0].replace("\\", "/"))
        if name in ("curl", "curl.exe"):
            requests += _requests_or_not(command, path, folder)
            if warn is not None:
                for told in _not_followed(command):
                    warn(str(FormatError(path, told, line=command.line)))
    if not requests:
        raise FormatError(path, "There is no curl command in it.")
    return requests


def _requests_or_not(command: ShellCommand, path: str, folder: Path | None) -> Sequence[Request | FormatError]:
    try:
        return _requests(command, path, folder)
    except FormatError as error:
        return [error]


def _not_followed(command: ShellCommand) -> list[str]:
    told = ["The loop around this command is not run: it is taken once."] if command.taken_once else []
    if command.if_failed:
        told.append(
            "A shell runs this command only where the one before || fails: it is taken all the same, and is sent "
            "whatever that one is answered; leave it out where that is not meant."
        )
    return told


def _requests(command: ShellCommand, path: str, folder: Path | None) -> list[Request]:
    placed = zip(command.words[1:], command.lines[1:], strict=True)
    words = [Word(check_word(word, path, line), line) for word, line in placed]
    found: list[Request] = []
    group = _Command(command, path, folder)
    try:
        for option in options_of(words):
            if option.name == "next":
                found += group.requests()
                group = _Command(command, path, folder)
            else:
                group.take(option)
        return found + group.requests()
    except OptionError as error:
        raise FormatError(path, f"{error}.", line=error.line) from None
    except GlobError as error:
        raise FormatError(path, f"{error}.", line=command.line) from None


class _Command:
    """Options as they are read, up to the end or `--next`."""

    def __init__(self, command: ShellCommand, path: str, folder: Path | None) -> None:
        self._command = command
        self._path = path
        self._folder = folder
        self._method = ""
        self._urls: list[str] = []
        self._headers: list[tuple[str, str]] = []
        self._removed: set[str] = set()
        self._data: bytes | None = None
        self._json = False
        self._form: list[FormPart] = []
        self._query: list[str] = []
        self._cookies: list[str] = []
        self._jar: list[Cookie] = []
        self._without_session = False
        self._upload = self._userinfo = ""
        self._get = self._head = self._as_is = self._no_globs = False
        self._configs = 0
        self._lower: list[tuple[str, str]] = []
        """Headers that a -H of the same name wins over."""

    def take(self, option: Option) -> None:
        name, value, line = option
        if name in ("", "url"):
            self._urls.append(value)
        elif name in _DATA:
            self._take_data(name, value)
        elif name == "header":
            self._take_header(value)
        elif name in ("form", "form-string"):
            self._form.append(form_part(value, literal=name == "form-string", read=self._file, error=self._error))
        elif name == "url-query":
            self._query.append(value[1:] if value.startswith("+") else self._urlencoded(value).decode())
        elif name == "cookie" and "=" in value:
            self._cookies.append(value)
        elif name == "cookie" and value:
            self._jar += read_jar(self._file(value, "takes cookies from").decode("utf-8", "surrogateescape"), line)
        elif name == "user":
            self._take_user(value if ":" in value else value + ":")
        elif name == "config":
            self._take_config(value, line)
        else:
            self._take_rest(name, value)

    def _take_rest(self, name: str, value: str) -> None:
        if name == "request":
            self._method = value
        elif name == "upload-file":
            self._upload = value
        elif name == "oauth2-bearer":
            self._lower.append(("Authorization", f"Bearer {value}"))
        elif name == "range":
            self._lower.append(("Range", f"bytes={value}"))
        elif name == "continue-at" and value.isdecimal() and int(value):
            self._lower.append(("Range", f"bytes={value}-"))
        elif name in _HEADERS:
            self._take_named(name, value)
        elif name == "junk-session-cookies":
            self._without_session = True
        elif name == "get":
            self._get = True
        elif name == "head":
            self._head = True
        elif name == "path-as-is":
            self._as_is = True
        elif name == "globoff":
            self._no_globs = True

    def _take_named(self, name: str, value: str) -> None:
        """`;auto` names the page before, for a redirect."""
        plain = value.partition(";auto")[0] if name == "referer" else value
        if plain or name != "referer":
            self._lower.append((_HEADERS[name], plain))

    def _take_config(self, name: str, line: int) -> None:
        self._configs += 1
        if self._configs > _MOST_CONFIGS:
            raise OptionError("Config files lead to one another", line)
        for option in config_options(self._file(name).decode("utf-8", "replace"), line):
            if option.name == "next":
                raise OptionError("A config file with several requests (next) is not followed here", line)
            self.take(option)

    def _take_user(self, pair: str) -> None:
        """A password that is known by its name alone goes into the address, where it is filled in when sent."""
        if "{{secret:" in pair:
            self._userinfo = pair
            return
        token = base64.b64encode(pair.encode("utf-8", "surrogateescape")).decode()
        self._lower.append(("Authorization", f"Basic {token}"))

    def _take_header(self, value: str) -> None:
        if value.startswith("@"):
            for line in self._file(value[1:]).decode("utf-8", "replace").splitlines():
                if line.strip():
                    self._take_header(line)
            return
        name, colon, text = value.partition(":")
        if name.strip().lower() == "transfer-encoding" and text.strip():
            raise self._error(
                f"The header {value.strip()} is not followed here: the body goes out in one piece, with its length; "
                "leave the header out"
            )
        if colon and text.strip():
            self._headers.append((name.strip(), text.strip()))
        elif colon:
            self._removed.add(name.strip().lower())
        elif value.endswith(";"):
            self._headers.append((value[:-1], ""))

    def _take_data(self, name: str, value: str) -> None:
        if name == "data-urlencode":
            piece = self._urlencoded(value)
        elif value.startswith("@") and name != "data-raw":
            piece = self._file(value[1:])
            if name in ("data", "data-ascii"):
                piece = re.sub(rb"[\r\n\0]", b"", piece)
        else:
            piece = value.encode("utf-8", "surrogateescape")
        self._json = self._json or name == "json"
        joint = b"" if self._data is None or name == "json" else b"&"
        self._data = (self._data or b"") + joint + piece

    def _urlencoded(self, value: str) -> bytes:
        match = re.match(r"([^=@]*)([=@])(.*)", value, re.DOTALL)
        if match is None:
            return _quoted(value.encode("utf-8", "surrogateescape"))
        name, sign, text = match.groups()
        raw = self._file(text) if sign == "@" else text.encode("utf-8", "surrogateescape")
        return (f"{name}=".encode() if name else b"") + _quoted(raw)

    def _file(self, name: str, does: str = "sends") -> bytes:
        """A file's bytes; `-` is what the shell gives the command to read. `does` is said of the command."""
        command = self._command
        if name == "-" and command.stdin is not None:
            return check_word(command.stdin, self._path, command.line).encode("utf-8", "surrogateescape")
        if name == "-" and not command.stdin_file:
            raise self._error("The command reads its body from another's output, which is not run: paste its text")
        wanted = command.stdin_file if name == "-" else name
        if self._folder is None:
            raise self._error(f"The command {does} the file {wanted}, which is not read: paste its text")
        folder = self._folder.resolve()
        try:
            found = (folder / os.path.expanduser(wanted)).resolve()
        except (OSError, ValueError, RuntimeError) as error:
            raise self._error(f"The file {wanted!r} cannot be read: {error}") from None
        if not found.is_relative_to(folder):
            raise self._error(f"The file {wanted} lies outside of {folder}: it is not read")
        try:
            return read_file(found, _MAX_FILE_BYTES)
        except FormatError as error:
            raise self._error(f"The file {wanted}: {error.message.rstrip('.')}") from None

    def _error(self, told: str) -> FormatError:
        return FormatError(self._path, f"{told}.", line=self._command.line)

    def requests(self) -> list[Request]:
        """One for each URL."""
        if not self._urls:
            raise self._error("This curl command names no URL")
        expanded = self._urls if self._no_globs else [one for url in self._urls for one in urls_of(url)]
        return [self._request(url) for url in expanded]

    def _request(self, url: str) -> Request:
        body, kind = self._body()
        query = list(self._query)
        if self._get and self._data is not None:
            query.append(self._data.decode("utf-8", "surrogateescape"))
        address = address_of(url, query, as_is=self._as_is)
        if self._upload and address.endswith("/"):
            address += quote(posixpath.basename(self._upload))
        if self._userinfo:
            scheme, mark, rest = address.partition("://")
            address = f"{scheme}{mark}{self._userinfo}@{rest}"
        method = self._method or self._usual_method(has_body=body is not None)
        return Request(method=method, url=address, headers=self._all_headers(kind, address), body=body or b"")

    def _usual_method(self, *, has_body: bool) -> str:
        if self._head:
            return "HEAD"
        return "PUT" if self._upload else "POST" if has_body else "GET"

    def _body(self) -> tuple[bytes | None, str]:
        """The body and the type that curl gives it; empty where it gives none."""
        if self._form:
            return multipart(self._form)
        if self._upload:
            return self._file(self._upload), ""
        if self._data is None or self._get:
            return None, ""
        return self._data, "application/json" if self._json else "application/x-www-form-urlencoded"

    def _all_headers(self, kind: str, address: str) -> tuple[tuple[str, str], ...]:
        headers = tuple(self._headers)
        given = {name.lower() for name, _ in headers} | self._removed
        lower = [item for item in dict(self._lower).items() if item[0].lower() not in given]
        kept = cookies_for(address, self._jar, now=time.time(), without_session=self._without_session)
        cookies = kept + ([] if "cookie" in given else self._cookies)
        if cookies:
            lower.append(("Cookie", "; ".join(cookies)))
        if kind and ("content-type" not in given):
            lower.append(("Content-Type", kind))
        if self._json and "accept" not in given and header(headers, "Accept") is None:
            lower.append(("Accept", "application/json"))
        return (*headers, *lower)


def _quoted(raw: bytes) -> bytes:
    """As curl writes it since 7.88: a space as a plus sign."""
    return quote(raw, safe="").replace("%20", "+").encode()
