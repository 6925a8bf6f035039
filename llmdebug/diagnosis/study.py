"""The code of a tree walked through on one request: validators, then the handler, or one function by itself."""

from __future__ import annotations

from typing import Any

from llmdebug.diagnosis.cppcode import arriving
from llmdebug.diagnosis.following import Following
from llmdebug.diagnosis.schema import escape
from llmdebug.index.facts import Class
from llmdebug.index.languages import CPP, language_of
from llmdebug.index.python.early import EARLY
from llmdebug.index.python.evaluate import MAX_STEPS
from llmdebug.index.python.execute import Callee, Outcome, Walk
from llmdebug.index.python.inputs import find_handler
from llmdebug.index.python.models import Model
from llmdebug.index.python.syntax import FunctionNode
from llmdebug.index.python.types import Object
from llmdebug.index.python.values import UNKNOWN, Value

LOCAL_CALLS = 4
LOCAL_STEPS = 12_000
"""How deep and how long a function is walked through to see whether one line of it is reached."""


class Study(Following):
    """Walks through functions of one tree on one question."""

    def walk(self) -> Walk:
        self._blindly.clear()
        return Walk(self._resolve, self._lookup, self._attribute)

    def local(self, path: str, symbol: str, line: int) -> tuple[list[Outcome], bool]:
        """The outcomes of one function walked by itself towards a line, and whether the walk came to its end."""
        if language_of(path) is CPP:
            return arriving(self.ground, path, symbol, line, self.body)
        node = self.ground.index.named_node(path, symbol)
        if node is None:
            return [], False
        walk = self.walk()
        walk.max_calls = LOCAL_CALLS
        walk.steps = [MAX_STEPS - LOCAL_STEPS]
        walk.target = (path, symbol, line)
        walk.run(Callee(path, symbol, node, self.bound(path, symbol, node)))
        return walk.outcomes, not walk.stopped

    def forward(self) -> list[Outcome]:
        """What the request meets on its way: validators of its models, then the handler."""
        outcomes: list[Outcome] = []
        if self.registered is None:
            return outcomes
        inputs = self.ground.inputs(self.registered)
        if isinstance(inputs.body, Object):
            outcomes += self.of_validators(inputs.body.model, self.body, "")
            if any(o.certain and o.kind != "return" for o in outcomes):
                return outcomes
        return outcomes + self.of_handler()

    def arrived(self, model: Model, value: Any) -> Any:
        """What the validators that see the raw value make of it before its fields are; UNKNOWN where in doubt."""
        for path, known in reversed(model.lineage):
            for validator in known.validators:
                if validator.mode not in EARLY or not self.ground.checker.early(model).keys:
                    continue
                symbol = f"{known.name}.{validator.method}"
                node = self.ground.index.named_node(path, symbol)
                if node is None or validator.fields or validator.mode != "before":
                    continue
                names = _validator_names(node, Value(value, frozenset({""}), ""), True, False)
                made = self.walk().result(Callee(path, symbol, node, names))
                if not made.known:
                    return UNKNOWN
                value = made.value
        return value

    def of_validators(self, model: Model, value: Any, pointer: str) -> list[Outcome]:
        """What the validators of a class say of a value."""
        walk = self.walk()
        ordered: list[tuple[int, str, Class, Any]] = []
        for path, known in model.lineage:
            for validator in known.validators:
                early = validator.mode in {"before", "wrap", "plain"}
                rank = 0 if early and not validator.fields else 1 if validator.fields else 2
                ordered.append((rank, path, known, validator))
        for _, path, known, validator in sorted(ordered, key=lambda item: item[0]):
            symbol = f"{known.name}.{validator.method}"
            node = self.ground.index.named_node(path, symbol)
            if node is None:
                continue
            early = validator.mode in {"before", "wrap", "plain"}
            for subject in self._subjects(model, validator.fields, early, value, pointer):
                walk.run(Callee(path, symbol, node, _validator_names(node, subject, early, bool(validator.fields))))
        return walk.outcomes

    def _subjects(self, model: Model, names: tuple[str, ...], early: bool, value: Any, pointer: str) -> list[Value]:
        """What a validator is handed: the raw value, the object, or the values of its fields."""
        if not names:
            return [Value(value, frozenset({pointer}), pointer) if early else self.instance(model, value, pointer)]
        if not isinstance(value, dict):
            return []
        wanted = model.fields.keys() if "*" in names else names
        found = []
        for name in wanted:
            declared = model.fields.get(name)
            key = next((n for n in declared.names if n in value), None) if declared else None
            if declared is not None and key is not None:
                at = f"{pointer}/{escape(key)}"
                raw = Value(value[key], frozenset({at}), at)
                found.append(raw if early else self._nested(self.ground.checker.field_type(declared), value[key], at))
        return found

    def of_handler(self) -> list[Outcome]:
        """What the handler says of the request."""
        if self.registered is None:
            return []
        found = find_handler(self.ground.index, self.registered.file, self.registered.route)
        if found is None:
            return []
        path, function = found
        node = self.ground.index.node(path, function)
        if node is None:
            return []
        walk = self.walk()
        return walk.run(Callee(path, function.name, node, self._handler_names(function)))


def _validator_names(node: FunctionNode, subject: Value, early: bool, single: bool) -> dict[str, Value]:
    arguments = [a.arg for a in [*node.args.posonlyargs, *node.args.args]]
    free = [name for name in arguments if name != "cls"]
    if not free:
        return {}
    return {free[0]: subject}
