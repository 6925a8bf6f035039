"""The source of one commit of a repository: a shallow clone without large files, read with `git cat-file`.

Nothing is checked out: no filter, hook or submodule of the repository runs, and its files pass the same strict filter
as those of archives.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from llmdebug.index.build import Cancelled, Progress, silent
from llmdebug.linking import shelf
from llmdebug.linking.spec import SourceError, Spec, without_credentials
from llmdebug.linking.unpack import MAX_READ, Unpacking
from llmdebug.source.search import never
from llmdebug.source.tree import MAX_FILE_BYTES

MAX_SECONDS = 1800.0
_POLL_S = 0.05
_SAFE = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "credential.interactive=false",
    "fetch.fsckObjects=true",
    "gc.auto=0",
)
_PASSED = frozenset({"GIT_SSL_CAINFO", "GIT_SSH_COMMAND", "GIT_SSH"})
_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "https:http:ssh:git:file",
    "GIT_LFS_SKIP_SMUDGE": "1",
    "LC_ALL": "C",
}
_PLAIN_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
"""Without the remote that the large files could be fetched from when the tree is listed: they are missing, no more."""
_SHORT = re.compile(r"[0-9a-f]{7,39}")
_PERCENT = re.compile(rb"(\d+)% \((\d+)/(\d+)\)")


def fetch_commit(spec: Spec, *, progress: Progress = silent, cancelled: Callable[[], bool] = never) -> shelf.Kept:
    """Fetches a commit into the cache. Takes as long as the network: from an event loop, call it in a thread.

    Raises SourceError, Cancelled.
    """
    url = without_credentials(spec.name)
    with shelf.being_made() as part:
        git = _Git(part / "clone", f"{url}@{spec.version}", cancelled)
        git.run("init", "--quiet", "--bare", "--template=", str(git.folder))
        git.fetch(spec.name, spec.version, lambda done, of: progress(f"cloning {url}, objects", done, of))
        commit = git.answer("rev-parse", "--verify", "FETCH_HEAD^{commit}").decode().strip()
        unpacking = Unpacking(git.what, part / "tree", progress, cancelled)
        git.unpack(commit, unpacking)
        git.clear()
        checked = f"the commit {commit}"
        return shelf.put(part, spec, version=commit, origin=url, checked=checked, left_out=unpacking.left_out)


class _Git:
    """git in one bare repository that nobody else uses."""

    def __init__(self, folder: Path, what: str, cancelled: Callable[[], bool]) -> None:
        self.folder = folder
        self.what = what
        self._cancelled = cancelled

    def run(self, *words: str, on_progress: Callable[[int, int], None] | None = None) -> None:
        """Raises SourceError with git's own words, Cancelled."""
        with tempfile.TemporaryFile() as said:
            process = self._start(words, stdout=subprocess.DEVNULL, stderr=said)
            ends = time.monotonic() + MAX_SECONDS
            try:
                while process.poll() is None:
                    time.sleep(_POLL_S)
                    if self._cancelled():
                        raise Cancelled
                    if time.monotonic() > ends:
                        raise SourceError(f"{self.what} was not fetched within {MAX_SECONDS / 60:.0f} minutes.")
                    if on_progress is not None:
                        _tell(_tail(said), on_progress)
            finally:
                _stop(process)
            if process.returncode:
                raise SourceError(f"{self.what} cannot be fetched: {_last_words(_tail(said))}.")

    def fetch(self, url: str, ref: str, on_progress: Callable[[int, int], None]) -> None:
        """The commit of a tag, branch or commit name, without its history and its large files."""
        try:
            self._fetch(("--depth=1", f"--filter=blob:limit={MAX_FILE_BYTES}"), url, ref, on_progress)
        except SourceError:
            if not _SHORT.fullmatch(ref):
                raise
            whole = self._whole_name(url, ref, on_progress)
            self._fetch(("--depth=1", f"--filter=blob:limit={MAX_FILE_BYTES}"), url, whole, on_progress)
        (self.folder / "config").write_text(_PLAIN_CONFIG)

    def _fetch(self, how: Sequence[str], url: str, ref: str, on_progress: Callable[[int, int], None]) -> None:
        words = ("fetch", "--progress", "--no-tags", "--no-recurse-submodules", *how, "--", url, ref)
        self.run("-C", str(self.folder), *words, on_progress=on_progress)

    def _whole_name(self, url: str, short: str, on_progress: Callable[[int, int], None]) -> str:
        """Of a commit of the main branch whose name is shortened, as versions of development builds state it.

        Servers of repositories know whole names only: the history is fetched, without its files.
        """
        self._fetch(("--filter=tree:0",), url, "HEAD", on_progress)
        listed = self.answer("rev-list", "FETCH_HEAD").decode().split()
        found = [name for name in listed if name.startswith(short)]
        if len(found) != 1:
            raise SourceError(f"{self.what} cannot be fetched: its main branch has no such commit, or several.")
        return found[0]

    def answer(self, *words: str) -> bytes:
        """What git prints. Raises SourceError."""
        process = self._start(("-C", str(self.folder), *words), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        said, _ = process.communicate()
        if process.returncode:
            raise SourceError(f"{self.what} cannot be read: git {words[0]} failed.")
        return said

    def unpack(self, commit: str, unpacking: Unpacking) -> None:
        """Writes the source files of a commit."""
        listed = self.answer("ls-tree", "-r", "-z", "-l", commit)
        chosen: list[tuple[str, str, int]] = []
        for line in listed.split(b"\0"):
            entry, tab, name = line.partition(b"\t")
            mode, _, rest = entry.decode("ascii", "replace").partition(" ")
            kind, identity, size = [*rest.split(), "", "", ""][:3]
            plain = kind == "blob" and mode in ("100644", "100755")
            known = int(size) if size.isdigit() else MAX_FILE_BYTES + 1
            if tab and (path := unpacking.wanted(name.decode("utf-8", "replace"), known, plain=plain)):
                chosen.append((path, identity, known))
        self._write(chosen, unpacking)

    def _write(self, chosen: Sequence[tuple[str, str, int]], unpacking: Unpacking) -> None:
        with tempfile.TemporaryFile() as wanted:
            wanted.write("".join(f"{identity}\n" for _, identity, _ in chosen).encode())
            wanted.seek(0)
            words = ("-C", str(self.folder), "cat-file", "--batch")
            process = self._start(words, stdin=wanted, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            assert process.stdout is not None
            try:
                for done, (path, _, size) in enumerate(chosen):
                    unpacking.tell(done, len(chosen))
                    header = process.stdout.readline().split()
                    if len(header) != 3 or int(header[2]) != size or size > MAX_READ:
                        raise unpacking.refused(f"{path!r} is missing in it")
                    unpacking.write(path, size, _Blob(process.stdout, size))  # type: ignore[arg-type]
                    process.stdout.read(1)
            finally:
                _stop(process)

    def clear(self) -> None:
        """Removes the clone: what is wanted of it is in the tree."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(
        self,
        words: Sequence[str],
        *,
        stdin: int | IO[bytes] = subprocess.DEVNULL,
        stdout: int,
        stderr: int | IO[bytes],
    ) -> subprocess.Popen[bytes]:
        settings = [part for setting in _SAFE for part in ("-c", setting)]
        kept = {name: value for name, value in os.environ.items() if name in _PASSED or not name.startswith("GIT_")}
        try:
            return subprocess.Popen(
                ["git", *settings, *words],
                env=kept | _ENVIRONMENT,
                start_new_session=True,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
            )
        except FileNotFoundError as error:
            raise SourceError(f"{self.what} cannot be fetched: install git.") from error


class _Blob:
    """The next `size` bytes of a stream, as a file."""

    def __init__(self, stream: IO[bytes], size: int) -> None:
        self._stream = stream
        self._left = size

    def read(self, size: int) -> bytes:
        data = self._stream.read(min(size, self._left))
        self._left -= len(data)
        return data


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ends git and what it started."""
    if process.poll() is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            process.kill()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _tail(said: IO[bytes]) -> bytes:
    """The last of what git wrote into a file; its own place in it stays."""
    end = os.fstat(said.fileno()).st_size
    return os.pread(said.fileno(), 4_000, max(end - 4_000, 0))


def _tell(said: bytes, on_progress: Callable[[int, int], None]) -> None:
    found = _PERCENT.findall(said)
    if found:
        on_progress(int(found[-1][1]), int(found[-1][2]))


def _last_words(said: bytes) -> str:
    lines = [line.strip() for line in re.split(r"[\r\n]", said.decode("utf-8", "replace")) if line.strip()]
    told = [line for line in lines if line.startswith(("fatal:", "error:"))] or lines or ["git said nothing"]
    return without_credentials(told[0].removeprefix("fatal: "))[:300].rstrip(".")
