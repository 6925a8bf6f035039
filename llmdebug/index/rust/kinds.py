"""Types of Rust in Python's terms: `Vec<Option<u32>>` is `list[Optional[NonNegativeInt]]`."""

from __future__ import annotations

import re

from tree_sitter import Node

from llmdebug.index.grammar import text_of

TEXTS = frozenset({"String", "str", "char", "PathBuf", "OsString", "CompactString", "SmolStr"})
OPEN = frozenset({"Value", "RawValue", "Self", "JsonValue", "Instant", "Duration", "SystemTime"})
"""Types whose JSON is free, or told nowhere in the tree."""
LISTS = frozenset(
    {"Vec", "VecDeque", "HashSet", "BTreeSet", "IndexSet", "LinkedList", "SmallVec", "BinaryHeap", "FxHashSet"}
)
MAPS = frozenset({"HashMap", "BTreeMap", "IndexMap", "DashMap", "AHashMap", "FxHashMap", "Map"})
WRAPPERS = frozenset({"Box", "Arc", "Rc", "Cow", "Mutex", "RwLock", "RefCell", "Cell", "Wrapping", "Reverse"})


def arguments_of(kind: Node) -> list[Node]:
    """The types between a type's angle brackets."""
    held = kind.child_by_field_name("type_arguments")
    return [each for each in held.named_children if each.type not in {"lifetime", "block"}] if held is not None else []


def name_of(kind: Node | None) -> str:
    """The name of a type without its path and arguments."""
    if kind is not None and kind.type == "generic_type":
        kind = kind.child_by_field_name("type")
    return text_of(kind).rpartition("::")[2].partition("<")[0].strip()


def annotation_of(kind: Node | None) -> str:
    """A type in Python's terms; `Any` for what none of them can tell."""
    if kind is None:
        return "Any"
    match kind.type:
        case "primitive_type" | "type_identifier":
            return _scalar(text_of(kind))
        case "scoped_type_identifier":
            steps = [step for step in text_of(kind).split("::") if step not in {"crate", "self", "super"}]
            scalar = _scalar(steps[-1]) if steps else "Any"
            return ".".join(steps[-2:]) if steps and scalar == steps[-1] and steps[0] != "Self" else scalar
        case "generic_type":
            return _generic(kind)
        case "reference_type":
            return annotation_of(kind.child_by_field_name("type"))
        case "array_type":
            return f"list[{annotation_of(kind.child_by_field_name('element'))}]"
        case "tuple_type":
            return f"tuple[{', '.join(annotation_of(each) for each in kind.named_children)}]"
        case "unit_type":
            return "None"
    return "Any"


def _scalar(name: str) -> str:
    if re.fullmatch(r"i(8|16|32|64|128|size)", name):
        return "int"
    if re.fullmatch(r"u(8|16|32|64|128|size)", name):
        return "NonNegativeInt"
    if re.fullmatch(r"f(16|32|64)", name):
        return "float"
    if re.fullmatch(r"NonZero(U\w+)", name):
        return "PositiveInt"
    if name in TEXTS:
        return "str"
    if name in OPEN or not name.isidentifier():
        return "Any"
    return name if name not in MAPS else "dict"


def _generic(kind: Node) -> str:
    name, inner = name_of(kind), arguments_of(kind)
    if not inner:
        return _scalar(name)
    if name == "Option":
        return f"Optional[{annotation_of(inner[0])}]"
    if name in LISTS:
        return f"list[{annotation_of(inner[0])}]"
    if name in MAPS:
        return f"dict[str, {annotation_of(inner[1])}]" if len(inner) > 1 else "dict"
    if name in WRAPPERS:
        return annotation_of(inner[-1])
    if name == "Either" and len(inner) == 2:
        return f"Union[{annotation_of(inner[0])}, {annotation_of(inner[1])}]"
    written = kind.child_by_field_name("type")
    return annotation_of(written)
