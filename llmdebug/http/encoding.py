"""Content codings of a response body, undone piece by piece.

`gzip` and `deflate` are undone. A body in a coding that is not known here, or that is not in the coding
its header claims, is passed on as it arrived: better the bytes than nothing.
"""

from __future__ import annotations

import zlib
from typing import Protocol

_GZIP_WINDOW = 16 + zlib.MAX_WBITS


class ContentDecoder(Protocol):
    """Undoes one coding."""

    def feed(self, data: bytes) -> bytes: ...

    def flush(self) -> bytes:
        """The rest; called once, at the end of the body."""
        ...

    @property
    def damaged(self) -> bool:
        """Whether the coding broke off, or broke after a good beginning."""
        ...


class IdentityDecoder:
    """Passes bytes on."""

    damaged = False

    def feed(self, data: bytes) -> bytes:
        return data

    def flush(self) -> bytes:
        return b""


class ZlibDecoder:
    """Undoes gzip (several members too) or deflate (with or without the zlib wrapper)."""

    def __init__(self, *, gzip: bool) -> None:
        self._gzip = gzip
        self._inflate = zlib.decompressobj(_GZIP_WINDOW if gzip else zlib.MAX_WBITS)
        self._raw_tried = gzip
        self._passed_on = False
        self._began = False
        self._broken = False
        self._arrived = b""

    @property
    def damaged(self) -> bool:
        return self._broken or (self._began and not self._passed_on and not self._inflate.eof)

    def feed(self, data: bytes) -> bytes:
        if self._passed_on:
            return data
        if self._broken or not data:
            return b""
        if not self._began:
            self._arrived += data
            return self._begin()
        return self._go_on(data)

    def flush(self) -> bytes:
        if self._passed_on or self._broken:
            return b""
        if not self._began:
            arrived, self._arrived = self._arrived, b""
            return arrived
        return self._inflate.flush()

    def _begin(self) -> bytes:
        """Tries the first bytes; they are kept until the coding has shown itself to be what it claims."""
        try:
            out = self._inflate.decompress(self._arrived)
        except zlib.error:
            return self._begin_otherwise()
        if len(self._arrived) < 18 and not out and not self._inflate.eof:
            self._inflate = self._fresh()
            return b""
        self._began = True
        self._arrived = b""
        return out + self._next_members()

    def _begin_otherwise(self) -> bytes:
        if not self._raw_tried:
            self._raw_tried = True
            self._inflate = self._fresh()
            return self._begin()
        self._passed_on = True
        arrived, self._arrived = self._arrived, b""
        return arrived

    def _fresh(self) -> zlib._Decompress:
        if self._gzip:
            return zlib.decompressobj(_GZIP_WINDOW)
        return zlib.decompressobj(-zlib.MAX_WBITS if self._raw_tried else zlib.MAX_WBITS)

    def _go_on(self, data: bytes) -> bytes:
        if self._inflate.eof:
            if not self._gzip or not data.startswith(b"\x1f"):
                return b""
            self._inflate = self._fresh()
        try:
            return self._inflate.decompress(data) + self._next_members()
        except zlib.error:
            self._broken = True
            return b""

    def _next_members(self) -> bytes:
        out = b""
        while self._gzip and self._inflate.eof and self._inflate.unused_data.startswith(b"\x1f"):
            rest = self._inflate.unused_data
            self._inflate = self._fresh()
            try:
                out += self._inflate.decompress(rest)
            except zlib.error:
                self._broken = True
                break
        return out


class ChainedDecoder:
    """Undoes several codings, the last applied first."""

    def __init__(self, decoders: list[ContentDecoder]) -> None:
        self._decoders = decoders

    @property
    def damaged(self) -> bool:
        return any(decoder.damaged for decoder in self._decoders)

    def feed(self, data: bytes) -> bytes:
        for decoder in self._decoders:
            data = decoder.feed(data)
        return data

    def flush(self) -> bytes:
        data = b""
        for decoder in self._decoders:
            data = decoder.feed(data) + decoder.flush()
        return data


def content_decoder(content_encoding: str | None) -> ContentDecoder:
    """The decoder for the value of a Content-Encoding header."""
    decoders: list[ContentDecoder] = []
    for coding in reversed((content_encoding or "").lower().split(",")):
        name = coding.strip()
        if name in ("gzip", "x-gzip", "deflate"):
            decoders.append(ZlibDecoder(gzip=name != "deflate"))
        elif name not in ("", "identity"):
            return IdentityDecoder()
    if not decoders:
        return IdentityDecoder()
    return decoders[0] if len(decoders) == 1 else ChainedDecoder(decoders)
