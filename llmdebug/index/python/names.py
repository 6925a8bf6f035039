"""Names followed from file to file: what a name in one file stands for, without importing anything."""

from __future__ import annotations

import builtins
import re
from collections import deque
from dataclasses import dataclass
from itertools import takewhile

from llmdebug.index.build import Index
from llmdebug.index.facts import Class, Function
from llmdebug.index.languages import ASIDE, CPP, PYTHON, language_of

MAX_HOPS = 10
MAX_STARS = 60
MAX_PLACES = 24
_TOP_LINE = re.compile(rb"^(?:\S.*|[ \t]+\w+(?: as \w+)?,?[ \t]*(?:#.*)?)$", re.MULTILINE)
"""A line at the level of the module, or one of a list of imported names."""
_ATTRIBUTE = re.compile(rb"^[ \t]+self\.(\w+)[ \t]*(?::[^=\n]+)?=(?!=)[ \t]*([^\n#]*)", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_][\w.]*")
_WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Definition:
    """Where a name is defined, and as what."""

    path: str
    item: Class | Function | str
    """A class, a function, or the source text of a module-level assignment."""


def define(index: Index, path: str, name: str, hops: int = 0) -> Definition | None:
    """What `name` (dotted or not) in the file at `path` stands for; None where that is outside the tree."""
    if not name or hops > MAX_HOPS:
        return None
    if language_of(path) is CPP:
        return _in_sources(index, path, name)
    key = (path, name)
    if key not in index.definitions:
        index.definitions[key] = None  # a circle of imports ends here
        index.definitions[key] = _define(index, path, name, hops)
    found: Definition | None = index.definitions[key]
    return found


def _define(index: Index, path: str, name: str, hops: int) -> Definition | None:
    if not path.endswith(PYTHON.suffixes):
        return _in_package(index, path, name)
    found = _named(index, path, name, hops)
    head, _, rest = name.partition(".")
    if found is not None or head in index.imports(path) or hasattr(builtins, head):
        return found
    found = _through_stars(index, path, head, hops)
    return define(index, found.path, name, hops + 1) if found is not None and rest else found


def _named(index: Index, path: str, name: str, hops: int) -> Definition | None:
    """A name that the file itself defines or imports by name."""
    local = index.local(path).get(name)
    if local is not None:
        return Definition(path, local)
    head, _, rest = name.partition(".")
    origin = index.imports(path).get(head)
    return _imported(index, path, origin + (f".{rest}" if rest else ""), hops) if origin is not None else None


def _in_package(index: Index, path: str, name: str) -> Definition | None:
    """A name in a language whose packages are folders: of the file, else of its folder or of the one that is named."""
    if name in index.local(path):
        return Definition(path, index.local(path)[name])
    head, _, rest = name.partition(".")
    origin = index.imports(path).get(head, head) if "/" not in index.imports(path).get(head, "/") else head
    owner, _, last = f"{origin}.{rest}".strip(".").rpartition(".")
    folder = owner.rpartition(".")[2] or path.rpartition("/")[0].rpartition("/")[2]

    def distance(place: str) -> tuple[bool, int, int, str]:
        steps = place.rpartition(".")[0].split("/")
        return folder not in steps[-2:], -_shared(place, path), len(place), place

    near = sorted(index.defining(last, language_of(path)), key=distance)
    for place in near[:MAX_PLACES]:
        local = index.local(place)
        found = local.get(last) or next((i for n, i in local.items() if n.rpartition(".")[2] == last), None)
        if found is not None:
            return Definition(place, found)
    return None


