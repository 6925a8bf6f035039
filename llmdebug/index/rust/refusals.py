"""Refusals in Rust: what is handed to `Err`, `bail!` and their like, and answers that are built in place.

From each text, each variant of an error and each status the way is gone up through what carries it, until something
makes an error of it; the place is that of the outermost that does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Literal

from tree_sitter import Node

from llmdebug.index.facts import Rejection, Template
from llmdebug.index.grammar import end_line_of, is_message, line_of, text_of
from llmdebug.index.rust.routes import called, line_of_call, receiver_of, spoken
from llmdebug.index.rust.words import (
    CONVERSIONS,
    STRINGS,
    Texts,
    filled,
    macro_name,
    string_of,
    template_of,
    tree_of,
)

Role = Literal["raises", "returns", "checks", "internal"]
RAISING = frozenset(
    {"Err", "ok_or", "ok_or_else", "map_err", "context", "with_context", "expect", "wrap_err", "or_err"}
)
RAISING_MACROS = re.compile(r"bail|ensure|anyhow|eyre|panic|assert\w*|err|unimplemented|todo|unreachable")
MAKING = re.compile(
    r"(?i)^(?!is_|has_|log_|record_|count_|set_|on_)(?:\w*_)?(?:err|error|errors|fail\w*|reject\w*|abort|invalid\w*|bad_request"
    r"|unauthori[sz]ed|forbidden|not_found|unprocessable\w*|too_many\w*|internal\w*|\w*unavailable|conflict|unsupported)"
    r"(?:_\w+)?$"
)
"""Functions that are handed the words of a refusal."""
ERROR_TYPE = re.compile(r"(?:Error|Err|Exception|Rejection|Problem|Failure)$")
ERROR_KEYS = frozenset({"error", "message", "msg", "detail", "details", "reason", "description", "err", "cause"})
PASSING = frozenset(
    {"new", "from", "msg", "other", "custom", "Json", "json", "Some", "body", "message", "with_message"}
)
SENDING = frozenset({"body", "json", "message", "set_body", "finish", "with_body"})
_STATUS = re.compile(r"StatusCode::([A-Z_]+)|HttpResponse::([A-Z]\w+)|Status::([A-Z]\w+)")
OTHER_NAMES = {
    "PAYLOAD_TOO_LARGE": 413,
    "UNPROCESSABLE_ENTITY": 422,
    "URI_TOO_LONG": 414,
    "RANGE_NOT_SATISFIABLE": 416,
    "INTERNAL_SERVER_ERROR": 500,
}
VARIANT = re.compile(r"[A-Z]\w*\.[A-Z]\w*|[A-Z]\w*\.from|[A-Z]\w*[a-z]\w*")
CARRYING = frozenset(
    {
        "parenthesized_expression", "reference_expression", "try_expression", "await_expression", "array_expression",
        "struct_expression", "field_initializer_list", "else_clause", "match_block", "unsafe_block", "async_block",
        "closure_expression", "match_expression", "expression_statement",
    }
)  # fmt: skip
"""What hands on what stands in it."""


def status_in(spoken_text: str) -> int | None:
    """The status of 400 or more that an expression names first."""
    for match in _STATUS.finditer(spoken_text):
        name = match[1] or re.sub(r"(?<=[a-z])(?=[A-Z])", "_", match[2] or match[3]).upper()
        known = HTTPStatus.__members__.get(name)
        value = OTHER_NAMES.get(name) or (known.value if known is not None else 0)
        if value >= 400:
            return value
    return None


@dataclass
class _Way:
    """The way up from what a refusal holds."""

    start: Node
    made: Node | None = None
    """The outermost that makes an error."""
    role: Role = "returns"
    raised: str = ""
    is_message: bool = False
    """Whether it stands where a message does, in something that may be an answer."""
    ends: bool = False
    """Whether what is made is what the function gives back."""


@dataclass
class Refusals:
    """The refusals of one file."""

    constants: Texts = field(default_factory=dict)
    found: list[Rejection] = field(default_factory=list)

    def of_function(
        self, symbol: str, owner: str, nodes: Iterable[Node], names: Texts, imports: dict[str, str]
    ) -> None:
        """The refusals among the nodes of a function; `owner` is what `Self` stands for in it."""
        known = {**self.constants, **names}
        merged: dict[tuple[int, int], Rejection] = {}
        for node in nodes:
            for told, raised in _leaves(node, known, owner):
                raised = _in_full(raised, imports)
                way = _climb(node, raised)
                made = self._rejection(symbol, way, told)
                if made is not None:
                    key = (made.line, made.end_line)
                    merged[key] = _joined(merged[key], made) if key in merged else made
        self.found += merged.values()

    def _rejection(self, symbol: str, way: _Way, told: Template | None) -> Rejection | None:
        is_error = bool(ERROR_TYPE.search(way.raised.partition(".")[0])) and "." in way.raised
        made = way.made
        if made is None and (way.is_message or (told is None and (is_error or (not way.raised and way.ends)))):
            made = way.start
        if made is None or (told is not None and not is_message(told)):
            return None
        status = status_in(text_of(made)) if told is not None or not way.raised else None
        if told is None and status is None and not ("." in way.raised or (way.raised and way.role == "raises")):
            return None
        line = line_of_call(made) if made.type == "call_expression" else line_of(made)
        return Rejection(line, end_line_of(made), symbol, way.role, (told,) if told else (), way.raised, status)


def _joined(one: Rejection, other: Rejection) -> Rejection:
    templates = tuple(dict.fromkeys([*one.templates, *other.templates]))
    role = "raises" if "raises" in {one.role, other.role} else one.role
    inner = ERROR_TYPE.search(other.raised.partition(".")[0]) or "." not in one.raised
    raised = other.raised if other.raised and inner else one.raised or other.raised
    return Rejection(one.line, one.end_line, one.symbol, role, templates, raised, one.status or other.status)


def _in_full(name: str, imports: dict[str, str]) -> str:
    """A variant that is imported by name, with its enum."""
    owner, _, last = imports.get(name, "").rpartition(".")
    owner = owner.rpartition(".")[2]
    return f"{owner}.{last}" if owner[:1].isupper() else name


def _leaves(node: Node, names: Texts, owner: str) -> list[tuple[Template | None, str]]:
    """What a node may hold of a refusal: a message, or the variant or status that it names."""
    if node.type in STRINGS or (node.type == "identifier" and text_of(node) in names):
        told = template_of(node, names)
        return [(told, "")] if told is not None else []
    if node.type == "macro_invocation":
        name, tree = macro_name(node), tree_of(node)
        if tree is None:
            return []
        if name == "json":
            return [(told, "") for told in _of_json(tree)]
        told = filled(tree) if name == "format" or RAISING_MACROS.fullmatch(name) else None
        return [(told, "")] if told is not None else []
    if node.type in {"scoped_identifier", "identifier", "scoped_type_identifier"}:
        name = spoken(node)
        name = f"{owner}.{name[5:]}" if owner and name.startswith("Self.") else name
        if name.startswith("StatusCode."):
            return [(None, "")] if status_in(text_of(node)) else []
        named = VARIANT.fullmatch(name) and name not in {"Err", "Ok", "Some", "None", "Json", "Self"}
        return [(None, name)] if named else []
    return []


def _of_json(tree: Node) -> list[Template]:
    """The texts under `error` and its like in `json!`."""
    found: list[Template] = []
    pending = [tree]
    while pending:
        tokens = pending.pop().children
        for place, token in enumerate(tokens):
            if token.type == "token_tree":
                pending.append(token)
            if string_of(token) not in ERROR_KEYS or len(tokens) < place + 3 or text_of(tokens[place + 1]) != ":":
                continue
            value = tokens[place + 2]
            made = [t for t in tokens[place + 3 : place + 6] if t.type == "token_tree"]
            told = filled(made[0]) if text_of(value) == "format" and made else template_of(value, {})
            found += [told] if told is not None else []
    return found


def _climb(node: Node, raised: str) -> _Way:
    way = _Way(node, raised=raised)
    if node.type == "macro_invocation":
        name = macro_name(node)
        way.is_message = name == "json"
        if RAISING_MACROS.fullmatch(name):
            way.made, way.role = node, "raises"
    child, parent = node, node.parent
    while parent is not None:
        if parent.type in {"arguments", "field_expression"} or (parent.type == "call_expression" and not raised):
            onward = _through_call(way, child, parent)
        elif parent.type == "call_expression":
            onward = parent if parent.child_by_field_name("function") == child else None
        else:
            onward = parent if _carries(way, child, parent) else None
        if onward is None:
            break
        child, parent = onward, onward.parent
        if child.type == "return_expression":
            way.ends = True
            way.made = child if way.made is not None else None
            way.start = child if way.made is None and way.is_message else way.start
            break
    return way


def _through_call(way: _Way, child: Node, parent: Node) -> Node | None:
    """The call that what was climbed from is handed to or called on; None where the way ends."""
    call = parent.parent
    if parent.type == "field_expression":
        if call is None or call.type != "call_expression" or parent.child_by_field_name("value") != child:
            return None
        return call if called(call) in CONVERSIONS else None
    if call is None or call.type != "call_expression":
        return None
    name, target = called(call), call.child_by_field_name("function")
    owner = spoken(target).rpartition(".")[0] if target is not None else ""
    if name in RAISING:
        way.made, way.role = call, "raises"
    elif name in SENDING and receiver_of(call) is not None:
        if status_in(text_of(receiver_of(call))) is None:
            return None
        way.made = call
    elif (
        MAKING.match(name)
        or ERROR_TYPE.search(owner.rpartition(".")[2])
        or (ERROR_TYPE.search(name) and name[:1].isupper())
    ):
        way.made = way.made or call
        variant = spoken(target)
        way.raised = way.raised or (variant if VARIANT.fullmatch(variant) else "")
    elif name[:1].isupper() or name in PASSING:
        variant = spoken(target)
        way.raised = way.raised or (variant if "." in variant and VARIANT.fullmatch(variant) else "")
    else:
        return None
    return call


def _carries(way: _Way, child: Node, parent: Node) -> bool:
    """Whether a node hands on what was climbed from."""
    match parent.type:
        case "field_initializer":
            name = text_of(parent.child_by_field_name("field") or parent.child_by_field_name("name"))
            way.is_message = way.is_message or name in ERROR_KEYS
            return name in ERROR_KEYS or way.raised != ""
        case "assignment_expression":
            way.is_message = text_of(parent.child_by_field_name("left")).rpartition(".")[2] in ERROR_KEYS
        case "tuple_expression":
            if any(status_in(text_of(each)) for each in parent.named_children if each != child):
                way.made = way.made or parent
            return True
        case "match_arm":
            return parent.child_by_field_name("value") == child
        case "if_expression":
            return parent.child_by_field_name("condition") != child
        case "match_expression":
            return parent.child_by_field_name("body") == child
        case "block":
            way.ends = parent.parent is not None and parent.parent.type == "function_item"
            return bool(parent.named_children) and parent.named_children[-1] == child
        case "expression_statement":
            return not text_of(parent).rstrip().endswith(";") or child.type == "return_expression"
        case "return_expression":
            return True
        case "binary_expression":
            return text_of(parent.child_by_field_name("operator")) == "+"
        case "struct_expression":
            name = text_of(parent.child_by_field_name("name"))
            steps = [s for s in name.split("::") if s not in {"crate", "self", "super"}]
            variant = ".".join(steps[-2:])
            if ERROR_TYPE.search(steps[0] if len(steps) > 1 else name):
                way.raised = way.raised or (variant if len(steps) > 1 else "")
            return True
    return parent.type in CARRYING
