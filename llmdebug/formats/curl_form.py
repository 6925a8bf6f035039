"""Forms as curl sends them: `-F name=value`, `-F file=@path;type=text/plain`, `--form-string`."""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Callable

import msgspec

from llmdebug.formats.errors import FormatError

_TYPES = {
    ".gif": "image/gif",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
    ".htm": "text/html",
    ".html": "text/html",
    ".pdf": "application/pdf",
    ".xml": "application/xml",
}
"""Those that curl knows by a file's name."""
_OPTION = re.compile(r";\s*(type|filename|encoder|headers)=(\"(?:[^\"\\]|\\.)*\"|[^;]*)")


class FormPart(msgspec.Struct, frozen=True, kw_only=True):
    """One field of a form."""

    name: str
    data: bytes
    filename: str | None = None
    content_type: str = ""


def form_part(
    value: str, *, literal: bool, read: Callable[[str], bytes], error: Callable[[str], FormatError]
) -> FormPart:
    """The field that a value of -F says. Raises FormatError."""
    name, equals, content = value.partition("=")
    if not equals:
        raise error(f"{value!r} is no field of a form: write it as name=value")
    if literal:
        return FormPart(name=name, data=content.encode("utf-8", "surrogateescape"))
    options = {match[1]: _unquoted(match[2].strip()) for match in _OPTION.finditer(content)}
    first = _OPTION.search(content)
    text = _unquoted(content[: first.start()] if first else content)
    content_type = options.get("type", "")
    if not text.startswith(("@", "<")):
        data = text.encode("utf-8", "surrogateescape")
        return FormPart(name=name, data=data, filename=options.get("filename"), content_type=content_type)
    data = read(text[1:])
    if text.startswith("<"):
        return FormPart(name=name, data=data, filename=options.get("filename"), content_type=content_type)
    known = _TYPES.get(posixpath.splitext(text)[1].lower(), "application/octet-stream")
    filename = options.get("filename", posixpath.basename(text[1:]))
    return FormPart(name=name, data=data, filename=filename, content_type=content_type or known)


def multipart(parts: list[FormPart]) -> tuple[bytes, str]:
    """The body and its type. The boundary is made of the content: the same form is the same request."""
    digest = hashlib.sha256(b"\0".join(part.data for part in parts)).hexdigest()
    boundary = f"------------------------{digest[:22]}"
    pieces: list[bytes] = []
    for part in parts:
        shown = f'Content-Disposition: form-data; name="{_escaped(part.name)}"'
        if part.filename is not None:
            shown += f'; filename="{_escaped(part.filename)}"'
        lines = [f"--{boundary}", shown, *([f"Content-Type: {part.content_type}"] if part.content_type else []), "", ""]
        pieces += ["\r\n".join(lines).encode("utf-8", "surrogateescape"), part.data, b"\r\n"]
    pieces.append(f"--{boundary}--\r\n".encode())
    return b"".join(pieces), f"multipart/form-data; boundary={boundary}"


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] == '"':
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text


def _escaped(text: str) -> str:
    return text.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
