"""From method and path to the registrations that answer them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from llmdebug.index.build import Index
from llmdebug.index.facts import NAMED_PATH, FileFacts, Mount, Route
from llmdebug.index.languages import ASIDE, PYTHON
from llmdebug.index.python.names import absolute, define

MAX_PREFIXES = 12
MAX_HOPS = 4
PARAMETER = re.compile(r"\{([^{}:]*)(?::(\w+))?\}|<(?:(\w+)(?:\([^()<>]*\))?:)?(\w+)>")


@dataclass(frozen=True, slots=True)
class Registered:
    """A registration with its full path."""

    file: str
    route: Route
    path: str
    """With the prefixes of its routers."""
    mounts: tuple[tuple[str, Mount], ...] = ()
    """The includes, with their files, through which the app reaches it, outermost last."""
    is_mounted: bool = True

    @property
    def is_comparison(self) -> bool:
        """Whether code compares the path by hand rather than registering it."""
        return self.route.methods == ("*",) and not self.route.router


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a tree says of a method and a path."""

    matches: tuple[Registered, ...] = ()
    """Registrations that take both, best first."""
    other_methods: tuple[Registered, ...] = ()
    """Registrations of the path for other methods."""
    nearest: tuple[Registered, ...] = ()
    """Where the path is registered nowhere: those with the most alike paths."""
    path: str = ""
    """The part of the request's path that was matched."""


@dataclass
class Routes:
    """All registrations of a tree, in its base set."""

    index: Index
    known: list[Registered] = field(default_factory=list)

    def __post_init__(self) -> None:
        facts = [self.index.loaded[path] for path in self.index.base() if path in self.index.loaded]
        prefixes = _Prefixes(self.index, facts)
        for file in facts:
            for route in file.routes:
                own = self._path(file.path, route.path)
                if own is None:
                    continue
                found = prefixes.of(file.path, route)
                for prefix, mounts, mounted in found:
                    self.known.append(Registered(file.path, route, join(prefix, own), mounts, mounted))

    def _path(self, file: str, written: str) -> str | None:
        """A registered path, the constant that it ends in followed to its file; None where that is not found."""
        before, named, name = written.partition(NAMED_PATH)
        if not named:
            return written
        found = define(self.index, file, name)
        text = found.item if found is not None else None
        return before + text.strip("'\"") if isinstance(text, str) and text.strip("'\"").startswith("/") else None

    def resolve(self, method: str, path: str) -> Resolution:
        """The registrations for a request; leading parts of the path may belong to a gateway."""
        path = path.partition("?")[0]
        segments = path.split("/")
        for start in range(1, max(2, len(segments))):
            tail = "/" + "/".join(segments[start:])
            taking = [r for r in self.known if path_matches(r.path, tail)]
            registered = [r for r in taking if not r.is_comparison]
            if registered or not all(self._is_passed(each) for each in taking):
                return self._sorted(method, tail, registered or taking)
        return Resolution(nearest=tuple(self._nearest(path)), path=path)

    def _is_passed(self, compared: Registered) -> bool:
        """Whether code but asks how a path begins, as middlewares do, and routes stand below it."""
        lines = self.index.lines(compared.file)[compared.route.line - 1 : compared.route.end_line]
        below = compared.path.rstrip("/") + "/"
        return any(b"startswith" in line for line in lines) and any(
            known.path.startswith(below) for known in self.known if not known.is_comparison
        )

    def _sorted(self, method: str, path: str, taking: list[Registered]) -> Resolution:
        density: dict[str, int] = {}
        for known in self.known:
            density[known.file] = density.get(known.file, 0) + 1

        def preference(r: Registered) -> tuple[bool, bool, int, int, str, int]:
            holes = len(PARAMETER.findall(r.path))
            return (bool(ASIDE.search(r.file)), not r.is_mounted, holes, -density[r.file], r.file, r.route.line)

        taking.sort(key=preference)
        exact = [r for r in taking if takes_method(r.route, method)]
        others = [r for r in taking if not takes_method(r.route, method)]
        return Resolution(tuple(exact), tuple(others), (), path)

    def _nearest(self, path: str) -> list[Registered]:
        best: dict[str, tuple[float, Registered]] = {}
        for known in self.known:
            if "WEBSOCKET" in known.route.methods or known.is_comparison:
                continue
            likeness = SequenceMatcher(None, path, known.path, autojunk=False).ratio()
            likeness -= 0.3 if ASIDE.search(known.file) else 0.0
            if known.path not in best or likeness > best[known.path][0]:
                best[known.path] = (likeness, known)
        ranked = sorted(best.values(), key=lambda pair: -pair[0])
        return [known for likeness, known in ranked[:3] if likeness > 0.45]


def nearness(one: str, other: str) -> float:
    """Share of the folders that two files have in common."""
    left, right = one.split("/")[:-1], other.split("/")[:-1]
    common = 0
    for a, b in zip(left, right, strict=False):
        if a != b:
            break
        common += 1
    return common / max(len(left), len(right), 1)


