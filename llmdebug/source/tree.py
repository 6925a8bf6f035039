"""A source tree on this machine.

Trees are untrusted: links are not followed, paths stay inside the root, sizes are bounded, and a file
that can't be read is remembered instead of stopping the work.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

MAX_FILE_BYTES = 4_000_000
MAX_FILES = 200_000
IGNORE_FILES = frozenset({".gitignore", ".ignore", ".rgignore"})
SKIPPED_FOLDERS = frozenset({".git", ".hg", ".svn", "__pycache__", "node_modules", ".venv", ".tox", ".mypy_cache"})


class TreeError(Exception):
    """A tree that can't be used; the text is a sentence for the user."""


@dataclass(frozen=True, slots=True)
class TreeFile:
    """A file of a tree as the directory tells it."""

    path: str
    """Relative to the root, with forward slashes."""
    size: int
    mtime_ns: int


@dataclass
class Tree:
    """A folder that holds a server's source."""

    root: Path
    name: str = ""
    unreadable: dict[str, str] = field(default_factory=dict)
    """Path to reason, of each file or folder that could not be read so far."""
    links: int = 0
    """Links that were passed over when its files were listed last."""
    has_ignore_rules: bool = False
    """Whether a file in the tree or above it may tell search tools to pass over some of its files."""

    def files(self, suffixes: tuple[str, ...] = (".py",)) -> list[TreeFile]:
        """All files with one of these suffixes, sorted by path; links are left out."""
        found = []
        for entry, relative in self._entries():
            if not entry.name.endswith(suffixes):
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError as error:
                self.unreadable[relative] = error.strerror or str(error)
                continue
            found.append(TreeFile(relative, status.st_size, status.st_mtime_ns))
            if len(found) >= MAX_FILES:
                self.unreadable["."] = f"only the first {MAX_FILES:,} files are read"
                break
        return sorted(found, key=lambda f: f.path)

    def _entries(self) -> Iterator[tuple[os.DirEntry[str], str]]:
        """Each regular file below the root with its relative path."""
        self.links = 0
        pending = [(str(self.root), "")]
        while pending:
            folder, prefix = pending.pop()
            try:
                entries = list(os.scandir(folder))
            except OSError as error:
                self.unreadable[prefix or "."] = error.strerror or str(error)
                continue
            for entry in entries:
                relative = prefix + entry.name
                if not _is_text(entry.name):
                    self.unreadable[os.fsencode(relative).decode("utf-8", "replace")] = "its name is not UTF-8"
                    continue
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in SKIPPED_FOLDERS:
                        pending.append((entry.path, relative + "/"))
                elif entry.is_symlink():
                    self.links += 1
                elif entry.is_file(follow_symlinks=False):
                    self.has_ignore_rules = self.has_ignore_rules or entry.name in IGNORE_FILES
                    yield entry, relative

    def read(self, path: str) -> bytes | None:
        """The bytes of a file, at most MAX_FILE_BYTES; None, and a reason kept, where that fails."""
        parts = path.split("/")
        if ".." in parts or path.startswith("/"):
            self.unreadable[path] = "leads out of the tree"
            return None
        try:
            with open(self.root / path, "rb", opener=_open_plainly) as file:
                data = file.read(MAX_FILE_BYTES + 1)
        except (OSError, ValueError) as error:
            self.unreadable[path] = getattr(error, "strerror", None) or str(error)
            return None
        if len(data) > MAX_FILE_BYTES:
            self.unreadable[path] = f"larger than {MAX_FILE_BYTES // 1_000_000} MB"
            return None
        return data

    def excerpt(self, path: str, line: int, end_line: int, around: int = 2, most: int = 14) -> str:
        """The source lines around a place, numbered and with the place marked; empty where unreadable."""
        data = self.read(path)
        if data is None:
            return ""
        lines = [line.removesuffix("\r") for line in data.decode("utf-8", "replace").split("\n")]
        lines = lines[:-1] if lines[-1] == "" else lines
        first = max(1, line - around)
        last = min(len(lines), max(line, end_line) + around, first + most - 1)
        width = len(str(last))
        return "\n".join(
            f"{number:>{width}} {'▶' if line <= number <= end_line else '│'} {lines[number - 1]}"
            for number in range(first, last + 1)
        )


def _open_plainly(path: str, flags: int) -> int:
    """Opens a file that is no link, and does not wait for one that is a pipe."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def open_tree(path: str | Path, name: str = "") -> Tree:
    """The tree at a path.

    Raises TreeError where there is no folder, it can't be listed, or it is empty.
    """
    try:
        root = Path(path).expanduser()
        if not root.exists():
            raise TreeError(f"{path}: there is no such folder; give the folder that holds the server's source")
        if not root.is_dir():
            raise TreeError(f"{path} is a file; give the folder that holds the server's source")
        root = root if str(root).startswith("/proc/") else root.resolve()  # a link there leads to another root folder
        if not any(root.iterdir()):
            raise TreeError(f"{path} is an empty folder; give the folder that holds the server's source")
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise TreeError(f"{path}: the folder can't be read ({reason})") from error
    ruled = any((folder / name).exists() for folder in root.parents for name in IGNORE_FILES)
    return Tree(root, name or root.name, has_ignore_rules=ruled)
