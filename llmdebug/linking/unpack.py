"""Unpacking archives strictly: source files only, inside one folder, within bounds. Nothing in them is ever run.

A path that leads out of the archive, a name that stands twice, and a member that unpacks to more than it says make
the whole archive refused: who packs so does not mean well. Links, devices and too large files are left out and counted.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath
from typing import IO

from llmdebug.index.build import Cancelled, Progress
from llmdebug.linking.spec import SourceError
from llmdebug.source.tree import MAX_FILE_BYTES

_PYTHON, _C = {".py", ".pyi", ".pyx"}, {".c", ".cc", ".cpp", ".cxx", ".cu", ".h", ".hh", ".hpp", ".cuh"}
SOURCE_SUFFIXES = frozenset(_PYTHON | _C | {".go", ".rs", ".jinja", ".jinja2", ".j2", ".toml", ".proto"})
SOURCE_NAMES = frozenset({"METADATA", "PKG-INFO", "entry_points.txt"})
"""What says whose source it is."""
MAX_MEMBERS = 200_000
MAX_TOTAL = 1_000_000_000
MAX_PATH = 1_000
MAX_NAME = 255
MAX_READ = 16_000_000
"""The longest piece of an archive that is read at once: a directory of members, a header."""
_PIECE = 65_536


class Unpacking:
    """Writes the members of one archive into a folder that nobody else writes into."""

    def __init__(self, what: str, tree: Path, progress: Progress, cancelled: Callable[[], bool]) -> None:
        """`what` names the archive in sentences."""
        self.what = what
        self.left_out = 0
        self.hashes: dict[str, str] = {}
        """The SHA-256 of each file written, by its path in the archive."""
        self._tree = tree
        self._progress = progress
        self._cancelled = cancelled
        self._seen: set[str] = set()
        self._total = 0

    def wanted(self, name: str, size: int, *, plain: bool) -> str | None:
        """The path to write a member to; None for one to leave. `plain`: it is neither link nor device."""
        path = self._safe(name)
        if len(self._seen) >= MAX_MEMBERS:
            raise self.refused(f"it holds more than {MAX_MEMBERS:,} members")
        if path in self._seen:
            raise self.refused(f"it holds {path!r} twice")
        self._seen.add(path)
        pure = PurePosixPath(path)
        if pure.suffix not in SOURCE_SUFFIXES and pure.name not in SOURCE_NAMES:
            return None
        if not plain or size > MAX_FILE_BYTES:
            self.left_out += 1
            return None
        return path

    def write(self, path: str, size: int, member: IO[bytes], *, into: str | None = None) -> None:
        """Writes a member that is wanted(); `into` where it goes to another path than in the archive."""
        place = self._tree / (into or path)
        digest, written = hashlib.sha256(), 0
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            with open(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as file:
                while piece := member.read(_PIECE):
                    written += len(piece)
                    if written > size:
                        raise self.refused(f"{path!r} unpacks to more than the {size:,} bytes that it says")
                    file.write(piece)
                    digest.update(piece)
        except OSError as error:
            raise self.refused(f"{path!r} cannot be written: {error.strerror or error}") from error
        if written != size:
            raise self.refused(f"{path!r} is cut off: {written:,} bytes of {size:,}")
        self._total += written
        if self._total > MAX_TOTAL:
            raise self.refused(f"it unpacks to more than {MAX_TOTAL // 1_000_000:,} MB of source")
        self.hashes[path] = digest.hexdigest()

    def tell(self, done: int, of: int) -> None:
        """Raises Cancelled."""
        if self._cancelled():
            raise Cancelled
        if done % 50 == 0 or done == of:
            self._progress(f"unpacking {self.what}", done, of)

    def refused(self, reason: str) -> SourceError:
        return SourceError(f"{self.what} is not used: {reason}. Nothing of it was kept.")

    def _safe(self, name: str) -> str:
        """The path as parts inside the archive."""
        parts = [part for part in name.rstrip("/").split("/") if part != "."]
        if name.startswith("/") or ".." in parts or "\\" in name:
            raise self.refused(f"its member {name[:200]!r} leads out of it")
        bad = not parts or "" in parts or not name.isprintable() or len(name) > MAX_PATH
        if bad or any(len(part.encode()) > MAX_NAME for part in parts):
            raise self.refused(f"its member {name[:200]!r} is no path")
        return "/".join(parts)


class Bounded:
    """A seekable file that refuses to read much at once, as a hostile header would have it."""

    def __init__(self, file: IO[bytes], refused: Callable[[str], SourceError], most: int) -> None:
        """`most` is how far into the file may be read, in bytes after decompression."""
        self._file = file
        self._refused = refused
        self._most = most

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(min(size, MAX_READ + 1) if size >= 0 else MAX_READ + 1)
        if len(data) > MAX_READ:
            raise self._refused("one of its headers is larger than all headers together should be")
        if self._file.tell() > self._most:
            raise self._refused(f"it unpacks to more than {self._most // 1_000_000:,} MB")
        return data

    def seek(self, place: int, whence: int = 0) -> int:
        if whence == 0 and place > self._most:
            raise self._refused(f"it unpacks to more than {self._most // 1_000_000:,} MB")
        return self._file.seek(place, whence)

    def tell(self) -> int:
        return self._file.tell()

    def seekable(self) -> bool:
        return True


def common_folder(names: Iterable[str]) -> str:
    """The first folder, with its slash, that all paths lie in; empty where they lie in several."""
    firsts = {name.partition("/")[0] if "/" in name else "" for name in names}
    return f"{firsts.pop()}/" if len(firsts) == 1 and "" not in firsts else ""
