"""Unions print one error a branch: fold them to the branch that the value is nearest to."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Any

from llmdebug.diagnosis.locate import Located, value_at
from llmdebug.diagnosis.schema import Problem

TAG_ERRORS = frozenset({"literal_error", "enum", "union_tag_invalid", "value_error"})
ALIKE = 0.55
"""How much a tag must resemble an admitted one to be taken for a slip of it."""
TAG_KEYS = frozenset({"type", "role", "object", "kind", "mode"})
WRONG_SHAPE = (
    "string_type", "list_type", "dict_type", "model_type", "model_attributes_type", "int_type", "float_type",
    "bool_type", "dataclass_type", "is_instance_of", "none_required", "tuple_type", "set_type", "callable_type",
    "int_parsing", "float_parsing", "bool_parsing", "iterable_type", "bytes_type", "dataclass_exact_type",
)  # fmt: skip


def fold(found: list[Located], body: Any, own: list[Problem] | None = None) -> list[Located]:
    """The complaints that tell what is wrong, most telling first.

    `own` is the verdict of our own check of the body, used where locations tell no branches.
    """
    if len(found) <= 1:
        return found
    if any(item.markers for item in found):
        return _containers(_by_markers(found, 0, body), body)
    return _containers(_without_markers(found, own or []), body)


def _by_markers(found: list[Located], position: int, body: Any) -> list[Located]:
    """Split by the marker at `position`; of each union keep the nearest branch."""
    groups: dict[str, dict[str, list[Located]]] = defaultdict(lambda: defaultdict(list))
    plain: list[Located] = []
    for item in found:
        if len(item.markers) > position:
            prefix = "/".join(item.pointer.split("/")[: item.marker_depths[position] + 1])
            groups[prefix][item.markers[position]].append(item)
        else:
            plain.append(item)
    kept = list(plain)
    for prefix, branches in groups.items():
        folded = {marker: _by_markers(items, position + 1, body) for marker, items in branches.items()}
        kept += _nearest(prefix, list(folded.values()), body)
    return kept


def _nearest(prefix: str, branches: list[list[Located]], body: Any) -> list[Located]:
    if len(branches) == 1:
        return branches[0]
    wrong_tags = [{i.pointer for i in branch if _is_tag_error(i, prefix)} for branch in branches]
    everywhere = set.intersection(*wrong_tags)
    if everywhere:
        return [_meant([next(i for i in branch if i.pointer in everywhere) for branch in branches], body)]
    untagged = [i for branch in branches for i in branch if _is_missing_tag(i, prefix)]
    if len({i.markers for i in untagged}) > 1 and 3 * len(untagged) >= 2 * len(branches):
        return [replace(untagged[0], of_union=len(branches) > 2)]

    def distance(branch: list[Located]) -> tuple[int, int, int, int, int]:
        tags = sum(_is_tag_error(i, prefix) for i in branch)
        at_root = any(i.pointer == prefix and i.complaint.type in WRONG_SHAPE for i in branch)
        depth = max(i.pointer.count("/") for i in branch)
        missing_tag = any(i.complaint.type == "missing" and i.pointer.rpartition("/")[2] in TAG_KEYS for i in branch)
        return (tags, int(at_root), int(missing_tag), len({i.pointer for i in branch}), -depth)

    return min(branches, key=distance)


def _meant(items: list[Located], body: Any) -> Located:
    """Of branches that all refuse the tag: the one whose literals it resembles; where none does, the union itself."""
    given = str(value_at(body, items[0].pointer))

    def likeness(item: Located) -> float:
        admitted = re.findall(r"'([^']*)'", item.complaint.message)
        return max((_likeness(given.lower(), a.lower()) for a in admitted), default=0.0)

    best = max(items, key=likeness)
    return best if likeness(best) >= ALIKE else replace(items[0], of_union=True)


def _likeness(given: str, admitted: str) -> float:
    if len(given) > 2 and (given in admitted or admitted in given):
        return 0.8
    return SequenceMatcher(None, given, admitted).ratio()


def _is_missing_tag(item: Located, prefix: str) -> bool:
    rest = item.pointer[len(prefix) :]
    last = rest.rpartition("/")[2]
    return item.complaint.type == "missing" and last in TAG_KEYS and rest.count("/") <= 2


def _is_tag_error(item: Located, prefix: str) -> bool:
    rest = item.pointer[len(prefix) :]
    if item.complaint.type in {"union_tag_invalid", "union_tag_not_found"}:
        return False
    return rest.count("/") == 1 and rest[1:] in TAG_KEYS and item.complaint.type in TAG_ERRORS


def _without_markers(found: list[Located], own: list[Problem]) -> list[Located]:
    """Locations without branches: our own check chooses, else depth, number and kind of the errors."""
    at = {(p.pointer, p.type) for p in own}
    agreed = [i for i in found if (i.pointer, i.complaint.type) in at]
    if agreed:
        return agreed
    pointers = {p.pointer for p in own}
    agreed = [i for i in found if i.pointer in pointers]
    if agreed:
        return agreed
    tops: dict[str, list[Located]] = defaultdict(list)
    for item in found:
        tops["/".join(item.pointer.split("/")[:2])].append(item)
    kept: list[Located] = []
    for items in tops.values():
        by_type: dict[str, list[Located]] = defaultdict(list)
        for item in items:
            by_type[item.complaint.type].append(item)
        nearest = min(by_type, key=lambda name: _unmarked_distance(by_type[name]))
        kept += by_type[nearest]
    return kept


def _unmarked_distance(items: list[Located]) -> tuple[int, int, int]:
    tags = sum(i.complaint.type in TAG_ERRORS and i.pointer.rpartition("/")[2] in TAG_KEYS for i in items)
    shallow = min(i.pointer.count("/") for i in items)
    return (tags, -shallow, len(items))


def _containers(kept: list[Located], body: Any) -> list[Located]:
    """Where all elements of a list, two at least, are wrong in the same way, the list is."""
    by_parent: dict[tuple[str, str], list[Located]] = defaultdict(list)
    for item in kept:
        parent, _, last = item.pointer.rpartition("/")
        if last.isdigit() and item.complaint.type in WRONG_SHAPE:
            by_parent[parent, item.complaint.type].append(item)
    out: list[Located] = []
    for item in kept:
        parent, _, last = item.pointer.rpartition("/")
        family = by_parent.get((parent, item.complaint.type), []) if last.isdigit() else []
        holder = value_at(body, parent) if family else None
        if isinstance(holder, list) and len(holder) >= 2 and len({i.pointer for i in family}) == len(holder):
            raised = Located(item.complaint, parent, item.place, item.markers, item.marker_depths)
            if all(o.pointer != parent for o in out):
                out.append(raised)
        else:
            out.append(item)
    return out
