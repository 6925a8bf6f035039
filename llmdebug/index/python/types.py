"""Annotations as types: what JSON values a declaration admits."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace

from llmdebug.index.build import Index
from llmdebug.index.facts import Class
from llmdebug.index.python.constants import constant, literal
from llmdebug.index.python.models import Model, model_of
from llmdebug.index.python.names import define
from llmdebug.index.python.syntax import dotted, keyword, last_name, string, text

MAX_DEPTH = 24

SCALARS = {
    "str": "str", "int": "int", "float": "float", "bool": "bool", "bytes": "str", "None": "none", "NoneType": "none",
    "StrictStr": "str", "StrictInt": "int", "StrictFloat": "float", "StrictBool": "bool", "Decimal": "float",
    "NonNegativeInt": "int", "PositiveInt": "int", "NonNegativeFloat": "float", "PositiveFloat": "float",
    "AnyUrl": "str", "HttpUrl": "str", "AnyHttpUrl": "str", "Path": "str", "UUID": "str", "datetime": "str",
    "SecretStr": "str", "Text": "str", "UploadFile": "file",
}  # fmt: skip
NAMED_BOUNDS = {
    "NonNegativeInt": ("ge", 0),
    "PositiveInt": ("gt", 0),
    "NonNegativeFloat": ("ge", 0),
    "PositiveFloat": ("gt", 0),
}
LISTS = frozenset(
    {
        "list",
        "List",
        "Sequence",
        "Iterable",
        "MutableSequence",
        "Collection",
        "Set",
        "set",
        "FrozenSet",
        "frozenset",
        "deque",
        "conlist",
    }
)
LIST_NAMES = {"set": "set", "Set": "set", "frozenset": "frozen_set", "FrozenSet": "frozen_set"}
MAPS = frozenset({"dict", "Dict", "Mapping", "MutableMapping", "OrderedDict", "defaultdict", "DefaultDict"})
WRAPPERS = frozenset({"Required", "NotRequired", "ReadOnly", "Final", "ClassVar", "InitVar", "Type"})
CONSTRAINED = {"conint": "int", "confloat": "float", "constr": "str", "conlist": "list"}
BOUNDS = (
    "ge",
    "gt",
    "le",
    "lt",
    "min_length",
    "max_length",
    "min_items",
    "max_items",
    "multiple_of",
    "pattern",
    "discriminator",
    "strict",
)
SHORT_BOUNDS = {"Ge": "ge", "Gt": "gt", "Le": "le", "Lt": "lt", "MinLen": "min_length", "MaxLen": "max_length"}


@dataclass(frozen=True, slots=True)
class Anything:
    """No limits, or none that the tree tells."""

    name: str = ""
    """The name in the annotation where it could not be followed; empty for `Any`."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """str, int, float, bool, none or file."""

    name: str
    strict: bool = field(default=False, compare=False)
    """Whether nothing is converted to it."""


@dataclass(frozen=True, slots=True)
class OneOf:
    """A Literal or an enum."""

    values: tuple[object, ...]
    enum: str = ""


@dataclass(frozen=True, slots=True)
class ListOf:
    item: Type
    name: str = field(default="list", compare=False)
    """What it becomes: list, tuple, set or frozen_set."""


@dataclass(frozen=True, slots=True)
class TupleOf:
    items: tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class MapOf:
    key: Type
    value: Type


@dataclass(frozen=True, slots=True)
class Either:
    """A union; `tag` names the field that tells the branches apart, where the tree says so."""

    options: tuple[Type, ...]
    tag: str = ""


@dataclass(frozen=True, slots=True)
class Limited:
    """A type with bounds."""

    inner: Type
    bounds: tuple[tuple[str, object], ...]


@dataclass(frozen=True, slots=True)
class Object:
    """A class of the tree."""

    model: Model

    def __hash__(self) -> int:
        return hash((self.model.path, self.model.name))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Object) and (self.model.path, self.model.name) == (other.model.path, other.model.name)


Type = Anything | Scalar | OneOf | ListOf | TupleOf | MapOf | Either | Limited | Object

ANYTHING = Anything()


class Types:
    """Reads annotations of one index; remembers what it has read."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self._read: dict[tuple[str, str], Type] = {}
        self._models: dict[tuple[str, str], Model] = {}

    def model(self, path: str, definition: Class) -> Model:
        key = (path, definition.name)
        if key not in self._models:
            self._models[key] = model_of(self.index, path, definition)
        return self._models[key]

    def of(self, path: str, annotation: str, depth: int = 0) -> Type:
        """The type that an annotation in the file at `path` stands for."""
        key = (path, annotation)
        if key in self._read:
            return self._read[key]
        self._read[key] = ANYTHING  # a recursive alias ends here
        try:
            node = ast.parse(annotation.strip() or "Any", mode="eval").body
            found = self._node(path, node, depth)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            found = ANYTHING
        self._read[key] = found
        return found

    def _node(self, path: str, node: ast.expr, depth: int) -> Type:
        if depth > MAX_DEPTH:
            return ANYTHING
        match node:
            case ast.Constant(value=None):
                return Scalar("none")
            case ast.Constant(value=str(quoted)):
                return self.of(path, quoted, depth + 1)
            case ast.Name() | ast.Attribute():
                return self._name(path, dotted(node), depth)
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                return either((self._node(path, left, depth + 1), self._node(path, right, depth + 1)))
            case ast.Subscript(value=value, slice=inner):
                return self._subscript(path, last_name(value), value, inner, depth)
            case ast.Call(func=func) if last_name(func) in CONSTRAINED:
                return self._constrained(path, node, depth)
        return ANYTHING

    def _name(self, path: str, name: str, depth: int) -> Type:
        last = name.rpartition(".")[2]
        if last in {"Any", "object", "JsonValue", "Json"}:
            return ANYTHING
        if last in LISTS:
            return ListOf(ANYTHING, LIST_NAMES.get(last, "list"))
        if last in MAPS:
            return MapOf(Scalar("str"), ANYTHING)
        if last in {"tuple", "Tuple"}:
            return ListOf(ANYTHING, "tuple")
        found = define(self.index, path, name)
        if found is None:
            if last in SCALARS:
                scalar = Scalar(SCALARS[last], strict=last.startswith("Strict"))
                return Limited(scalar, (NAMED_BOUNDS[last],)) if last in NAMED_BOUNDS else scalar
            return Anything(name)
        if isinstance(found.item, str):
            return self.of(found.path, found.item, depth + 1)
        if isinstance(found.item, Class):
            return self._class(found.path, found.item, depth)
        return Anything(name)

    def _class(self, path: str, definition: Class, depth: int) -> Type:
        model = self.model(path, definition)
        if model.kind == "enum":
            values = []
            for _, known in model.lineage:
                for _, source in known.members:
                    try:
                        values.append(literal(source))
                    except LookupError:
                        return ANYTHING
            return OneOf(tuple(values), definition.name) if values else ANYTHING
        root = next((c.root for _, c in model.lineage if c.root), "")
        if "RootModel" in model.foreign_bases and root:
            return self.of(path, root, depth + 1)
        if "root" in model.fields and "RootModel" in model.foreign_bases:
            return self.field(model.fields["root"].path, model.fields["root"].field.annotation, (), depth + 1)
        return Object(model)

    def _subscript(self, path: str, name: str, value: ast.expr, inner: ast.expr, depth: int) -> Type:
        items = list(inner.elts) if isinstance(inner, ast.Tuple) else [inner]
        if name == "Optional":
            return either((self._node(path, items[0], depth + 1), Scalar("none")))
        if name == "Union":
            return either(tuple(self._node(path, item, depth + 1) for item in items))
        if name == "Literal":
            return self._literal(path, items)
        if name == "Annotated":
            return self._annotated(path, items, depth)
        if name in LISTS:
            return ListOf(self._node(path, items[0], depth + 1), LIST_NAMES.get(name, "list"))
        if name in {"tuple", "Tuple"}:
            if len(items) == 2 and isinstance(items[1], ast.Constant) and items[1].value is Ellipsis:
                return ListOf(self._node(path, items[0], depth + 1), "tuple")
            return TupleOf(tuple(self._node(path, item, depth + 1) for item in items))
        if name in MAPS:
            if len(items) != 2:
                return MapOf(Scalar("str"), ANYTHING)
            return MapOf(self._node(path, items[0], depth + 1), self._node(path, items[1], depth + 1))
        if name in WRAPPERS:
            return self._node(path, items[0], depth + 1)
        return self._name(path, dotted(value), depth + 1)

    def _literal(self, path: str, items: list[ast.expr]) -> Type:
        values: list[object] = []
        for item in items:
            if isinstance(item, ast.Constant):
                values.append(item.value)
                continue
            try:
                values.append(constant(self.index, path, text(item).removesuffix(".value")))
            except LookupError:
                other = self._node(path, item, 1)
                if isinstance(other, OneOf):
                    values.extend(other.values)
                else:
                    return ANYTHING
        return OneOf(tuple(values))

    def _annotated(self, path: str, items: list[ast.expr], depth: int) -> Type:
        inner = self._node(path, items[0], depth + 1)
        bounds: list[tuple[str, object]] = []
        for extra in items[1:]:
            if isinstance(extra, ast.Call):
                bounds += self._bounds(path, extra)
                short = SHORT_BOUNDS.get(last_name(extra))
                if short and extra.args:
                    bounds += self._bound(path, short, extra.args[0])
                if last_name(extra) == "Discriminator" and extra.args and string(extra.args[0]):
                    bounds.append(("discriminator", string(extra.args[0])))
        return limited(inner, tuple(bounds))

    def _constrained(self, path: str, call: ast.Call, depth: int) -> Type:
        name = CONSTRAINED[last_name(call)]
        inner: Type = Scalar(name)
        if name == "list":
            item = call.args[0] if call.args else keyword(call, "item_type")
            inner = ListOf(self._node(path, item, depth + 1) if item else ANYTHING)
        return limited(inner, tuple(self._bounds(path, call)))

    def _bounds(self, path: str, call: ast.Call) -> list[tuple[str, object]]:
        found: list[tuple[str, object]] = []
        for word in call.keywords:
            if word.arg in BOUNDS:
                found += self._bound(path, word.arg, word.value)
        return found

    def _bound(self, path: str, name: str, value: ast.expr) -> list[tuple[str, object]]:
        try:
            return [(name, constant(self.index, path, dotted(value)) if dotted(value) else literal(text(value)))]
        except LookupError:
            return []

    def field(self, path: str, annotation: str, constraints: tuple[tuple[str, str], ...], depth: int = 0) -> Type:
        """The type of a declared field, with the bounds that its declaration gives beside the annotation."""
        inner = self.of(path, annotation, depth)
        bounds: list[tuple[str, object]] = []
        for name, source in constraints:
            if name in BOUNDS:
                try:
                    bounds.append((name, literal(source)))
                except LookupError:
                    try:
                        bounds.append((name, constant(self.index, path, source)))
                    except LookupError:
                        continue
        return limited(inner, tuple(bounds))


