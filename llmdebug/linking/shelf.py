"""The cache of fetched sources, one for all projects and sessions.

A source is a folder that holds the tree, `source.json` about it, and `files.json` with the hash of each file. It is
made beside the others and put in its place at once, so that nobody meets half of one. A source is kept until it is
removed: what is there serves without a network.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import platformdirs

from llmdebug.linking.spec import SourceError, Spec, without_credentials

FOLDER_VARIABLE = "LLMDEBUG_CACHE_DIR"
SCHEMA = "llmdebug.source/1"
STALE_S = 24 * 3600.0
"""A source that is being made for longer than this is left over from a process that was killed."""
_PART = ".part-"


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What `source.json` says of a fetched source."""

    schema: str = SCHEMA
    spec: str
    """As Spec.base; without credentials."""
    version: str
    """The package's version; of a repository the commit."""
    origin: str
    """The archive or repository it came from; without credentials."""
    checked: str
    """What its content was held against."""
    fetched_at: float
    count: int
    """Of files."""
    size: int
    """Of all files together, in bytes."""
    left_out: int = 0
    """Members that would have been source but are links or too large."""


class File(msgspec.Struct, frozen=True, array_like=True):
    """A file of a kept source."""

    size: int
    sha256: str


def shelf_folder() -> Path:
    """Where sources are kept: in LLMDEBUG_CACHE_DIR, else in the user's cache folder."""
    named = os.environ.get(FOLDER_VARIABLE)
    try:
        return (Path(named) if named else Path(platformdirs.user_cache_dir("llmdebug"))).absolute() / "sources"
    except RuntimeError as error:
        raise SourceError(f"There is no home folder to keep sources in: set {FOLDER_VARIABLE}.") from error


def place_of(spec: Spec) -> Path:
    readable = re.sub(r"[^A-Za-z0-9.+=-]+", "-", spec.shown.replace("://", "-"))[:80]
    return shelf_folder() / f"{readable}-{hashlib.sha256(spec.shown.encode()).hexdigest()[:8]}"


def tree_of(spec: Spec) -> Path:
    """The folder that serves as the tree of a kept source."""
    return place_of(spec) / "tree" / spec.inside


def kept(spec: Spec) -> Kept | None:
    """None where the source is not at hand."""
    return _read(place_of(spec))


def all_kept() -> list[tuple[Path, Kept]]:
    """Each source with its folder, by name. Raises SourceError."""
    folder = shelf_folder()
    try:
        places = sorted(folder.iterdir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise unusable(error) from error
    return [(place, found) for place in places if not place.name.startswith(_PART) and (found := _read(place))]


def remove(spec: Spec) -> None:
    """Raises SourceError where it is not there or stays."""
    place = place_of(spec)
    if _read(place) is None:
        raise SourceError(f"{spec.shown} is not in the cache; `llmdebug sources` lists what is.")
    try:
        doomed = Path(tempfile.mkdtemp(prefix=_PART, dir=place.parent))
        place.rename(doomed / "source")
        shutil.rmtree(doomed)
    except OSError as error:
        raise unusable(error) from error


def damage(spec: Spec) -> list[str]:
    """What of a kept source is not as it was fetched, a sentence each. Raises SourceError where it is not there."""
    place = place_of(spec)
    try:
        listed = msgspec.json.decode((place / "files.json").read_bytes(), type=dict[str, File])
    except (OSError, msgspec.MsgspecError) as error:
        raise SourceError(f"{spec.shown} is not in the cache, or its list of files is broken.") from error
    found: list[str] = []
    there = {path.relative_to(place / "tree").as_posix() for path in (place / "tree").rglob("*") if not path.is_dir()}
    for path, file in listed.items():
        if path not in there:
            found.append(f"{path} is missing")
        elif _sha256(place / "tree" / path) != file.sha256:
            found.append(f"{path} was changed")
    return found + [f"{path} was added" for path in sorted(there - listed.keys())]


@contextmanager
def being_made() -> Iterator[Path]:
    """A new folder in the cache, gone afterwards unless it was put(). Raises SourceError."""
    folder = shelf_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _sweep(folder)
        part = Path(tempfile.mkdtemp(prefix=_PART, dir=folder))
        (part / "tree").mkdir()
    except OSError as error:
        raise unusable(error) from error
    try:
        yield part
    finally:
        shutil.rmtree(part, ignore_errors=True)


def put(part: Path, spec: Spec, *, version: str, origin: str, checked: str, left_out: int = 0) -> Kept:
    """Puts a folder of being_made(), its tree complete, into its place. Raises SourceError."""
    files = {path: File(*measured) for path, measured in _measured(part / "tree")}
    made = Kept(
        spec=spec.shown,
        version=version,
        origin=without_credentials(origin),
        checked=checked,
        fetched_at=time.time(),
        count=len(files),
        size=sum(file.size for file in files.values()),
        left_out=left_out,
    )
    if not files:
        raise SourceError(f"{spec.shown} holds no source file: nothing of it was kept.")
    place = place_of(spec)
    try:
        (part / "files.json").write_bytes(msgspec.json.encode(files))
        (part / "source.json").write_bytes(msgspec.json.encode(made))
        if place.exists() and _read(place) is None:
            shutil.rmtree(place)  # damaged
        part.rename(place)
    except OSError as error:
        there = _read(place)
        if there is None:
            raise unusable(error) from error
        return there
    return made


def unusable(error: OSError) -> SourceError:
    """The sentence for a cache that can't be used."""
    return SourceError(
        f"The cache of sources {shelf_folder()} cannot be used: {error.strerror or error}. "
        f"Name another folder with {FOLDER_VARIABLE}."
    )


def _read(place: Path) -> Kept | None:
    try:
        found = msgspec.json.decode((place / "source.json").read_bytes(), type=Kept)
    except (OSError, msgspec.MsgspecError):
        return None
    return found if found.schema == SCHEMA and (place / "tree").is_dir() else None


def _measured(tree: Path) -> Iterator[tuple[str, tuple[int, str]]]:
    for path in sorted(tree.rglob("*")):
        if path.is_file():
            yield path.relative_to(tree).as_posix(), (path.stat().st_size, _sha256(path))


def _sha256(path: Path) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def _sweep(folder: Path) -> None:
    for left in folder.glob(f"{_PART}*"):
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime > STALE_S:
                shutil.rmtree(left, ignore_errors=True)
