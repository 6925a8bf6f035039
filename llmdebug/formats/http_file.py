"""`.http` files: the core that JetBrains' HTTP client and VS Code's REST Client share.

A file is taken apart at once; a request's variables and included files are looked up only when that
request is asked for, so that one request's missing variable does not stand in another's way.
Scripts (`< {% %}`, `> {% %}`) are not run: they are skipped, and named in `warnings`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from llmdebug.formats.errors import FormatError, decode_text, read_file
from llmdebug.formats.http_lines import Block, BodyPart, blocks_of, without_version
from llmdebug.formats.variables import Definition, Variables
from llmdebug.http.baseurl import is_absolute, join
from llmdebug.http.exchange import Headers, Request, header

_MAX_FILE_BYTES = 256 * 1024 * 1024
_METHOD = re.compile(r"[A-Za-z-]+")


class HttpFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file's requests, in order, not yet filled in."""

    path: str
    """For messages; empty for a text without a file."""
    folder: Path | None
    """Where included files and `.env` lie; None: there are none."""
    blocks: tuple[Block, ...]
    definitions: tuple[Definition, ...]
    warnings: tuple[str, ...]
    base_url: str | None
    given: Mapping[str, str]
    environment: Mapping[str, str]

    @property
    def names(self) -> tuple[str, ...]:
        """Each request's name; empty for one without."""
        return tuple(block.name for block in self.blocks)

    def __len__(self) -> int:
        return len(self.blocks)

    def __iter__(self) -> Iterator[Request]:
        return iter(self.requests())

    def requests(self) -> list[Request]:
        """All requests, filled in. Raises FormatError for the first that cannot be."""
        return [self._filled(block) for block in self.blocks]

    def entries(self) -> list[Request | FormatError]:
        """As requests(), with what is wrong in the place of one that cannot be filled in."""
        return [self._filled_or_not(block) for block in self.blocks]

    def request(self, selector: str | int | None = None) -> Request:
        """One request, by its name or by its number from 1; without either, the only one or the first."""
        if not self.blocks:
            raise FormatError(self.path, "There is no request in it.")
        if selector is None or selector == "":
            return self._filled(self.blocks[0])
        named = [block for block in self.blocks if block.name == str(selector)]
        if named:
            return self._filled(named[0])
        if str(selector).isdecimal() and 1 <= int(selector) <= len(self.blocks):
            return self._filled(self.blocks[int(selector) - 1])
        known = ", ".join(name for name in self.names if name) or f"1 to {len(self.blocks)}"
        raise FormatError(self.path, f"There is no request {str(selector)!r} in it; there are: {known}.")

    def _filled_or_not(self, block: Block) -> Request | FormatError:
        try:
            return self._filled(block)
        except FormatError as error:
            return error

    def _filled(self, block: Block) -> Request:
        variables = Variables(self.definitions, self.given, self.environment, self.path, self.folder)
        line = variables.filled(block.request_line, block.line)
        method, url = _method_and_url(line)
        if method == "CURL":
            told = "This is a curl command; a file of them is named .sh or .curl."
            raise FormatError(self.path, told, line=block.line)
        if not url.isprintable():
            raise FormatError(self.path, f"This is no URL: {url[:80]!r}.", line=block.line)
        headers = tuple((variables.filled(name, at), variables.filled(value, at)) for name, value, at in block.headers)
        url, headers = self._address(url + variables.filled(block.query, block.line), headers, block)
        return Request(
            method=method,
            url=url,
            headers=headers,
            body=self._body(block.body, headers, variables),
            name=block.name,
        )

    def _address(self, url: str, headers: Headers, block: Block) -> tuple[str, Headers]:
        if is_absolute(url):
            return url, headers
        if not url.startswith("/"):
            return f"http://{url}", headers
        host = header(headers, "Host")
        if self.base_url:
            return join(self.base_url, url), headers
        if host:
            return f"{'https' if host.endswith(':443') else 'http'}://{host}{url}", headers
        told = f"{url} names no server: write the whole URL, add a Host header, or give a base URL."
        raise FormatError(self.path, told, line=block.line)

    def _body(self, parts: tuple[BodyPart, ...], headers: Headers, variables: Variables) -> bytes:
        pieces = []
        for part in parts:
            if not part.is_file:
                pieces.append(variables.filled(part.text, part.line).encode("utf-8", "surrogatepass"))
                continue
            data = self._included(variables.filled(part.text, part.line), part.line)
            if part.fill:
                data = variables.filled(decode_text(data, part.text), part.line).encode()
            pieces.append(data)
        body = b"\n".join(pieces)
        if (header(headers, "Content-Type") or "").lower().startswith("application/x-www-form-urlencoded"):
            return b"".join(line.strip() for line in body.splitlines())
        return body

    def _included(self, name: str, line: int) -> bytes:
        """Only files in the file's own folder: a file from somewhere else must not send the user's others."""
        if self.folder is None:
            raise FormatError(self.path, f"{name} cannot be included: this text has no folder.", line=line)
        folder = self.folder.resolve()
        try:
            found = (folder / name).resolve()
            inside = found.is_relative_to(folder)
        except (OSError, ValueError, RuntimeError) as error:
            raise FormatError(self.path, f"{name!r} cannot be included: {error}.", line=line) from None
        if not inside:
            raise FormatError(self.path, f"{name} lies outside of {folder}: not included.", line=line)
        try:
            return read_file(found, _MAX_FILE_BYTES)
        except FormatError as error:
            raise FormatError(self.path, f"{name} cannot be included. {error.message}", line=line) from None


def _method_and_url(line: str) -> tuple[str, str]:
    """A line that is only a URL is a GET."""
    text = without_version(line.strip())
    words = text.split(None, 1)
    if len(words) == 2 and _METHOD.fullmatch(words[0]):
        return words[0].upper(), words[1]
    return "GET", text


def read_http_file(
    path: str | Path,
    *,
    base_url: str | None = None,
    variables: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> HttpFile:
    """Raises FormatError. `variables` win over the file's own; `environment` is the process's by default."""
    text = decode_text(read_file(path, _MAX_FILE_BYTES), path)
    return parse_http_text(
        text,
        path=str(path),
        folder=Path(path).parent,
        base_url=base_url,
        variables=variables,
        environment=environment,
    )


def parse_http_text(
    text: str,
    *,
    path: str = "",
    folder: Path | None = None,
    base_url: str | None = None,
    variables: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> HttpFile:
    """As read_http_file(), for a text; without a folder it can include no file."""
    blocks, definitions, warnings = blocks_of(text, path)
    return HttpFile(
        path=path,
        folder=folder,
        blocks=blocks,
        definitions=definitions,
        warnings=warnings,
        base_url=base_url,
        given=variables or {},
        environment=os.environ if environment is None else environment,
    )


def split_selector(reference: str) -> tuple[str, str | None]:
    """`FILE#name` as file and name; a file whose own name holds the `#` is found as well."""
    if "#" not in reference or os.path.exists(reference):
        return reference, None
    path, _, name = reference.partition("#") if reference.count("#") == 1 else reference.rpartition("#")
    return path, name or None
