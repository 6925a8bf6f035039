"""The source in a zip archive: a wheel, whose list of hashes it is held against, or an sdist of the old kind."""

from __future__ import annotations

import base64
import binascii
import csv
import io
import stat
import zipfile
import zlib
from typing import IO, cast

from llmdebug.linking.spec import SourceError
from llmdebug.linking.unpack import MAX_READ, Bounded, Unpacking

_ENCRYPTED = 0x1
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OverflowError)


def unpack_zip(file: IO[bytes], size: int, unpacking: Unpacking) -> None:
    """Writes the source files of an archive of `size` bytes. Raises SourceError, Cancelled."""
    try:
        with zipfile.ZipFile(cast(IO[bytes], Bounded(file, unpacking.refused, size))) as archive:
            members = sorted(archive.infolist(), key=lambda member: member.header_offset)
            chosen = [(path, member) for member in members if (path := _wanted(member, unpacking))]
            for done, (path, member) in enumerate(chosen):
                unpacking.tell(done, len(chosen))
                with archive.open(member) as content:
                    unpacking.write(path, member.file_size, content)
            unpacking.tell(len(chosen), len(chosen))
    except _BROKEN as error:
        raise unpacking.refused(f"it is no sound zip archive ({error})") from error


def check_against_record(file: IO[bytes], size: int, unpacking: Unpacking) -> None:
    """Holds each file that was written against the wheel's own list. Raises SourceError where one differs."""
    listed = _record(file, size, unpacking)
    for path, digest in unpacking.hashes.items():
        if path not in listed and not path.rpartition("/")[0].endswith(".dist-info"):
            raise unpacking.refused(f"{path!r} is not in its list of files")
        if listed.get(path, digest) != digest:
            raise unpacking.refused(f"{path!r} is not what its list of files says")


def _wanted(member: zipfile.ZipInfo, unpacking: Unpacking) -> str | None:
    if member.is_dir():
        return None
    mode = stat.S_IFMT(member.external_attr >> 16)
    plain = mode in (0, stat.S_IFREG) and not member.flag_bits & _ENCRYPTED and member.compress_type in _METHODS
    return unpacking.wanted(member.filename, member.file_size, plain=plain)


def _record(file: IO[bytes], size: int, unpacking: Unpacking) -> dict[str, str]:
    """Path to SHA-256 in hexadecimal digits."""
    try:
        with zipfile.ZipFile(cast(IO[bytes], Bounded(file, unpacking.refused, size))) as archive:
            name = next((n for n in archive.namelist() if n.endswith(".dist-info/RECORD") and n.count("/") == 1), None)
            if name is None:
                raise unpacking.refused("it has no list of its files (RECORD)")
            with archive.open(name) as member:
                text = member.read(MAX_READ).decode("utf-8", "replace")
        rows = [row for row in csv.reader(io.StringIO(text)) if len(row) >= 2 and row[1].startswith("sha256=")]
        return {row[0]: _hexadecimal(row[1].removeprefix("sha256=")) for row in rows}
    except SourceError:
        raise
    except (*_BROKEN, csv.Error, binascii.Error) as error:
        raise unpacking.refused(f"its list of files cannot be read ({error})") from error


def _hexadecimal(digest: str) -> str:
    return base64.urlsafe_b64decode(digest + "=" * (-len(digest) % 4)).hex()
