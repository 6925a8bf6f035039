"""Attributes of Rust's items: `#[serde(rename = "x")]`, `#[error("…")]`, `#[post("/p")]`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from tree_sitter import Node

from llmdebug.index.grammar import text_of
from llmdebug.index.rust.words import string_of

Meta = dict[str, list[str]]
"""What an attribute says: names to their values, empty for a bare one; `outer.inner` for what stands in brackets."""
COMMENTS = frozenset({"line_comment", "block_comment"})


def with_attributes(holder: Node) -> Iterator[tuple[Node, list[Node]]]:
    """The items of a list, each with the attributes before it."""
    held: list[Node] = []
    for child in holder.named_children:
        if child.type == "attribute_item":
            held += [each for each in child.named_children if each.type == "attribute"]
        elif child.type not in COMMENTS:
            yield child, held
            held = []


def named(attributes: list[Node], name: str) -> Iterator[Node]:
    """What stands in the brackets of each attribute of a name, those that hold under a condition too."""
    for attribute in attributes:
        tree = attribute.child_by_field_name("arguments")
        own = text_of(attribute.named_children[0]).rpartition("::")[2] if attribute.named_children else ""
        if tree is not None and own == name:
            yield tree
        elif tree is not None and own == "cfg_attr":
            yield from _inner(tree, name)


def _inner(tree: Node, name: str) -> Iterator[Node]:
    children = tree.children
    for before, each in pairwise(children):
        if each.type == "token_tree" and text_of(before) == name:
            yield each


def meta_of(attributes: list[Node], name: str) -> Meta:
    """What all attributes of a name say."""
    meta: Meta = {}
    for tree in named(attributes, name):
        _read(tree, "", meta)
    return meta


def _read(tree: Node, prefix: str, meta: Meta) -> None:
    name = ""
    for child in tree.children[1:-1]:
        if child.type == "token_tree" and name:
            meta.pop(prefix + name, None)
            _read(child, f"{prefix}{name}.", meta)
        elif child.type in {"identifier", "default", "crate"} or (child.type == "type" and not name):
            name = text_of(child)
            meta.setdefault(prefix + name, [])
        elif name and child.type not in {",", "="}:
            value = string_of(child)
            meta.setdefault(prefix + name, []).append(text_of(child) if value is None else value)


def derives(attributes: list[Node]) -> frozenset[str]:
    """The traits that an item derives, without their paths."""
    return frozenset(
        text_of(child) for tree in named(attributes, "derive") for child in tree.children if child.type == "identifier"
    )


def is_test(attributes: list[Node]) -> bool:
    """Whether an item is built for tests only."""
    return any(
        text_of(a) in {"test", "cfg(test)", "tokio::test"} or text_of(a).startswith("tokio::test") for a in attributes
    )
