"""What a free-form object of the body takes: the class of the tree that it is read into, by its name.

`sampling_params: dict` is handed to a class `SamplingParams`: the convention is followed, nothing else is known.
"""

from __future__ import annotations

import itertools
from weakref import WeakKeyDictionary

from llmdebug.diagnosis.ground import Ground
from llmdebug.diagnosis.remedies.case import models_of
from llmdebug.diagnosis.remedies.names import words
from llmdebug.index.build import Index
from llmdebug.index.facts import Class
from llmdebug.index.languages import ASIDE
from llmdebug.index.python.constants import literal
from llmdebug.index.python.types import Type

MAX_FILES = 6
SETTINGS = ("param", "parameter", "option", "setting", "config")
"""Last words of such objects; of others no class is looked for, as reading files costs."""
_ENDINGS = "|".join(word.capitalize() for word in SETTINGS)
_DEFINITION = rf"class [A-Za-z0-9_]+({_ENDINGS})s?\b"

_defined: WeakKeyDictionary[Index, dict[str, list[str]]] = WeakKeyDictionary()
_known: WeakKeyDictionary[Ground, dict[tuple[str, str], dict[str, Type]]] = WeakKeyDictionary()


def taken_below(ground: Ground, key: str, kind: Type | None = None, near: str = "") -> dict[str, Type]:
    """The keys that the object under `key` takes, with their types; empty where the tree does not tell.

    Of several classes of the name the one counts that stands nearest to the file `near`.
    """
    declared = {
        name: ground.checker.field_type(field)
        for model in (models_of(kind) if kind is not None else ())
        for field in model.fields.values()
        for name in field.names[:1]
    }
    if declared:
        return declared
    known = _known.setdefault(ground, {})
    if (key, near) not in known:
        known[key, near] = _by_class(ground, key, near)
    return known[key, near]


def holds_settings(key: str) -> bool:
    """Whether an object's name says that it holds settings."""
    return any(word in SETTINGS for word in words(key)[-1:])


def class_name(key: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in key.split("_"))


def _by_class(ground: Ground, key: str, near: str) -> dict[str, Type]:
    name = class_name(key)
    if "_" not in key or not name.isidentifier() or not holds_settings(key):
        return {}
    index = ground.index
    if not index.classes(name):
        index.load(_definitions(index).get(f"class {name}", [])[:MAX_FILES])
    for path, known in _nearest(ground, name, near):
        taken = _fields(ground, path, known)
        if taken:
            return taken
    return {}


def _definitions(index: Index) -> dict[str, list[str]]:
    """The files that define each class of settings: one search for all of them."""
    if index not in _defined:
        _defined[index] = index.search.matches(_DEFINITION)
    return _defined[index]


def _nearest(ground: Ground, name: str, near: str) -> list[tuple[str, Class]]:
    """The classes of a name, by the folders that their file has in common with another."""
    folders = near.split("/")[:-1]

    def common(path: str) -> int:
        pairs = zip(path.split("/")[:-1], folders, strict=False)
        return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))

    found = ground.index.classes(name)
    return sorted(found, key=lambda item: (bool(ASIDE.search(item[0])), -common(item[0]), item[0]))


def _fields(ground: Ground, path: str, known: Class) -> dict[str, Type]:
    """Fields of the class, or the parameters of its constructor."""
    model = ground.types.model(path, known)
    found = {n: ground.checker.field_type(d) for n, d in model.fields.items() if not n.startswith("_")}
    facts = ground.index.facts(path)
    for function in facts.functions if facts else ():
        if function.name == f"{known.name}.__init__":
            made = {p.name: ground.types.of(path, p.annotation) for p in function.parameters if p.name != "self"}
            return {n: k for n, k in made.items() if not n.startswith("*")}
    return found


def default_source(ground: Ground, key: str, name: str, near: str = "") -> object:
    """The declared default of a key of a free-form object; raises LookupError where there is none."""
    for path, known in _nearest(ground, class_name(key), near):
        model = ground.types.model(path, known)
        if name in model.fields and model.fields[name].field.default is not None:
            return literal(str(model.fields[name].field.default))
        facts = ground.index.facts(path)
        for function in facts.functions if facts else ():
            if function.name == f"{known.name}.__init__":
                for parameter in function.parameters:
                    if parameter.name == name and parameter.default is not None:
                        return literal(parameter.default)
    raise LookupError(name)
