"""Request models: the fields of a class with all that it inherits, and its policy for unknown keys."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from llmdebug.index.build import Index
from llmdebug.index.facts import Class, Field
from llmdebug.index.python.declarators import looked_through
from llmdebug.index.python.names import define

ModelKind = Literal["pydantic", "dataclass", "msgspec", "typeddict", "enum", "plain"]

ROOTS: dict[str, ModelKind] = {
    "BaseModel": "pydantic",
    "BaseSettings": "pydantic",
    "RootModel": "pydantic",
    "GenericModel": "pydantic",
    "SQLModel": "pydantic",
    "Struct": "msgspec",
    "TypedDict": "typeddict",
    "Enum": "enum",
    "StrEnum": "enum",
    "IntEnum": "enum",
    "NamedTuple": "dataclass",
}
MAX_BASES = 40


@dataclass(frozen=True, slots=True)
class Declared:
    """A field and where it is declared."""

    field: Field
    path: str
    owner: str
    """Qualified name of the class that declares it."""
    names: tuple[str, ...]
    """The keys under which the field is taken, the preferred one first."""

    @property
    def required(self) -> bool:
        default = self.field.default
        return default is None or (_FIELD_CALL.match(default) is not None and "required=True" in default)


_FIELD_CALL = re.compile(r"(?:\w+\.)*fields\.[A-Z]\w*\(")
"""How marshmallow and its kin declare a field: what is assigned is no default."""


@dataclass(slots=True)
class Model:
    """A class as a request model."""

    path: str
    definition: Class
    kind: ModelKind = "plain"
    fields: dict[str, Declared] = field(default_factory=dict)
    """By field name, in order of declaration, overridden ones replaced."""
    lineage: list[tuple[str, Class]] = field(default_factory=list)
    """The class and its bases inside the tree, nearest first."""
    settings: dict[str, str] = field(default_factory=dict)
    """What the class and its bases say of names and strictness."""
    extra: str = ""
    """`ignore`, `allow`, `forbid`, or empty where nobody says so."""
    extra_site: tuple[str, int] | None = None
    """File and line that set the policy."""
    foreign_bases: tuple[str, ...] = ()
    """Bases outside the tree, other than the roots: their fields are unknown."""

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def takes_unknown(self) -> bool:
        """Whether unknown keys are kept rather than dropped or refused."""
        return self.extra == "allow"

    @property
    def refuses_unknown(self) -> bool:
        return self.extra == "forbid"

    def by_key(self, key: str) -> Declared | None:
        """The field that takes a key, by alias or name."""
        found = self.fields.get(key)
        if found and key in found.names:
            return found
        return next((d for d in self.fields.values() if key in d.names), None)


def model_of(index: Index, path: str, definition: Class) -> Model:
    """A class of a file, with what it inherits."""
    model = Model(path, definition)
    foreign: list[str] = []
    _collect(index, path, definition, model, foreign, set())
    model.settings = {name: value for _, known in reversed(model.lineage) for name, value in known.settings}
    for place, known in reversed(model.lineage):
        for written in known.fields:
            declared = looked_through(index, place, written)
            if not declared.is_class_variable and not declared.name.startswith("_"):
                model.fields[declared.name] = Declared(declared, place, known.name, _names(declared, model.settings))
    for place, known in model.lineage:
        policy = known.extra or _keyword_policy(known)
        if policy:
            model.extra, model.extra_site = policy, (place, known.extra_line or known.line)
            break
    model.foreign_bases = tuple(foreign)
    model.kind = _kind(model, foreign)
    return model


def _names(declared: Field, settings: dict[str, str]) -> tuple[str, ...]:
    aliases = declared.aliases
    generator = settings.get("alias_generator", "").rpartition(".")[2]
    if not aliases and generator:
        if generator not in GENERATORS:
            return (declared.name,)
        aliases = (GENERATORS[generator](declared.name),)
    by_name = not aliases or any(settings.get(setting) == "True" for setting in BY_NAME)
    return (*aliases, declared.name) if by_name else aliases


def _camel(name: str) -> str:
    pascal = _pascal(name)
    return pascal[:1].lower() + pascal[1:]


def _pascal(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


BY_NAME = ("populate_by_name", "validate_by_name", "allow_population_by_field_name")
GENERATORS = {"to_camel": _camel, "to_pascal": _pascal}


def _collect(
    index: Index, path: str, known: Class, model: Model, foreign: list[str], seen: set[tuple[str, str]]
) -> None:
    if (path, known.name) in seen or len(seen) > MAX_BASES:
        return
    seen.add((path, known.name))
    model.lineage.append((path, known))
    for base in known.bases:
        last = base.rpartition(".")[2]
        if last in {"Generic", "Protocol", "ABC", "object", ""}:
            continue
        found = define(index, path, base) if last not in ROOTS else None
        if found and isinstance(found.item, Class):
            _collect(index, found.path, found.item, model, foreign, seen)
        else:
            foreign.append(last)


def _keyword_policy(known: Class) -> str:
    words = dict(known.keywords)
    if words.get("forbid_unknown_fields") == "True":
        return "forbid"
    return words.get("extra", "").strip("'\"")


def _kind(model: Model, foreign: list[str]) -> ModelKind:
    kinds = [ROOTS[name] for name in foreign if name in ROOTS]
    if kinds:
        return kinds[0]
    for _, known in model.lineage:
        if any(d.rpartition(".")[2] == "dataclass" for d in known.decorators):
            return "pydantic" if any("pydantic" in d for d in known.decorators) else "dataclass"
    return "plain"