def either(options: tuple[Type, ...]) -> Type:
    """A union with the unions in it laid flat."""
    flat: list[Type] = []
    for option in options:
        if isinstance(option, Either) and not option.tag:
            flat.extend(o for o in option.options if o not in flat)
        elif option not in flat:
            flat.append(option)
    return flat[0] if len(flat) == 1 else Either(tuple(flat))


def _strict(kind: Type) -> Type:
    """A type whose scalars are taken as they are."""
    match kind:
        case Scalar():
            return replace(kind, strict=True)
        case Limited(inner, bounds):
            return Limited(_strict(inner), bounds)
        case Either(options, tag):
            return Either(tuple(map(_strict, options)), tag)
    return kind


def limited(inner: Type, bounds: tuple[tuple[str, object], ...]) -> Type:
    """A type with bounds; bounds on a union that admits null hold for its other branches."""
    tag = next((str(value) for name, value in bounds if name == "discriminator"), "")
    rest = tuple((name, value) for name, value in bounds if name not in {"discriminator", "strict"})
    if ("strict", True) in bounds:
        inner = _strict(inner)
    if tag and isinstance(inner, Either):
        named = tuple(o for o in inner.options if isinstance(o, Object))
        others = tuple(o for o in inner.options if not isinstance(o, Object))
        inner = Either(inner.options, tag) if not others else either((Either(named, tag), *others))
    if not rest:
        return inner
    if isinstance(inner, Either):
        return either(tuple(o if o == Scalar("none") else limited(o, rest) for o in inner.options))
    if isinstance(inner, Limited):
        return Limited(inner.inner, inner.bounds + rest)
    return Limited(inner, rest)
