"""What Rust's code says around a refusal, held against the request.

The condition before it names fields; the branch of a `match` that it stands in is for one variant of a request's enum.
"""

from __future__ import annotations

from llmdebug.diagnosis.ground import Ground
from llmdebug.diagnosis.locate import walk
from llmdebug.diagnosis.question import Question
from llmdebug.diagnosis.route import Registered
from llmdebug.diagnosis.schema import escape
from llmdebug.index.python.types import Object
from llmdebug.index.rust.conditions import Surroundings

MAX_DEPTH = 3


def read_before(
    around: Surroundings, ground: Ground, registered: Registered | None, question: Question, path: str, line: int
) -> tuple[str, ...]:
    """The pointers of the fields that the condition before a line reads."""
    names = around.names_before(path, line)
    sent = {p.rpartition("/")[2]: p for p, _ in walk(question.body) if p.count("/") <= MAX_DEPTH} if names else {}
    body = ground.inputs(registered).body if registered is not None else None
    declared = body.model.fields if isinstance(body, Object) else {}
    found: dict[str, None] = {}
    for name in names:
        keys = declared[name].names if name in declared else (name,)
        key = next((key for key in keys if key in sent), "")
        if key:
            found[sent[key]] = None
        elif name in declared:
            found[f"/{escape(keys[0])}"] = None
    return tuple(found)


def is_of_branch(
    around: Surroundings, ground: Ground, registered: Registered, question: Question, path: str, line: int
) -> bool | None:
    """Whether the request holds the variant that code around a line is for; None where it is for none of its own."""
    models = {name: model for (_, name), model in ground.models(registered).items()}
    known = [models[name] for name in around.variants_around(path, line) if name in models]
    if not known:
        return None
    values = [value for _, value in walk(question.body) if isinstance(value, dict)]
    return all(any(not ground.checker.check(Object(model), value) for value in values) for model in known)
