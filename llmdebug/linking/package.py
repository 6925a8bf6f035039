"""The source of a package by its version, from the index that pip is set up for.

The archive is unpacked by own code (unpack.py); no build backend and no code of it ever runs. A wheel too large to
fetch for its source alone is read member by member where the index's server answers ranges.
"""

from __future__ import annotations

import hashlib
import io
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from llmdebug.index.build import Cancelled, Progress, silent
from llmdebug.linking import shelf
from llmdebug.linking.ranges import READ_AHEAD, RangeFile
from llmdebug.linking.sdist import unpack_tar
from llmdebug.linking.spec import SourceError, Spec, without_credentials
from llmdebug.linking.unpack import Unpacking
from llmdebug.linking.wheel import check_against_record, unpack_zip
from llmdebug.source.search import never

if TYPE_CHECKING:
    from unearth import Link

    from llmdebug.linking.index import IndexClient

WHOLE_BYTES = 64_000_000
"""Archives up to this size are fetched whole, so that the index's hash of them can be checked."""
MAX_BYTES = 4_000_000_000
_ALGORITHMS = ("sha512", "sha384", "sha256")


def fetch_package(spec: Spec, *, progress: Progress = silent, cancelled: Callable[[], bool] = never) -> shelf.Kept:
    """Fetches a package into the cache. Takes as long as the network: from an event loop, call it in a thread.

    Raises SourceError, Cancelled.
    """
    from llmdebug.linking.index import IndexClient, find_archive
    from llmdebug.linking.pipconfig import index_settings

    settings = index_settings()
    progress(f"looking for {spec.name} {spec.version}", 0, 1)
    with shelf.being_made() as part, IndexClient(settings) as client:
        link = find_archive(client, settings, spec.name, spec.version)
        if cancelled():
            raise Cancelled
        fetching = _Fetching(client, link, part, progress, cancelled)
        checked = fetching.run()
        origin, left_out = without_credentials(link.url_without_fragment), fetching.unpacking.left_out
        return shelf.put(part, spec, version=spec.version, origin=origin, checked=checked, left_out=left_out)


class _Fetching:
    """One archive on its way into a folder of the cache."""

    def __init__(
        self, client: IndexClient, link: Link, part: Path, progress: Progress, cancelled: Callable[[], bool]
    ) -> None:
        self.unpacking = Unpacking(link.filename, part / "tree", progress, cancelled)
        self._client = client
        self._link = link
        self._file = part / Path(link.filename).name
        self._progress = progress
        self._cancelled = cancelled

    def run(self) -> str:
        """What the source was held against, for people. Raises SourceError, Cancelled."""
        from llmdebug.linking.index import local_path

        local = local_path(self._link)
        if local is not None:
            try:
                shutil.copyfile(local, self._file)
            except OSError as error:
                raise SourceError(f"{local} cannot be read: {error.strerror or error}.") from error
            return self._from_file()
        return self._from_network()

    def _from_network(self) -> str:
        large = self._link.is_wheel
        with self._client.opened(self._link.url_without_fragment, {"Range": "bytes=0-"} if large else {}) as response:
            if response.status_code not in (200, 206):
                place = without_credentials(self._link.url_without_fragment)
                raise SourceError(f"{place} answered {response.status_code}: the archive cannot be fetched.")
            size = int(response.headers.get("Content-Length") or 0)
            if response.status_code != 206 or size <= WHOLE_BYTES:
                self._download(response.iter_raw(), size)
                size = 0
            tag = response.headers.get("ETag", "")
        if size:
            return self._by_ranges(size, "" if tag.startswith("W/") else tag)
        return self._from_file()

    def _download(self, pieces: object, size: int) -> None:
        done = 0
        with open(self._file, "wb") as file:
            for piece in cast("IO[bytes]", pieces):
                done += len(piece)
                if done > MAX_BYTES:
                    raise self.unpacking.refused(f"it is larger than {MAX_BYTES // 1_000_000_000} GB")
                if self._cancelled():
                    raise Cancelled
                file.write(piece)
                self._progress(f"fetching {self._link.filename}, kB", done // 1000, max(size, done) // 1000)
        if size and done != size:
            raise self.unpacking.refused(f"the download was cut off after {done:,} of {size:,} bytes")

    def _from_file(self) -> str:
        checked = self._check_hash()
        size = self._file.stat().st_size
        if self._file.suffix in (".whl", ".zip"):
            with open(self._file, "rb") as file:
                unpack_zip(file, size, self.unpacking)
                if self._link.is_wheel:
                    check_against_record(file, size, self.unpacking)
        else:
            unpack_tar(self._file, self.unpacking)
        self._file.unlink()
        return checked

    def _check_hash(self) -> str:
        from llmdebug.linking.index import hashes_of

        given = hashes_of(self._link)
        algorithm = next((name for name in _ALGORITHMS if name in given), None)
        if algorithm is None:
            return "no hash: the index gives none"
        with open(self._file, "rb") as file:
            found = hashlib.file_digest(file, algorithm).hexdigest()
        if found != given[algorithm].lower():
            raise self.unpacking.refused(
                f"its {algorithm} is {found[:16]}… where the index says {given[algorithm][:16]}…, so that one of them "
                "is broken or was changed"
            )
        return f"the index's {algorithm} of the whole archive"

    def _by_ranges(self, size: int, tag: str) -> str:
        def on_read(received: int) -> None:
            if self._cancelled():
                raise Cancelled
            self._progress(f"reading the source in {self._link.filename}, kB", received // 1000, size // 1000)

        remote = RangeFile(self._client, self._link.url_without_fragment, size, tag, on_read)
        file = io.BufferedReader(remote, READ_AHEAD)
        unpack_zip(cast(IO[bytes], file), size, self.unpacking)
        check_against_record(cast(IO[bytes], file), size, self.unpacking)
        return "the wheel's own list of hashes: it was read in parts"
