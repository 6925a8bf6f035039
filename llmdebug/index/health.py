"""Whether a tree can tell anything of a server at all."""

from __future__ import annotations

from llmdebug.index.build import Index

SAMPLE = 20
"""Files that are looked at where none registers a route."""


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
        return f"it holds no Python source but links ({tree.links:,}), which are not followed"
    return "it holds no Python source, and servers in other languages are not read yet"
