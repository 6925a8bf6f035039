"""The index on disk: facts of files, kept by path, size and time of change.

One file a tree, replaced as a whole, so that readers and killed writers never meet half of one. What can't be
read, is of another version, or is broken counts as not there.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

import msgspec
import platformdirs

from llmdebug import __version__
from llmdebug.index.facts import FileFacts
from llmdebug.source.tree import TreeFile

FORMAT = f"{__version__}/50"
FOLDER_VARIABLE = "LLMDEBUG_CACHE_DIR"


class Kept(msgspec.Struct, array_like=True):
    """What is kept of one file."""

    size: int
    mtime_ns: int
    is_base: bool
    undecodable: bool
    facts: FileFacts | None = None

    def fits(self, file: TreeFile) -> bool:
        return self.size == file.size and self.mtime_ns == file.mtime_ns


class Snapshot(msgspec.Struct, array_like=True):
    """All that is kept of one tree."""

    format: str
    root: str
    files: dict[str, Kept]


def cache_folder() -> Path:
    """Where indexes are kept: LLMDEBUG_CACHE_DIR, else the user's cache folder."""
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named) if named else Path(platformdirs.user_cache_dir("llmdebug")) / "index"


def _place(root: Path) -> Path:
    return cache_folder() / (hashlib.sha256(os.fsencode(root)).hexdigest()[:24] + ".index")


def _text(root: Path) -> str:
    return os.fsencode(root).decode("utf-8", "backslashreplace")


def load(root: Path) -> dict[str, Kept]:
    """What is kept of the tree at `root`; empty where nothing usable is."""
    try:
        snapshot = msgspec.msgpack.decode(_place(root).read_bytes(), type=Snapshot)
    except (OSError, RuntimeError, msgspec.MsgspecError, RecursionError):
        return {}
    return snapshot.files if snapshot.format == FORMAT and snapshot.root == _text(root) else {}


def save(root: Path, files: dict[str, Kept]) -> str:
    """Keep this of the tree at `root`; the reason, for the user, where that is not possible."""
    try:
        place = _place(root)
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, temporary = tempfile.mkstemp(dir=place.parent, suffix=".part")
    except (OSError, RuntimeError) as error:
        return _reason(error)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(msgspec.msgpack.encode(Snapshot(FORMAT, _text(root), files)))
        os.replace(temporary, place)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        return _reason(error)
    return ""


def _reason(error: Exception) -> str:
    return f"the index can't be kept in {FOLDER_VARIABLE} or the user's cache folder ({error}); each start reads anew"


def clear() -> tuple[int, int]:
    """Remove all indexes: how many there were, and their bytes."""
    count = size = 0
    with contextlib.suppress(OSError, RuntimeError):
        for path in cache_folder().iterdir():
            if path.suffix in {".index", ".part"}:
                size += path.stat().st_size
                path.unlink()
                count += 1
    return count, size
