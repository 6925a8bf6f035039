"""Whether a tree can tell anything of a server at all, and of one server only."""

from __future__ import annotations

import re
from itertools import islice

from llmdebug.index.build import Index
from llmdebug.index.languages import ASIDE, OTHERS, PYTHON

SAMPLE = 20
"""Files that are looked at where none registers a route."""
OF_A_PROJECT = (".git", "pyproject.toml", "setup.py", "setup.cfg", "PKG-INFO", "LICENSE", "README.md")
"""What lies at the top of a project."""
READ = ", ".join(language.title or language.name.capitalize() for language in (PYTHON, *OTHERS))
SHOWN = 6
MAX_LISTED = 20_000
_VERSIONED = re.compile(r"[-=_]v?\d+\.\d")


def defect_of(index: Index) -> str:
    """Why little or nothing is found in a tree, as a sentence without its end; empty where it holds a server.

    May read files; raises Cancelled.
    """
    tree = index.tree
    if not index.kept:
        return f"the linked source {tree.name} tells nothing: {_emptiness(index)}"
    base = index.base()
    looked_at = base or list(index.kept)[:SAMPLE]
    index.load(looked_at)
    problems = [(path, index.loaded[path].problem) for path in looked_at]
    if all(problem for _, problem in problems):
        path, problem = problems[0]
        which = "that would hold its routes " if base else ""
        return f"the linked source {tree.name} tells nothing: no file {which}can be parsed ({path}: {problem})"
    if base:
        return ""
    hint = "give the folder that holds the server's source"
    return f"no file of the linked source {tree.name} registers a route, so little is found in it: {hint}"


def _emptiness(index: Index) -> str:
    """Why there is no file to read."""
    tree = index.tree
    for path, reason in tree.unreadable.items():
        return f"it cannot be read ({path}: {reason})"
    if tree.links:
        return f"it holds no source but links ({tree.links:,}), which are not followed"
    return f"it holds no source of a server in a language that is read ({READ})"


def mixture_of(index: Index) -> str:
    """Why what is found in a tree may be of another server, as a sentence without its end; empty for a tree of one.

    A folder without a project's own files, below which several projects register routes, holds several servers.
    """
    tree = index.tree
    prefix, folders = _parting(index)
    if len(folders) < 2 or _is_project(index, prefix.rstrip("/")):
        return ""
    is_environment = any(name.endswith((".dist-info", ".egg-info")) for name in _listed(index, prefix))
    apart = [name for name in folders if is_environment or _is_project(index, prefix + name)]
    if len(apart) < 2:
        return ""
    ranked = sorted(apart, key=lambda name: (-folders[name], name))
    shown = ", ".join(str(tree.root / prefix / name) for name in ranked[:SHOWN])
    more = f" and {len(ranked) - SHOWN} more" if len(ranked) > SHOWN else ""
    told = f"the linked source {tree.name} holds {len(ranked)} projects that serve routes"
    return f"{told}, so what is found may be of another server: link the one that runs, of {shown}{more}"


def _parting(index: Index) -> tuple[str, dict[str, int]]:
    """The folder below which the files that register routes part, with a slash behind, and their number by folder."""
    paths = [path for path in index.base() if index.loaded[path].routes and not ASIDE.search(path)]
    prefix = ""
    while True:
        folders: dict[str, int] = {}
        for path in paths:
            head, slash, _ = path[len(prefix) :].partition("/")
            folders[head if slash else ""] = folders.get(head if slash else "", 0) + 1
        if len(folders) != 1 or "" in folders or _is_project(index, prefix.rstrip("/")):
            return prefix, {name: count for name, count in folders.items() if name}
        prefix += next(iter(folders)) + "/"


def _is_project(index: Index, folder: str) -> bool:
    root = index.tree.root / folder
    return _VERSIONED.search(root.name) is not None or any(
        (root / name).exists() for name in (*OF_A_PROJECT, "__init__.py")
    )


def _listed(index: Index, folder: str) -> list[str]:
    try:
        return [entry.name for entry in islice((index.tree.root / folder).iterdir(), MAX_LISTED)]
    except OSError:
        return []