def join(prefix: str, path: str) -> str:
    if not prefix:
        return path or "/"
    return prefix.rstrip("/") + (path if path.startswith("/") or not path else "/" + path)


def takes_method(route: Route, method: str) -> bool:
    return method in route.methods or "*" in route.methods or (method == "HEAD" and "GET" in route.methods)


def path_matches(pattern: str, path: str) -> bool:
    """Whether a registered path, parameters and all, takes a path."""
    if "{" not in pattern and "<" not in pattern:
        return pattern == path or pattern.rstrip("/") == path.rstrip("/")
    if not re.search(r"/[\w.\-]", pattern):
        return False  # a path made of parameters alone tells nothing
    return re.fullmatch(_expression(pattern), path) is not None


def path_values(pattern: str, path: str) -> dict[str, str]:
    """The parameters of a registered path as a request's path gives them; a gateway's leading parts are passed over."""
    match = re.search(_expression(pattern) + "$", path)
    names = [found[1] or found[4] for found in PARAMETER.finditer(pattern)]
    return dict(zip(names, match.groups(), strict=False)) if match else {}


def _expression(pattern: str) -> str:
    expression, position = "", 0
    for match in PARAMETER.finditer(pattern):
        expression += re.escape(pattern[position : match.start()])
        expression += "(.+)" if "path" in (match[2], match[3]) else "([^/]+)"
        position = match.end()
    return expression + re.escape(pattern[position:])


class _Prefixes:
    """Follows includes and mounts from routers to the app."""

    def __init__(self, index: Index, facts: list[FileFacts]) -> None:
        self.index = index
        self.own: dict[tuple[str, str], str] = {
            (file.path, name): prefix for file in facts for name, prefix in file.routers
        }
        self.including: dict[tuple[str, str], list[tuple[str, Mount]]] = {}
        self.by_file = {file.path: file for file in facts}
        for file in facts:
            for mount in file.mounts:
                for child in self._children(file, mount):
                    self.including.setdefault(child, []).append((file.path, mount))

    def _children(self, file: FileFacts, mount: Mount) -> list[tuple[str, str]]:
        """The routers that an include names: (file, name)."""
        head, _, rest = mount.child.partition(".")
        if (file.path, mount.child) in self.own:
            return [(file.path, mount.child)]
        if (file.path, head) in self.own and not rest:
            return [(file.path, head)]
        if not file.path.endswith(PYTHON.suffixes):
            return [(path, name) for path, name in self.own if name == mount.child.rpartition(".")[2]]
        module, _, name = absolute(file.path, mount.child).rpartition(".")
        found = []
        for path in self.index.modules(module) if module else ():
            if (path, name) in self.own:
                found.append((path, name))
                continue
            imported = self.index.imports(path).get(name)
            if imported:
                found += self._imported(path, imported, 0)
            elif path in self.by_file and any(f.name == name for f in self.by_file[path].functions):
                found += [(path, n) for n, _ in self.by_file[path].routers]
        return found

    def _imported(self, path: str, origin: str, hops: int) -> list[tuple[str, str]]:
        module, _, name = absolute(path, origin).rpartition(".")
        found = []
        for place in self.index.modules(module) if hops < MAX_HOPS else ():
            if (place, name) in self.own:
                found.append((place, name))
            elif further := self.index.imports(place).get(name):
                found += self._imported(place, further, hops + 1)
        return found

    def of(self, file: str, route: Route) -> list[tuple[str, tuple[tuple[str, Mount], ...], bool]]:
        """(prefix, includes, whether an app reaches it) for each way to a registration."""
        key = (file, route.router)
        return self._of(key, ())[:MAX_PREFIXES] or [("", (), True)]

    def _of(
        self, key: tuple[str, str], seen: tuple[tuple[str, str], ...]
    ) -> list[tuple[str, tuple[tuple[str, Mount], ...], bool]]:
        own = self.own.get(key, "")
        if key in seen or len(seen) > 8:
            return []
        found = []
        for file, mount in self.including.get(key, ())[:MAX_PREFIXES]:
            parent = (file, mount.parent)
            above = self._of(parent, (*seen, key)) if parent in self.own else [("", (), True)]
            for prefix, mounts, mounted in above:
                found.append(
                    (
                        join(join(prefix, mount.prefix) if mount.prefix else prefix, own)
                        if own
                        else (join(prefix, mount.prefix) if mount.prefix else prefix),
                        ((file, mount), *mounts),
                        mounted,
                    )
                )
        if found:
            unique = {(prefix, mounted): (prefix, mounts, mounted) for prefix, mounts, mounted in reversed(found)}
            return list(reversed(unique.values()))
        is_router = key in self.own and key[1] not in {"app", "application"}
        return [(own, (), not is_router)]
