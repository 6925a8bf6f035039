"""The source in a tar archive, as sdists are; nothing of its build system is run."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, cast

from llmdebug.linking.unpack import MAX_TOTAL, Bounded, Unpacking, common_folder

MAX_UNPACKED = 4 * MAX_TOTAL
"""Of the whole archive, what is not wanted included: it has to be read to come to what is."""
_OPENERS: dict[str, Callable[..., IO[bytes]]] = {
    ".gz": cast(Callable[..., IO[bytes]], gzip.open),
    ".tgz": cast(Callable[..., IO[bytes]], gzip.open),
    ".bz2": cast(Callable[..., IO[bytes]], bz2.open),
    ".xz": cast(Callable[..., IO[bytes]], lzma.open),
    ".tar": open,
}
_BROKEN = (tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError, OverflowError, RecursionError)


def unpack_tar(archive: Path, unpacking: Unpacking) -> None:
    """Writes the source files, without the one folder that all of an sdist lies in. Raises SourceError, Cancelled."""
    opener = _OPENERS.get(archive.suffix)
    if opener is None:
        raise unpacking.refused(f"archives of the kind {archive.suffix or archive.name!r} are not read")
    try:
        with opener(archive, "rb") as packed:
            _unpack(packed, unpacking)
    except _BROKEN as error:
        raise unpacking.refused(f"it is no sound tar archive ({error})") from error


def _unpack(packed: IO[bytes], unpacking: Unpacking) -> None:
    bounded = cast(IO[bytes], Bounded(packed, unpacking.refused, MAX_UNPACKED))
    top = ""
    with tarfile.open(fileobj=bounded, mode="r:") as archive:
        for done, member in enumerate(archive):
            unpacking.tell(done, done)
            if member.size < 0 or member.offset_data < 0:
                raise unpacking.refused("one of its members has a size below zero")
            if member.isdir() or not member.name:
                continue
            path = unpacking.wanted(member.name, member.size, plain=member.isreg())
            top = top or common_folder([member.name])
            content = archive.extractfile(member) if path else None
            if path and content is not None:
                unpacking.write(path, member.size, content, into=path.removeprefix(top))
            archive.members.clear()  # type: ignore[attr-defined]
