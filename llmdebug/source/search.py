"""Search the files of a tree for words.

ripgrep-python is right and fast in a narrow lane only: one root, one glob, answers without context. Even
there it passes over what .gitignore names, hides the rest of a file after an undecodable byte on a matching
line, and one unreadable file aborts it. So it serves as the filter, the files that it can't see are scanned
here, and where it raises all are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pyripgrep

from llmdebug.source.tree import Tree, TreeFile

MAX_LINE = 2_000


@dataclass(frozen=True, slots=True)
class Hit:
    """A line that holds one of the words."""

    path: str
    line: int
    text: str
    """The line, cut at MAX_LINE characters, undecodable bytes replaced."""


def never() -> bool:
    return False


@dataclass
class Search:
    """Search over some files of one tree: all that have one of a few suffixes."""

    tree: Tree
    files: list[TreeFile]
    undecodable: frozenset[str] = frozenset()
    """Files that are not UTF-8 throughout; ripgrep is not asked about them."""
    _unseen: list[str] | None = None

    def files_with(self, words: Iterable[str], cancelled: Callable[[], bool] = never) -> dict[str, set[str]]:
        """Path to those of the words that the file holds; files without any are left out."""
        wanted = sorted({word for word in words if word.strip()}, key=lambda w: (-len(w), w))
        if not wanted or not self.files:
            return {}
        found: dict[str, set[str]] = {}
        try:
            for path, text in self._ripgrep("|".join(re.escape(word) for word in wanted)):
                found.setdefault(path, set()).update(word for word in wanted if word in text)
            rest = self.beyond_ripgrep()
        except (OSError, RuntimeError, ValueError):
            found, rest = {}, [f.path for f in self.files]
        for path in rest:
            if cancelled():
                return {}
            data = self.tree.read(path) or b""
            held = {word for word in wanted if word.encode() in data}
            if held:
                found[path] = held
        return dict(sorted(found.items()))

    def matches(self, pattern: str) -> dict[str, list[str]]:
        """Each text that matches a pattern, to its files; re and ripgrep must read the pattern alike, within a line."""
        matcher = re.compile(pattern, re.ASCII)
        found: dict[str, set[str]] = {}
        if not self.files:
            return {}
        try:
            lines = list(self._ripgrep(pattern))
            rest = self.beyond_ripgrep()
        except (OSError, RuntimeError, ValueError):
            lines, rest = [], [f.path for f in self.files]
        lines += [(path, (self.tree.read(path) or b"").decode("utf-8", "replace")) for path in rest]
        for path, text in lines:
            for match in matcher.finditer(text):
                found.setdefault(match[0], set()).add(path)
        return {text: sorted(paths) for text, paths in sorted(found.items())}

    def lines_with(self, word: str, most: int = 200, cancelled: Callable[[], bool] = never) -> list[Hit]:
        """The first `most` lines that hold `word` as a whole word, in order of path and line."""
        pattern = re.compile(rb"(?<![A-Za-z0-9_])" + re.escape(word.encode()) + rb"(?![A-Za-z0-9_])")
        hits: list[Hit] = []
        for path in self.holding(word):
            data = self.tree.read(path)
            if data is None or cancelled():
                continue
            for number, line in enumerate(data.split(b"\n"), 1):
                if pattern.search(line):
                    hits.append(Hit(path, number, line[:MAX_LINE].decode("utf-8", "replace").strip()))
                    if len(hits) >= most:
                        return hits
        return hits

    def holding(self, word: str) -> list[str]:
        """The files that hold a word, sorted."""
        if not word.strip() or not self.files:
            return []
        return sorted(self.files_matching(re.escape(word)))

    def files_matching(self, pattern: str) -> set[str]:
        """The files that hold a match of a pattern, which re and ripgrep must read alike, within a line."""
        try:
            found = self._named(pattern) & {f.path for f in self.files}
            rest = self.beyond_ripgrep()
        except (OSError, RuntimeError, ValueError):
            found, rest = set(), [f.path for f in self.files]
        matcher = re.compile(pattern.encode(), re.ASCII)
        return found | {path for path in rest if matcher.search(self.tree.read(path) or b"")}

    @property
    def _suffixes(self) -> list[str]:
        return sorted({f.path.rpartition(".")[2] for f in self.files})

    def _named(self, pattern: str) -> set[str]:
        """The files of any name that ripgrep finds a match in; it takes one glob at a time."""
        root = str(self.tree.root)
        found: set[str] = set()
        for suffix in self._suffixes:
            answer = pyripgrep.Grep().search(pattern, path=root, glob=f"*.{suffix}", output_mode="files_with_matches")
            found |= {str(path)[len(root) :].lstrip("/") for path in answer}
        return found

    def _ripgrep(self, pattern: str) -> Iterable[tuple[str, str]]:
        """(path, line text) of each matching line, for files of the list only."""
        root = str(self.tree.root)
        known = {f.path for f in self.files} - self.undecodable
        for suffix in self._suffixes:
            answer = pyripgrep.Grep().search(pattern, path=root, glob=f"*.{suffix}", output_mode="content", n=True)
            for line in answer:
                path, _, rest = str(line)[len(root) :].lstrip("/").partition(f".{suffix}:")
                if path + f".{suffix}" in known:
                    yield path + f".{suffix}", rest.partition(":")[2]

    def beyond_ripgrep(self) -> list[str]:
        """Files that ripgrep passes over: ignored ones, and undecodable ones."""
        if not self.tree.has_ignore_rules:
            return sorted(self.undecodable)
        if self._unseen is None:
            seen = self._named("")
            self._unseen = [f.path for f in self.files if f.size and (f.path in self.undecodable or f.path not in seen)]
        return self._unseen
