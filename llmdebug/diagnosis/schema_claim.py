"""Refusals by the schema: from the validation library's error to the declaration in the tree."""

from __future__ import annotations

from llmdebug.diagnosis.bykeys import model_by_keys
from llmdebug.diagnosis.complaint import Complaint
from llmdebug.diagnosis.finding import Finding, Spot, blamed
from llmdebug.diagnosis.fold import fold
from llmdebug.diagnosis.ground import Ground
from llmdebug.diagnosis.kinds import kind_of_schema, kind_of_text
from llmdebug.diagnosis.locate import ABSENT, Declaration, Located, declarations, has_pointer, located, value_at
from llmdebug.diagnosis.question import Question
from llmdebug.diagnosis.route import Registered
from llmdebug.diagnosis.schema import Problem, early_validators, is_told
from llmdebug.diagnosis.serde_place import placed
from llmdebug.diagnosis.verdict import Kind
from llmdebug.index.languages import PYTHON, language_of
from llmdebug.index.python.inputs import Inputs, find_handler
from llmdebug.index.python.types import Object, Type


def folded(ground: Ground | None, registered: Registered | None, question: Question) -> list[Located]:
    """The located complaints of an answer, unions folded; none of a library that the tree's language does not have."""
    spoken = [c for c in question.answer.complaints if _may_say(ground, registered, c)]
    found = [located(c, question.body) for c in spoken if c.loc or c.type]
    own: list[Problem] = []
    if ground and registered:
        kind = ground.inputs(registered).body
        own = ground.checker.check(kind, question.body) if kind is not None else []
    return fold([placed(item, question, own) for item in found], question.body, own)


def _may_say(ground: Ground | None, registered: Registered | None, complaint: Complaint) -> bool:
    """Whether the library that says so is one of the language that the route, or the tree, is written in."""
    if ground is None:
        return True
    paths = [registered.file] if registered is not None else ground.index.base()
    languages = {language_of(path).name for path in paths}
    return not languages or (complaint.speaker or PYTHON.name) in languages


def from_schema(ground: Ground, registered: Registered | None, question: Question, item: Located) -> Finding | None:
    """The finding for one located complaint of the validation library; None where it is a validator's own text."""
    kind = kind_of_schema(item.complaint.type)
    if kind is None or kind == "malformed_json":
        return None
    inputs = ground.inputs(registered) if registered else Inputs()
    if item.place != "body" or _is_parameter(inputs, item):
        return _parameter(inputs, item, kind, registered)
    finding = Finding(kind, [blamed(item.pointer, reason(item.complaint, kind), 0.95)])
    root = _root(ground, inputs, item)
    by_keys = model_by_keys(ground, question, item) if root is None and not inputs.by_hand else None
    root = root or by_keys
    if root is None:
        finding.confidence = 0.3
        return finding
    chain = declarations(ground.checker, root, item.pointer, question.body, item.markers)
    if chain and _is_contradicted(ground, chain, item, question):
        finding.related = _spots(chain, item)
        place = item.pointer or "the body"
        finding.notes = [f"the linked tree admits this at {place}: what runs is another version or another server"]
        finding.confidence = 0.2
    elif chain:
        finding.spots = _spots(chain, item)
        finding.confidence = 0.95 if by_keys is None else 0.6
        if by_keys is not None:
            finding.notes = [f"no route of the tree was found; {by_keys.model.name} is the model with these fields"]
    elif isinstance(root, Object) and (not item.pointer or kind == "unknown_field"):
        model = root.model
        finding.spots = [
            Spot(
                model.path,
                model.definition.line,
                model.definition.line,
                model.name,
                "declares",
                0.6,
                ("the body as a whole" if not item.pointer else "it declares no such field",),
            )
        ]
        finding.confidence = 0.6
    elif registered is not None and not item.pointer:
        finding.spots = [handler_spot(ground, registered, "its handler takes the body as a whole", 0.6)]
        finding.confidence = 0.6
    return finding


def from_declaration(
    ground: Ground, registered: Registered | None, question: Question, item: Located
) -> Finding | None:
    """For a complaint in words that are not the tree's own: the declaration of the field that it is told of."""
    inputs = ground.inputs(registered) if registered else Inputs()
    root = _root(ground, inputs, item) if item.pointer and item.place == "body" else None
    chain = declarations(ground.checker, root, item.pointer, question.body, item.markers) if root is not None else []
    if not chain:
        return None
    kind = kind_of_text(item.complaint.message, question.answer.status)
    finding = Finding(kind, [blamed(item.pointer, "the complaint points here", 0.9)], _spots(chain, item))
    finding.confidence = 0.7
    return finding


