"""Keys of a request that nothing on its route takes: servers drop them without a word.

A key counts as ignored only where the tree tells all that the route takes: every model known to its end, no code
that reads extra keys, no raw body handed on to code that was not followed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from llmdebug.diagnosis.cppkeys import is_cpp, of_route
from llmdebug.diagnosis.finding import Spot
from llmdebug.diagnosis.ground import Ground
from llmdebug.diagnosis.question import Question
from llmdebug.diagnosis.route import Registered
from llmdebug.diagnosis.routecode import code_of
from llmdebug.diagnosis.schema import escape, unknown_bases
from llmdebug.diagnosis.vain import pointers_of, vain_fields
from llmdebug.index.facts import Function
from llmdebug.index.languages import ASIDE, PYTHON
from llmdebug.index.python.inputs import Inputs, find_handler
from llmdebug.index.python.models import Model
from llmdebug.index.python.types import Either, Limited, ListOf, MapOf, Object, TupleOf, Type

MAX_DEPTH = 12
MAX_REACH = 6
MAX_FUNCTIONS = 400
MAX_ITEMS = 64
EXTRA_READERS = ("model_extra", "__pydantic_extra__")


@dataclass(slots=True)
class Ignored:
    """Keys without effect, and the place that drops them."""

    pointers: list[str] = field(default_factory=list)
    spots: list[Spot] = field(default_factory=list)


def ignored_by(ground: Ground, registered: Registered | None, question: Question) -> Ignored:
    """The keys of the body that the route drops."""
    found = Ignored()
    if registered is None or not isinstance(question.body, dict):
        return found
    if is_cpp(registered):
        found.pointers, found.spots = of_route(ground, registered, question)
        return found
    inputs = ground.inputs(registered)
    if inputs.passes_on:
        return found
    if inputs.body is not None:
        _Search(ground, inputs, found).visit(inputs.body, question.body, "", 0)
        if isinstance(inputs.body, Object):
            functions = _functions(ground, registered, question)
            vain = vain_fields(ground, functions, inputs.body.model, question.body)
            found.pointers += pointers_of(vain)
            found.spots += [item.spot for item in vain]
    elif inputs.embedded:
        for key, value in question.body.items():
            if key in inputs.embedded:
                _Search(ground, inputs, found).visit(inputs.embedded[key], value, f"/{escape(key)}", 0)
    elif inputs.reads:
        _never_read(ground, registered, inputs, question.body, found)
    return found


def _functions(ground: Ground, registered: Registered, question: Question) -> list[tuple[str, Function]]:
    """The functions of a route, nearest first: of a refused request those in files that are read already."""
    if not question.answer.refused:
        return [item for item in code_of(ground, registered).functions if not ASIDE.search(item[0])][:MAX_FUNCTIONS]
    reached = ground.reach(registered).within(MAX_REACH)[:MAX_FUNCTIONS]
    known = ((path, ground.index.local(path).get(symbol)) for path, symbol in reached if not ASIDE.search(path))
    return [(path, item) for path, item in known if isinstance(item, Function)]


def _never_read(ground: Ground, registered: Registered, inputs: Inputs, body: dict[str, Any], found: Ignored) -> None:
    """The keys of a body that a handler reads key by key, and never by these."""
    handler = find_handler(ground.index, registered.file, registered.route)
    taken = {read.key for read in inputs.reads}
    dropped = [key for key in body if key not in taken]
    if handler is None or not dropped or len(dropped) == len(body):
        return
    path, function = handler
    found.pointers += [f"/{escape(key)}" for key in dropped]
    why = ("the handler reads the body key by key, and never this one",)
    found.spots.append(Spot(path, function.line, function.line, function.name, "reads", 0.6, why))


class _Search:
    def __init__(self, ground: Ground, inputs: Inputs, found: Ignored) -> None:
        self.ground = ground
        self.inputs = inputs
        self.found = found

    def visit(self, kind: Type, value: Any, pointer: str, depth: int) -> None:
        if depth > MAX_DEPTH:
            return
        match kind:
            case Limited(inner, _):
                self.visit(inner, value, pointer, depth)
            case ListOf(item) if isinstance(value, list):
                for place, element in enumerate(value[:MAX_ITEMS]):
                    self.visit(item, element, f"{pointer}/{place}", depth + 1)
            case TupleOf(items) if isinstance(value, list):
                for place, (item, element) in enumerate(zip(items, value, strict=False)):
                    self.visit(item, element, f"{pointer}/{place}", depth + 1)
            case MapOf(_, inner) if isinstance(value, dict):
                for key, element in list(value.items())[:MAX_ITEMS]:
                    self.visit(inner, element, f"{pointer}/{escape(key)}", depth + 1)
            case Either(options, _):
                self._branches(options, value, pointer, depth)
            case Object(model) if isinstance(value, dict):
                self._object(model, value, pointer, depth)

    def _branches(self, options: tuple[Type, ...], value: Any, pointer: str, depth: int) -> None:
        """Of a union: what all branches that admit the value ignore."""
        fitting = [o for o in options if not self.ground.checker.check(o, value)]
        structured = [o for o in fitting if isinstance(o, Object | ListOf | MapOf | Limited)]
        if not structured or len(structured) != len(fitting):
            return
        results = []
        for option in structured:
            inner = Ignored()
            _Search(self.ground, self.inputs, inner).visit(option, value, pointer, depth + 1)
            results.append(inner)
        common = set.intersection(*(set(r.pointers) for r in results))
        self.found.pointers += [p for p in results[0].pointers if p in common]
        if common:
            self.found.spots += results[0].spots

    def _object(self, model: Model, value: dict[str, Any], pointer: str, depth: int) -> None:
        if model.refuses_unknown or unknown_bases(model) or model.kind in {"plain", "enum"}:
            return
        unknown: list[str] = []
        for key, element in value.items():
            declared = model.by_key(key)
            if declared is not None:
                self.visit(self.ground.checker.field_type(declared), element, f"{pointer}/{escape(key)}", depth + 1)
            else:
                unknown.append(key)
        dropped = [key for key in unknown if not self._is_read(model, key)]
        if not dropped or self._reads_extras(model):
            return
        self.found.pointers += [f"{pointer}/{escape(key)}" for key in dropped]
        self.found.spots.append(_policy(model))

    def _is_read(self, model: Model, key: str) -> bool:
        """Whether code of the model takes a key from the raw input by its name."""
        quoted = re.compile(rb"[\"']" + re.escape(key.encode()) + rb"[\"']\s*(?:\)|\]|,|in\b|not in\b|:)")
        for path, known in model.lineage:
            if not any(v.mode in {"before", "wrap", "plain"} for v in known.validators):
                continue
            data = self.ground.index.tree.read(path)
            if data is None:
                return True
            lines = data.split(b"\n")[known.line - 1 : known.end_line]
            if any(quoted.search(line) for line in lines):
                return True
        return any(read.key == key for read in self.inputs.reads)

    def _reads_extras(self, model: Model) -> bool:
        """Whether code near the model reads keys that no field takes."""
        if not model.takes_unknown:
            return False
        names = {known.name for _, known in model.lineage}
        for path in {path for path, _ in model.lineage}:
            data = self.ground.index.tree.read(path)
            if data is None or any(reader.encode() in data for reader in EXTRA_READERS):
                return True
        held = self.ground.index.search.files_with(EXTRA_READERS)
        return any(self._speaks_of(path, names) for path in held)

    def _speaks_of(self, path: str, names: set[str]) -> bool:
        data = self.ground.index.tree.read(path) or b""
        return any(re.search(rb"\b" + re.escape(name.encode()) + rb"\b", data) for name in names)


def _policy(model: Model) -> Spot:
    """The line that says what happens to unknown keys, else the class."""
    if model.extra_site is not None and model.extra_site[0]:
        path, line = model.extra_site
        owner = next((c.name for p, c in model.lineage if p == path and c.line <= line <= c.end_line), model.name)
        symbol = f"{owner}.model_config" if path.endswith(PYTHON.suffixes) else owner
        return Spot(path, line, line, symbol, "declares", 0.9, (f"unknown keys: {model.extra}",))
    line = model.definition.line
    return Spot(
        model.path,
        line,
        line,
        model.name,
        "declares",
        0.85,
        ("no field of this class takes the key, and unknown keys are dropped",),
    )
