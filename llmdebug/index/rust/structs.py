"""Structs and enums as serde reads them: request models in Python's terms.

An untagged enum is the union of what its variants hold, one of plain variants an enumeration; a variant with a tag is a
class of its own whose tag is a literal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec
from tree_sitter import Node

from llmdebug.index.facts import Class, Field, Validator
from llmdebug.index.grammar import end_line_of, line_of, text_of
from llmdebug.index.rust.attributes import Meta, derives, meta_of, with_attributes
from llmdebug.index.rust.kinds import MAPS, annotation_of, arguments_of, name_of
from llmdebug.index.rust.names import renamed

BY_CODE = ("deserialize_with", "with")
"""Attributes of a field whose JSON other code reads."""
BASE = "Struct"
RULES = "validate"
"""The method that checks what was read."""


@dataclass(frozen=True, slots=True)
class _Manner:
    """How the fields around are read."""

    rule: str = ""
    all_default: bool = False
    read: bool = True
    """Whether serde reads them at all."""


@dataclass
class Structs:
    """The types that a file declares."""

    classes: list[Class] = field(default_factory=list)
    constants: dict[str, str] = field(default_factory=dict)
    decoders: set[str] = field(default_factory=set)
    """Types that read their JSON by code of their own."""
    ruled: set[str] = field(default_factory=set)
    """Types with functions of their own that check them."""
    branches: dict[str, list[str]] = field(default_factory=dict)
    """The classes that the variants of an enum are."""

    def known(self) -> tuple[Class, ...]:
        """The classes, flattened enums of the file laid into those that hold them."""
        by_name = {known.name: known for known in self.classes}
        return tuple(self._complete(known, by_name) for known in self.classes)

    def names(self) -> dict[str, str]:
        """What names stand for other types; those that are read by code stand for anything."""
        return {name: "Any" if name in self.decoders else value for name, value in self.constants.items()}

    def _complete(self, known: Class, by_name: dict[str, Class]) -> Class:
        if known.name in self.decoders:
            known = msgspec.structs.replace(
                known, bases=known.bases or (BASE,), validators=(Validator("deserialize", "plain"),)
            )
        if known.name in self.ruled:
            known = msgspec.structs.replace(known, validators=(*known.validators, Validator(RULES, "after")))
        laid = [base for base in known.bases if base in self.branches]
        if not laid:
            return known
        fields = [
            msgspec.structs.replace(each, default="None")
            for base in laid
            for branch in self.branches[base]
            if branch in by_name
            for each in by_name[branch].fields
        ]
        unique = {each.name: each for each in [*fields, *known.fields]}
        bases = tuple(base for base in known.bases if base not in laid)
        return msgspec.structs.replace(known, bases=bases, fields=tuple(unique.values()))

    def struct(self, node: Node, attributes: list[Node]) -> None:
        """A struct: one with fields is a class, one that wraps a value is that value."""
        name, body = text_of(node.child_by_field_name("name")), node.child_by_field_name("body")
        meta = meta_of(attributes, "serde")
        read = "Deserialize" in derives(attributes)
        if self._is_another(name, meta):
            return
        if body is not None and body.type == "ordered_field_declaration_list":
            self.constants[name] = self._tuple(body)
            return
        manner = _Manner(_of(meta, "rename_all", "rename_all.deserialize"), "default" in meta, read)
        self._class(name, node, body, manner, meta)

    def _is_another(self, name: str, meta: Meta) -> bool:
        """Whether a type is read as another one that is then converted."""
        other = _of(meta, "try_from", "from", "remote")
        if other:
            plain = other.partition("<")[0].rpartition("::")[2]
            self.constants[name] = plain if plain.isidentifier() and "<" not in other else "Any"
        return bool(other)

    def _class(
        self, name: str, node: Node, body: Node | None, manner: _Manner, meta: Meta, tags: tuple[Field, ...] = ()
    ) -> None:
        fields, bases, extra = list(tags), [BASE] if manner.read else [], None
        for declared, attributes in with_attributes(body) if body is not None else ():
            if declared.type != "field_declaration":
                continue
            told = meta_of(attributes, "serde")
            kind = declared.child_by_field_name("type")
            if "flatten" in told and kind is not None:
                inner = arguments_of(kind)[0] if name_of(kind) == "Option" and arguments_of(kind) else kind
                if name_of(inner) in MAPS or annotation_of(inner) == "Any":
                    extra = "allow"
                else:
                    bases.insert(0, annotation_of(inner))
            elif "skip" not in told and "skip_deserializing" not in told:
                fields.append(_field(declared, kind, attributes, told, manner))
        extra = extra or ("forbid" if "deny_unknown_fields" in meta else None)
        self.classes.append(Class(name, line_of(node), end_line_of(node), tuple(bases), tuple(fields), extra=extra))

    def _tuple(self, body: Node) -> str:
        kinds = [annotation_of(kind) for kind in body.children_by_field_name("type")]
        return kinds[0] if len(kinds) == 1 else f"tuple[{', '.join(kinds)}]" if kinds else "None"

    def enum(self, node: Node, attributes: list[Node]) -> None:
        """An enum: a union, an enumeration, or classes told apart by a tag."""
        name, body = text_of(node.child_by_field_name("name")), node.child_by_field_name("body")
        meta = meta_of(attributes, "serde")
        if body is None or self._is_another(name, meta):
            return
        variants = [
            (each, told)
            for each, held in with_attributes(body)
            if each.type == "enum_variant"
            for told in [meta_of(held, "serde")]
            if "skip" not in told and "skip_deserializing" not in told
        ]
        plain = all(each.child_by_field_name("body") is None for each, _ in variants)
        if plain and "untagged" not in meta and not _of(meta, "tag"):
            self._enumeration(name, node, variants, meta)
            return
        kinds = [kind for each, told in variants for kind in self._variant(name, each, told, meta)]
        tag = _of(meta, "tag")
        union = f"Union[{', '.join(dict.fromkeys(kinds))}]" if kinds else "Any"
        self.constants[name] = f"Annotated[{union}, Discriminator({tag!r})]" if tag else union

    def _enumeration(self, name: str, node: Node, variants: list[tuple[Node, Meta]], meta: Meta) -> None:
        if any("other" in told for _, told in variants):
            self.constants[name] = "str"
            return
        members = [(value, repr(value)) for each, told in variants for value in _spellings(each, told, meta)]
        self.classes.append(Class(name, line_of(node), end_line_of(node), ("StrEnum",), members=tuple(members)))

    def _variant(self, enum: str, node: Node, told: Meta, meta: Meta) -> Iterator[str]:
        """The type that a variant is read as."""
        body = node.child_by_field_name("body")
        name = f"{enum}.{text_of(node.child_by_field_name('name'))}"
        rule = _of(told, "rename_all", "rename_all.deserialize") or _of(meta, "rename_all_fields")
        manner = _Manner(rule)
        has_fields = body is not None and body.type == "field_declaration_list"
        if "untagged" in meta or "untagged" in told:
            if has_fields:
                self._make(enum, name, node, body, manner, meta)
            yield name if has_fields else self._tuple(body) if body is not None else "None"
            return
        values = _spellings(node, told, meta)
        tag, content = _of(meta, "tag"), _of(meta, "content")
        literal = f"Literal[{', '.join(map(repr, values))}]"
        if tag:
            tags = [Field(tag, line_of(node), line_of(node), literal)]
            if content and body is not None:
                inner = f"{name}.{content}" if has_fields else self._tuple(body)
                if has_fields:
                    self._class(inner, node, body, manner, {})
                tags.append(Field(content, line_of(node), end_line_of(node), inner))
                self._make(enum, name, node, None, manner, meta, tuple(tags))
            else:
                self._make(enum, name, node, body, manner, meta, tuple(tags))
            yield name
        elif body is None:
            yield literal
        else:
            inner = f"{name}.{values[0]}" if has_fields and values[0].isidentifier() else "Any"
            if inner != "Any":
                self._class(inner, node, body, manner, {})
            elif not has_fields:
                inner = self._tuple(body)
            held = Field(values[0], line_of(node), end_line_of(node), inner, aliases=tuple(values))
            self._make(enum, name, node, None, manner, {"deny_unknown_fields": []}, (held,))
            yield name

    def _make(
        self,
        enum: str,
        name: str,
        node: Node,
        body: Node | None,
        manner: _Manner,
        meta: Meta,
        tags: tuple[Field, ...] = (),
    ) -> None:
        """The class that a variant is; what it wraps is a base of it."""
        wrapped = body is not None and body.type == "ordered_field_declaration_list"
        self._class(name, node, None if wrapped else body, manner, meta, tags)
        if wrapped and body is not None:
            inner = self._tuple(body)
            known = self.classes[-1]
            self.classes[-1] = msgspec.structs.replace(known, bases=(inner, *known.bases))
        self.branches.setdefault(enum, []).append(name)


def _of(meta: Meta, *names: str) -> str:
    """The value of the first of these names that has one."""
    return next((meta[name][0] for name in names if meta.get(name)), "")


def _spellings(variant: Node, told: Meta, meta: Meta) -> list[str]:
    """The names that a variant is taken under, the preferred one first."""
    own = text_of(variant.child_by_field_name("name"))
    first = _of(told, "rename", "rename.deserialize")
    first = first or renamed(own, _of(meta, "rename_all", "rename_all.deserialize"), is_variant=True)
    return [first, *told.get("alias", [])]


def _field(node: Node, kind: Node | None, attributes: list[Node], told: Meta, manner: _Manner) -> Field:
    name = text_of(node.child_by_field_name("name")).removeprefix("r#")
    spelled = _of(told, "rename", "rename.deserialize") or renamed(name, manner.rule)
    aliases = (spelled, *told.get("alias", []))
    by_code = any(word in told for word in BY_CODE)
    annotation = annotation_of(kind)
    if by_code and "Union[" not in annotation:
        annotation = "Any"
    is_optional = name_of(kind) == "Option" and not by_code
    default = "None" if is_optional or "default" in told or manner.all_default else None
    return Field(
        name,
        line_of(node),
        end_line_of(node),
        annotation,
        default,
        aliases=aliases if aliases != (name,) else (),
        constraints=tuple(_bounds(attributes)),
    )


def _bounds(attributes: list[Node]) -> Iterator[tuple[str, str]]:
    """The bounds that `#[validate(range(min = 0.0, max = 2.0), length(min = 1))]` gives."""
    told = meta_of(attributes, "validate")
    names = {
        "range.min": "ge",
        "range.max": "le",
        "range.exclusive_min": "gt",
        "range.exclusive_max": "lt",
        "length.min": "min_length",
        "length.max": "max_length",
    }
    for name, bound in names.items():
        if told.get(name):
            yield bound, "".join(told[name])
