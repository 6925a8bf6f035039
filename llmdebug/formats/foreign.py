"""What a file that no reader knows looks like, told to whoever took it for a recording."""

from __future__ import annotations

import re

import msgspec

from llmdebug.formats.errors import FormatError

READ = "HAR files, llmdebug's own recordings, OpenAI batches, .http files and curl commands"
_MAGIC = (
    (b"\x1f\x8b", "gzip data: unpack it first"),
    (b"PK\x03\x04", "a zip archive: unpack it first"),
    (b"\xff\xfe", "UTF-16 text: write it as UTF-8"),
    (b"\xfe\xff", "UTF-16 text: write it as UTF-8"),
)
_MOST_FIELDS = 6
_MOST_LETTERS = 40
_SCALAR = re.compile(rb'(?:null|true|false|-?\d[\d.eE+-]*|"(?:[^"\\]|\\.)*")\s*\Z')


def is_json(head: bytes) -> bool:
    """Whether a file's first line is JSON, or begins it."""
    first = head.lstrip(b"\xef\xbb\xbf \t\r\n").partition(b"\n")[0]
    return first.startswith((b"{", b"[")) or _SCALAR.match(first) is not None


def is_binary(head: bytes) -> bool:
    return b"\0" in head or head.startswith(tuple(magic for magic, _ in _MAGIC))


def foreign(path: str, head: bytes) -> FormatError:
    """The error for a file whose first bytes are `head`."""
    return FormatError(path, f"This is none of the files that are read here ({READ}). It looks like {_looks(head)}.")


def looks_like(head: bytes) -> str:
    """A sentence to put behind what is wrong."""
    return f"It looks like {_looks(head)}."


def _looks(head: bytes) -> str:
    for magic, told in _MAGIC:
        if head.startswith(magic):
            return told
    if b"\0" in head:
        return "binary data"
    lines = [line for line in head.removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip()]
    first = lines[0].strip() if lines else b""
    try:
        value = msgspec.json.decode(first)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return _whole(head, first)
    return f"{'lines of ' if len(lines) > 1 else ''}{_named(value)}"


def _whole(head: bytes, first: bytes) -> str:
    """Of a document that is written over several lines, or of none."""
    try:
        return _named(msgspec.json.decode(head.removeprefix(b"\xef\xbb\xbf")))
    except (msgspec.DecodeError, RecursionError, ValueError):
        pass
    fields = list(dict.fromkeys(name.decode("utf-8", "replace") for name in re.findall(rb'"([^"\\]{1,60})"\s*:', head)))
    if first.startswith(b"{") and fields:
        return f"a JSON object with {_listed(fields)}"
    if first.startswith(b"["):
        return "a JSON list"
    text = first.decode("utf-8", "replace")
    return f"text that begins with {text[:_MOST_LETTERS]!r}"


def _named(value: object) -> str:
    if isinstance(value, dict):
        return f"a JSON object with {_listed([str(name) for name in value])}" if value else "an empty JSON object"
    if isinstance(value, list):
        return f"a JSON list of {len(value):,}"
    return f"the JSON value {msgspec.json.encode(value).decode()[:_MOST_LETTERS]}"


def _listed(fields: list[str]) -> str:
    shown = ", ".join(name[:_MOST_LETTERS] for name in fields[:_MOST_FIELDS])
    return shown + (", …" if len(fields) > _MOST_FIELDS else "")
