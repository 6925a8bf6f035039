"""The index of one tree, read as far as a question needs it.

Reading all of a large tree takes most of a minute. So a *base set* of files is read first (those that hold
routes, error responses, exception handlers), kept on disk; the words of a question then vote for the files
that are read besides, and names are followed from file to file when they are asked for.
"""

from __future__ import annotations

import ast
import math
import re
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from llmdebug.index import store
from llmdebug.index.facts import Class, FileFacts, Function
from llmdebug.index.languages import ASIDE, OTHERS, PYTHON, Language, language_of, reader_of
from llmdebug.index.python.syntax import FunctionNode, parse, parse_function
from llmdebug.source.search import Search, never
from llmdebug.source.tree import Tree, TreeFile

MAX_SYNTAX = 24
MAX_NODES = 600
MAX_VOTED = 30

Progress = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much there is."""


def silent(_what: str, _done: int, _of: int) -> None:
    """Progress that nobody looks at."""


class Cancelled(Exception):
    """The user does not want the answer any more."""


@dataclass(eq=False)
class Index:
    """Facts of a tree. Not for use by two threads at once."""

    tree: Tree
    search: Search
    kept: dict[str, store.Kept]
    progress: Progress = silent
    cancelled: Callable[[], bool] = never
    notes: list[str] = field(default_factory=list)
    loaded: dict[str, FileFacts] = field(default_factory=dict)
    _changed: bool = False
    _syntax: OrderedDict[str, ast.Module | None] = field(default_factory=OrderedDict)
    _nodes: OrderedDict[tuple[str, str, int], FunctionNode | None] = field(default_factory=OrderedDict)
    _lines: OrderedDict[str, list[bytes]] = field(default_factory=OrderedDict)
    _modules: dict[str, list[str]] = field(default_factory=dict)
    _found_modules: dict[str, list[str]] = field(default_factory=dict)
    _local: dict[str, dict[str, Class | Function | str]] = field(default_factory=dict)
    _imports: dict[str, dict[str, str]] = field(default_factory=dict)
    definitions: dict[tuple[str, str], Any] = field(default_factory=dict)
    """What names were found to stand for; kept by `python.names.define`, as are the next three."""
    behind_stars: dict[str, list[str]] = field(default_factory=dict)
    """The files that a file's star imports lead to."""
    top_words: dict[str, frozenset[str]] = field(default_factory=dict)
    """The words of a file that may name what it defines."""
    attributes: dict[str, dict[str, str]] = field(default_factory=dict)
    """What is named by attributes of `self` that a file sets in one way only."""
    _defining: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    _functions: dict[str, list[tuple[str, Function]]] = field(default_factory=lambda: defaultdict(list))
    _classes: dict[str, list[tuple[str, Class]]] = field(default_factory=lambda: defaultdict(list))

    @property
    def paths(self) -> Iterable[str]:
        return self.kept.keys()

    def base(self) -> list[str]:
        """Paths of the base set; serving code only, unless the tree has no other."""
        marked = [path for path, kept in self.kept.items() if kept.is_base]
        return [path for path in marked if not ASIDE.search(path)] or marked

    def load(self, paths: Iterable[str], what: str = "reading the source") -> None:
        """Read these files, from disk or anew."""
        wanted = [path for path in paths if path in self.kept and path not in self.loaded]
        for done, path in enumerate(wanted):
            if self.cancelled():
                raise Cancelled
            self.progress(what, done, len(wanted))
            self._load(path)
        if wanted:
            self.progress(what, len(wanted), len(wanted))

    def _load(self, path: str) -> FileFacts:
        kept = self.kept[path]
        facts = kept.facts
        if facts is None:
            data = self.tree.read(path)
            if data is None:
                facts = FileFacts(path, problem=self.tree.unreadable.get(path, "can't be read"))
            else:
                facts = reader_of(language_of(path))(path, data)
            kept.facts = facts
            self._changed = True
        self.loaded[path] = facts
        for function in facts.functions:
            self._functions[function.name.rpartition(".")[2]].append((path, function))
        for known in facts.classes:
            self._classes[known.name.rpartition(".")[2]].append((path, known))
        return facts

    def facts(self, path: str) -> FileFacts | None:
        """The facts of a file of the tree; None where the tree has no such file."""
        if path in self.loaded:
            return self.loaded[path]
        return self._load(path) if path in self.kept else None

    def syntax(self, path: str) -> ast.Module | None:
        """The syntax tree of a file; None where it can't be parsed."""
        if path in self._syntax:
            self._syntax.move_to_end(path)
            return self._syntax[path]
        data = self.tree.read(path) if path.endswith(PYTHON.suffixes) else None
        module = parse(data) if data is not None else "unreadable"
        self._syntax[path] = None if isinstance(module, str) else module
        if len(self._syntax) > MAX_SYNTAX:
            self._syntax.popitem(last=False)
        return self._syntax[path]

    def node(self, path: str, function: Function) -> FunctionNode | None:
        """The syntax tree of a function of Python, decorators left out; None where its lines can't be parsed alone."""
        key = (path, function.name, function.line)
        if key in self._nodes:
            self._nodes.move_to_end(key)
            return self._nodes[key]
        lines = self.lines(path)[function.line - 1 : function.end_line] if path.endswith(PYTHON.suffixes) else []
        made = parse_function(lines, function.line)
        self._nodes[key] = made
        if len(self._nodes) > MAX_NODES:
            self._nodes.popitem(last=False)
        return made

    def named_node(self, path: str, name: str) -> FunctionNode | None:
        """The syntax tree of the function with this qualified name; None where the file has none."""
        function = self.local(path).get(name)
        return self.node(path, function) if isinstance(function, Function) else None

    def lines(self, path: str) -> list[bytes]:
        """The lines of a file, with their ends; none where it can't be read."""
        if path not in self._lines:
            self._lines[path] = (self.tree.read(path) or b"").splitlines(keepends=True)
            if len(self._lines) > MAX_SYNTAX:
                self._lines.popitem(last=False)
        return self._lines[path]

    def functions(self, name: str) -> list[tuple[str, Function]]:
        """Functions and methods of this last name, in the files read so far."""
        return self._functions.get(name, [])

    def classes(self, name: str) -> list[tuple[str, Class]]:
        """Classes of this last name, in the files read so far."""
        return self._classes.get(name, [])

    def defining(self, name: str, language: Language) -> list[str]:
        """The files of a language that may define a name at their top, found in all of them at once."""
        if language.name not in self._defining:
            pattern = re.compile(language.definitions.encode(), re.MULTILINE)
            found: dict[str, list[str]] = {}
            for path in self.kept:
                if path.endswith(language.suffixes) and not ASIDE.search(path):
                    for defined in set(pattern.findall(self.tree.read(path) or b"")):
                        found.setdefault(defined.decode("utf-8", "replace"), []).append(path)
            self._defining[language.name] = found
        return self._defining[language.name].get(name, [])

    def vote(self, text: str, most: int = MAX_VOTED) -> list[str]:
        """The files that share the rarest pairs of words with a message, best first."""
        words = pairs_of(text)
        held = self.search.files_with(words, self.cancelled)
        if self.cancelled():
            raise Cancelled
        counts: dict[str, int] = defaultdict(int)
        for found in held.values():
            for word in found:
                counts[word] += 1
        total = len(self.kept) + 1
        weight = {word: math.log(total / count) for word, count in counts.items()}

        def score(path: str) -> float:
            return sum(weight[word] for word in held[path]) * (0.4 if ASIDE.search(path) else 1.0)

        ranked = sorted(held, key=lambda path: (-score(path), path))[:most]
        return [path for path in ranked if score(path) >= 0.25 * score(ranked[0])]

    def save(self) -> None:
        """Keep on disk what was read anew."""
        if self._changed:
            reason = store.save(self.tree.root, self.kept)
            self._changed = False
            if reason and reason not in self.notes:
                self.notes.append(reason)

    def problems(self, paths: Iterable[str]) -> list[str]:
        """One sentence for each of these files that could not be read or parsed."""
        parsed = [f"{p}: {self.loaded[p].problem}" for p in paths if p in self.loaded and self.loaded[p].problem]
        return parsed + [f"{p}: {reason}" for p, reason in self.tree.unreadable.items() if p not in self.loaded]

    def local(self, path: str) -> dict[str, Class | Function | str]:
        """What the names of a file stand for in the file itself: classes, functions, texts of assignments."""
        if path not in self._local:
            facts = self.facts(path)
            names: dict[str, Class | Function | str] = dict(facts.constants) if facts else {}
            if facts:
                names.update((f.name, f) for f in facts.functions)
                names.update((c.name, c) for c in facts.classes)
            self._local[path] = names
        return self._local[path]

    def imports(self, path: str) -> dict[str, str]:
        """The imported names of a file and their origins."""
        if path not in self._imports:
            facts = self.facts(path)
            self._imports[path] = dict(facts.imports) if facts else {}
        return self._imports[path]

    def modules(self, dotted: str) -> list[str]:
        """Paths of the files that a dotted module name may mean, the shortest first."""
        if dotted not in self._found_modules:
            self._found_modules[dotted] = self._modules_of(dotted)
        return self._found_modules[dotted]

    def _modules_of(self, dotted: str) -> list[str]:
        if not self._modules:
            for path in self.kept:
                self._modules.setdefault(self._module_path(path).rpartition("/")[2], []).append(path)
        last = dotted.rpartition(".")[2]
        tail = "/" + dotted.replace(".", "/")
        return sorted((path for path in self._modules.get(last, []) if self._module_path(path).endswith(tail)), key=len)

    def _module_path(self, path: str) -> str:
        """A file as a module; the tree may be a package itself, whose name its own modules are imported by."""
        return f"/{self.tree.root.name}/{path}".removesuffix(".py").removesuffix("/__init__")


