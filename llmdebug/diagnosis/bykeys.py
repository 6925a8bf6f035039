"""The model whose fields are those of a request, for a route that registers itself in a way that is not read."""

from __future__ import annotations

from llmdebug.diagnosis.ground import Ground
from llmdebug.diagnosis.locate import Located
from llmdebug.diagnosis.question import Question
from llmdebug.index.languages import ASIDE
from llmdebug.index.python.types import Object

MAX_FILES = 12
MAX_KEYS = 20
LEAST_SHARE = 0.6
"""Share of the request's keys that the model must declare."""
LEAST_LEAD = 1
"""How many keys more it must declare than any other model."""
KINDS = frozenset({"pydantic", "msgspec", "dataclass", "typeddict"})


def model_by_keys(ground: Ground, question: Question, item: Located) -> Object | None:
    """The one model that declares the blamed field and most of the request's keys; None where several may be meant."""
    keys, first = set(question.fields), item.pointer.split("/")[1:2]
    if not keys or not first:
        return None
    rated: list[tuple[int, str, Object]] = []
    for path in _declaring(ground, first[0], keys):
        facts = ground.index.facts(path)
        for known in facts.classes if facts else ():
            if not any(first[0] in (field.name, *field.aliases) for field in known.fields):
                continue
            model = ground.types.model(path, known)
            names = {name for declared in model.fields.values() for name in declared.names}
            shared = len(keys & names)
            if model.kind in KINDS and shared >= LEAST_SHARE * len(keys):
                rated.append((shared - len(keys - names), known.name, Object(model)))
    rated.sort(key=lambda each: (-each[0], each[1]))
    alone = len(rated) == 1 or (len(rated) > 1 and rated[0][0] - rated[1][0] >= LEAST_LEAD)
    return rated[0][2] if alone else None


def _declaring(ground: Ground, field: str, keys: set[str]) -> list[str]:
    """The files that may declare a field, those first that may declare most of the keys."""
    wanted = f"{field}:"
    held = ground.index.search.files_with([wanted, *(f"{key}:" for key in sorted(keys)[:MAX_KEYS])])
    found = [path for path, words in held.items() if wanted in words and not ASIDE.search(path)]
    return sorted(found, key=lambda path: -len(held[path]))[:MAX_FILES]
