"""A file behind HTTP that is read in pieces: of a large wheel only its directory and its source are asked for."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from llmdebug.linking.spec import SourceError, without_credentials

if TYPE_CHECKING:
    from llmdebug.linking.index import IndexClient

READ_AHEAD = 1_000_000
"""Bytes asked for at once: source files lie beside each other."""
_CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")


class RangeFile(io.RawIOBase):
    """Each read is a request of its own; wrap it in a BufferedReader of READ_AHEAD."""

    def __init__(self, client: IndexClient, url: str, size: int, tag: str, on_read: Callable[[int], None]) -> None:
        """`tag` is the ETag that the file must keep, empty where it has none. `on_read` gets bytes read so far."""
        self._client = client
        self._url = url
        self._size = size
        self._tag = tag
        self._place = 0
        self._on_read = on_read
        self._end = b""
        """The last READ_AHEAD bytes: an archive's directory is there, and it is read again and again."""
        self.received = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, place: int, whence: int = 0) -> int:
        base = (0, self._place, self._size)[whence]
        if base + place < 0:
            raise ValueError("a place before the file's beginning")
        self._place = base + place
        return self._place

    def readinto(self, buffer: object) -> int:
        """Raises SourceError where the server does not give what it was asked for."""
        view = memoryview(cast(bytearray, buffer))
        wanted = min(len(view), self._size - self._place)
        if wanted <= 0:
            return 0
        start = max(self._size - READ_AHEAD, 0)
        if self._place >= start:
            self._end = self._end or self._fetch(start, self._size - 1)
            data = self._end[self._place - start :][:wanted]
        else:
            data = self._fetch(self._place, self._place + wanted - 1)
        view[: len(data)] = data
        self._place += len(data)
        return len(data)

    def _fetch(self, first: int, last: int) -> bytes:
        headers = {"Range": f"bytes={first}-{last}"} | ({"If-Range": self._tag} if self._tag else {})
        with self._client.opened(self._url, headers) as response:
            match = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
            told = tuple(map(int, match.groups())) if match else ()
            if response.status_code != 206 or told != (first, last, self._size):
                raise self._strange(f"answered {response.status_code} where bytes {first} to {last} were asked for")
            data = bytearray()
            for piece in response.iter_raw():
                data += piece
                if len(data) > last - first + 1:
                    raise self._strange("sent more than was asked for")
        if len(data) != last - first + 1:
            raise self._strange(f"sent {len(data):,} bytes where {last - first + 1:,} were asked for")
        self.received += len(data)
        self._on_read(self.received)
        return bytes(data)

    def _strange(self, what: str) -> SourceError:
        return SourceError(f"{without_credentials(self._url)} {what}. Nothing of it was kept.")