def _is_contradicted(ground: Ground, chain: list[Declaration], item: Located, question: Question) -> bool:
    """Whether the declaration in this tree admits what the answer refuses."""
    top, last = chain[0], chain[-1]
    whole, single = early_validators(top.model)
    if whole or top.declared.field.name in single or item.of_union:
        return False
    if item.complaint.type in ABSENT:
        reached = last.depth == item.pointer.count("/")
        return reached and not ground.checker.is_required(last.model, last.declared)
    if not has_pointer(question.body, item.pointer) or "trict" in last.declared.field.annotation:
        return False
    pointer = "/".join(item.pointer.split("/")[: top.depth + 1])
    kind = ground.checker.field_type(top.declared)
    strict = top.model.kind == "msgspec"
    return is_told(kind) and not ground.checker.check(kind, value_at(question.body, pointer), strict=strict)


def _root(ground: Ground, inputs: Inputs, item: Located) -> Type | None:
    """The type that the location starts from: the route's body, or the class that the text names."""
    title = item.complaint.title.partition("[")[0]
    if inputs.body is not None and (not title or _names(inputs.body, title) or not title.isidentifier()):
        return inputs.body
    if inputs.embedded:
        first = item.pointer.split("/")[1:2]
        if first and first[0] in inputs.embedded:
            return inputs.embedded[first[0]]
    if title:
        index = ground.index
        if not index.classes(title):
            index.load(index.vote(f"class {title}(", 6))
        for path, known in index.classes(title):
            return ground.types.of(path, known.name)
    return inputs.body


def _names(kind: Type, title: str) -> bool:
    return isinstance(kind, Object) and any(known.name == title for _, known in kind.model.lineage)


def _spots(chain: list[Declaration], item: Located) -> list[Spot]:
    """The declaration of the blamed field first, then those around it."""
    steps = [s for s in item.pointer.split("/")[1:] if not s.isdigit()]
    last = chain[-1]
    order = list(reversed(chain))
    if (item.of_union or item.complaint.type.startswith("union_tag")) and len(chain) > 1:
        order = [order[1], order[0], *order[2:]]
    found = []
    for rank, declaration in enumerate(order[:3]):
        field = declaration.declared.field
        exact = declaration is last and declaration.declared.field.name in {steps[-1] if steps else "", field.name}
        found.append(
            Spot(
                declaration.declared.path,
                field.line,
                field.end_line,
                f"{declaration.declared.owner}.{field.name}",
                "declares",
                max(0.1, (0.97 if exact and rank == 0 else 0.8) - 0.3 * rank),
                (_reason_of(declaration, item),),
            )
        )
    return found


def _reason_of(declaration: Declaration, item: Located) -> str:
    field = declaration.declared.field
    if declaration.declared.required and item.complaint.type == "missing":
        return f"{declaration.declared.owner} declares {field.name} without a default: it is required"
    return f"{declaration.declared.owner} declares {field.name} as {field.annotation}"


def reason(complaint: Complaint, kind: Kind) -> str:
    """Why a field is blamed, in words."""
    if kind == "missing_field":
        return "missing"
    if kind == "unknown_field":
        return "no field of this name is taken here"
    return complaint.message or kind.replace("_", " ")


def _is_parameter(inputs: Inputs, item: Located) -> bool:
    first = item.pointer.split("/")[1:2]
    return bool(first) and any(p.name == first[0] and p.where in {"form", "query", "path"} for p in inputs.parameters)


def _parameter(inputs: Inputs, item: Located, kind: Kind, registered: Registered | None) -> Finding:
    name = item.pointer.split("/")[1] if "/" in item.pointer else ""
    finding = Finding(kind, confidence=0.9)
    known = next(
        (p for p in inputs.parameters if p.name.replace("_", "-").lower() == name.replace("_", "-").lower()), None
    )
    place = item.place if item.place != "body" else "body"
    if not (known and known.where == "form"):
        finding.fields = [blamed(item.pointer, reason(item.complaint, kind), 0.9, place)]
    if known:
        finding.spots = [
            Spot(
                known.path,
                known.line,
                known.line,
                name,
                "declares",
                0.95,
                (f"a {known.where} parameter of the handler",),
            )
        ]
    elif registered:
        finding.spots = [registration(registered)]
    return finding


def registration(registered: Registered, why: str = "the registration of the path", score: float = 0.7) -> Spot:
    """The place of a registration."""
    route = registered.route
    return Spot(registered.file, route.line, route.end_line, route.handler, "routes", score, (why,))


def handler_spot(ground: Ground, registered: Registered, why: str, score: float = 0.7) -> Spot:
    """The place of the handler, decorators included."""
    found = find_handler(ground.index, registered.file, registered.route)
    if (
        found is None
        or found[0] != registered.file
        or not registered.route.line <= found[1].line <= registered.route.end_line
    ):
        return registration(registered, why, score)
    return Spot(registered.file, registered.route.line, found[1].line, found[1].name, "declares", score, (why,))