def pairs_of(text: str) -> list[str]:
    """Neighbouring words of a message as they would stand in source; single words where there are few."""
    pairs: list[str] = []
    singles: list[str] = []
    for line in re.split(r"[\"'`\\\n\r\t{}<>]|\\n", text[:4000]):
        words = line.split()
        singles += [word.strip(".,:;()[]") for word in words]
        pairs += [f"{a} {b}" for a, b in pairwise(words) if len(a) + len(b) > 4]
    singles = [word for word in singles if len(word) >= 5 and not word.isdigit()]
    chosen = list(dict.fromkeys(pairs))[:60]
    return chosen if len(chosen) >= 3 else list(dict.fromkeys(chosen + singles))[:24]


def open_index(
    tree: Tree, *, progress: Progress = silent, cancelled: Callable[[], bool] = never, keep: bool = True
) -> Index:
    """The index of a tree, its base set read; `keep` lets it use the cache on disk.

    Raises Cancelled.
    """
    kept = store.load(tree.root) if keep else {}
    files = tree.files(PYTHON.suffixes)
    known = _kept(tree, PYTHON, files, kept, progress, cancelled)
    index = Index(tree, Search(tree, files), known, progress, cancelled)
    index.load(index.base())
    for language in OTHERS:
        if _serves(index):
            break
        files = tree.files(language.suffixes)
        known = _kept(tree, language, files, kept, progress, cancelled)
        if any(k.is_base and not ASIDE.search(path) for path, k in known.items()):
            index.search.files += files
            index.kept = dict(sorted({**index.kept, **known}.items()))
            index.load(index.base())
    index.search.undecodable = frozenset(path for path, k in index.kept.items() if k.undecodable)
    if keep:
        index._changed = index._changed or any(kept.get(path) is not k for path, k in index.kept.items())
        index.save()
    return index


def _serves(index: Index) -> bool:
    """Whether the tree registers routes in the files read so far."""
    return any(facts.routes for path, facts in index.loaded.items() if not ASIDE.search(path))


def _kept(
    tree: Tree,
    language: Language,
    files: list[TreeFile],
    kept: dict[str, store.Kept],
    progress: Progress,
    cancelled: Callable[[], bool],
) -> dict[str, store.Kept]:
    """What is known of the files of a language: kept from before, or found by looking at each."""
    known = {f.path: kept[f.path] for f in files if f.path in kept and kept[f.path].fits(f)}
    fresh = [f for f in files if f.path not in known]
    marks = re.compile(language.marks.encode())
    marked = Search(tree, files).files_matching(language.marks) if fresh else set()
    for done, file in enumerate(fresh):
        if cancelled():
            raise Cancelled
        if done % 64 == 0:
            progress("looking through the tree", done, len(fresh))
        data = tree.read(file.path) or b""
        undecodable = not data.isascii() and not _is_utf8(data)
        is_base = file.path in marked or (undecodable and bool(marks.search(data)))
        known[file.path] = store.Kept(file.size, file.mtime_ns, is_base, undecodable)
    return dict(sorted(known.items()))


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