def _in_sources(index: Index, path: str, name: str) -> Definition | None:
    """A name in a language that links its files together: of the file, else of the nearest one read so far."""
    owner, _, last = name.rpartition(".")
    if name in index.local(path):
        return Definition(path, index.local(path)[name])
    found: list[tuple[str, Class | Function]] = [*index.functions(last), *index.classes(last)]
    folder = path.rpartition("/")[0]

    def distance(each: tuple[str, Class | Function]) -> tuple[bool, bool, bool, str]:
        place, item = each
        holder = item.name.rpartition(".")[0].rpartition(".")[2]
        return bool(owner) and holder != owner, place != path, place.rpartition("/")[0] != folder, place

    near = sorted((each for each in found if not ASIDE.search(each[0])), key=distance)
    return Definition(*near[0]) if near else None


def _shared(one: str, other: str) -> int:
    """How many leading folders two files share."""
    pairs = zip(one.split("/")[:-1], other.split("/")[:-1], strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _through_stars(index: Index, path: str, name: str, hops: int) -> Definition | None:
    """A name that `from module import *` may have brought; only files that may define it are parsed for it."""
    for candidate in _behind_stars(index, path):
        if name in _top_words(index, candidate):
            found = _named(index, candidate, name, hops + 1)
            if found is not None:
                return found
    return None


def _behind_stars(index: Index, path: str) -> list[str]:
    """The files that star imports lead to, breadth first; a package may have hundreds, few are looked at."""
    if path not in index.behind_stars:
        seen = {path: None}
        pending = deque([path])
        while pending and len(seen) <= MAX_STARS:
            for candidate in _star_targets(index, pending.popleft()):
                if candidate not in seen and len(seen) <= MAX_STARS:
                    seen[candidate] = None
                    if b"import *" in (index.tree.read(candidate) or b""):
                        pending.append(candidate)
        index.behind_stars[path] = list(seen)[1:]
    return index.behind_stars[path]


def _top_words(index: Index, path: str) -> frozenset[str]:
    """The words of a file that may name what it defines or imports, read without parsing it."""
    if path not in index.top_words:
        lines = b"\n".join(_TOP_LINE.findall(index.tree.read(path) or b""))
        index.top_words[path] = frozenset(word.decode("ascii") for word in _WORD.findall(lines))
    return index.top_words[path]


def _star_targets(index: Index, path: str) -> list[str]:
    origins = [origin for marker, origin in index.imports(path).items() if marker.startswith("*")]
    modules = (absolute(path, origin.removesuffix("*").rstrip(".")) for origin in origins)
    return [candidate for module in modules for candidate in index.modules(module)[:1]]


def _imported(index: Index, path: str, origin: str, hops: int) -> Definition | None:
    """Follow a dotted origin: the longest part of it that is a module, then the rest as a name in there."""
    parts = absolute(path, origin).split(".")
    for split in range(len(parts) - 1, 0, -1):
        module, name = ".".join(parts[:split]), ".".join(parts[split:])
        for candidate in index.modules(module)[:3]:
            if candidate != path or hops == 0:
                found = define(index, candidate, name, hops + 1)
                if found:
                    return found
    return None


def absolute(path: str, origin: str) -> str:
    """A relative origin (`..module.name`) seen from the file at `path`, as a dotted path from the root."""
    if not origin.startswith("."):
        return origin
    level = len(origin) - len(origin.lstrip("."))
    folders = path.split("/")[:-1]
    kept = folders[: len(folders) - (level - 1)] if level > 1 else folders
    return ".".join([*kept, origin.lstrip(".")]).strip(".")


def define_attribute(index: Index, path: str, attribute: str) -> Definition | None:
    """What an attribute of `self` stands for that a file sets to a name and to nothing else (`self.kind = Kind`)."""
    if path not in index.attributes:
        set_to: dict[str, set[str]] = {}
        for name, value in _ATTRIBUTE.findall(index.tree.read(path) or b""):
            set_to.setdefault(name.decode("ascii", "replace"), set()).add(value.decode("utf-8", "replace").strip())
        index.attributes[path] = {name: next(iter(values)) for name, values in set_to.items() if len(values) == 1}
    value = index.attributes[path].get(attribute, "")
    return define(index, path, value) if _NAME.fullmatch(value) else None
