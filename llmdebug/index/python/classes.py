"""Class definitions: fields with their declarations, policies and validators."""

from __future__ import annotations

import ast

from llmdebug.index.facts import Class, Field, Validator
from llmdebug.index.python.syntax import dotted, keyword, last_name, string, text

MAX_MEMBER = 4_000
DECLARATORS = frozenset({"Field", "field", "Body", "Query", "Header", "Path", "Form", "File", "Cookie", "PrivateAttr"})
CONSTRAINTS = (
    "ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length", "min_items", "max_items", "pattern", "regex",
    "discriminator", "strict", "choices", "examples",
)  # fmt: skip
ALIASES = ("alias", "validation_alias", "name", "rename")
SETTINGS = frozenset(
    {
        "alias_generator", "allow_population_by_field_name", "populate_by_name", "strict", "validate_by_name",
        "coerce_numbers_to_str",
    }
)  # fmt: skip
VALIDATOR_DECORATORS = frozenset({"field_validator", "validator", "model_validator", "root_validator"})


def class_of(node: ast.ClassDef, qualified: str) -> Class:
    """The facts of one class statement."""
    fields: list[Field] = []
    validators: list[Validator] = []
    members: list[tuple[str, str]] = []
    extra: str | None = None
    extra_line = 0
    settings: dict[str, str] = {}
    for statement in node.body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id="model_config"), value=ast.expr() as value):
                extra, extra_line = _extra(value) or extra, statement.lineno
                settings.update(_settings(value))
            case ast.AnnAssign(target=ast.Name()):
                fields.append(field_of(statement))
            case ast.Assign(targets=[ast.Name(id="model_config")], value=value):
                extra, extra_line = _extra(value) or extra, statement.lineno
                settings.update(_settings(value))
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                members.append((name, text(value)[:MAX_MEMBER]))
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                validators.extend(_validators(statement))
            case ast.ClassDef(name="Config" | "Meta", body=body):
                for inner in body:
                    if isinstance(inner, ast.Assign) and last_name(inner.targets[0]) == "extra":
                        extra = string(inner.value) or last_name(inner.value)
                        extra_line = inner.lineno
                    elif isinstance(inner, ast.Assign) and last_name(inner.targets[0]) in SETTINGS:
                        settings[last_name(inner.targets[0])] = text(inner.value)
    return Class(
        name=qualified,
        line=node.lineno,
        end_line=node.end_lineno or node.lineno,
        bases=tuple(dotted(base) for base in node.bases),
        fields=tuple(fields),
        validators=tuple(validators),
        extra=extra,
        extra_line=extra_line,
        decorators=tuple(dotted(d) for d in node.decorator_list),
        members=tuple(members),
        root=next((text(b.slice) for b in node.bases if isinstance(b, ast.Subscript)), ""),
        keywords=tuple((k.arg, text(k.value)) for k in node.keywords if k.arg),
        settings=tuple(settings.items()),
    )


def field_of(statement: ast.AnnAssign) -> Field:
    """The field that an annotated assignment declares."""
    value = statement.value
    default = text(value)[:MAX_MEMBER] if value is not None else None
    aliases: list[str] = []
    constraints: list[tuple[str, str]] = []
    declarators = [value] if isinstance(value, ast.Call) and last_name(value) in DECLARATORS else []
    if declarators:
        default = default_of(declarators[0])
    if last_name(statement.annotation) == "Annotated":
        declarators += [
            c for c in ast.walk(statement.annotation) if isinstance(c, ast.Call) and last_name(c) in DECLARATORS
        ]
        if default is None and declarators:
            default = default_of(declarators[-1])
    for call in declarators:
        aliases += _aliases(call)
        constraints += [(k.arg, text(k.value)) for k in call.keywords if k.arg in CONSTRAINTS]
    annotation = text(statement.annotation)
    return Field(
        name=statement.target.id if isinstance(statement.target, ast.Name) else "",
        line=statement.lineno,
        end_line=statement.end_lineno or statement.lineno,
        annotation=annotation,
        default=default,
        aliases=tuple(aliases),
        constraints=tuple(constraints),
        is_class_variable=last_name(statement.annotation) == "ClassVar",
    )


def default_of(call: ast.Call) -> str | None:
    """The default that `Field(…)` and its like give; None where the field is required."""
    factory = keyword(call, "default_factory")
    if factory is not None:
        return f"{text(factory)}()"
    value = keyword(call, "default")
    if value is None and call.args:
        value = call.args[0]
    if value is None or (isinstance(value, ast.Constant) and value.value is Ellipsis):
        return None
    return text(value)[:MAX_MEMBER]


def _aliases(call: ast.Call) -> list[str]:
    found = []
    for name in ALIASES:
        value = keyword(call, name)
        if isinstance(value, ast.Call):
            found += [a for a in (string(argument) for argument in value.args) if a]
        elif (literal := string(value)) is not None:
            found.append(literal)
    return found


def _extra(value: ast.expr) -> str | None:
    """The `extra` policy that a `model_config` gives."""
    found = _given(value).get("extra")
    return (string(found) or last_name(found)) if found is not None else None


def _settings(value: ast.expr) -> dict[str, str]:
    return {name: text(given) for name, given in _given(value).items() if name in SETTINGS}


def _given(value: ast.expr) -> dict[str, ast.expr]:
    """What a `model_config` gives, as a call or as a dict."""
    if isinstance(value, ast.Call):
        return {word.arg: word.value for word in value.keywords if word.arg}
    if isinstance(value, ast.Dict):
        pairs = zip(value.keys, value.values, strict=True)
        return {name: item for name, item in ((string(key), item) for key, item in pairs) if name}
    return {}


def _validators(method: ast.FunctionDef | ast.AsyncFunctionDef) -> list[Validator]:
    found = []
    for decorator in method.decorator_list:
        name = last_name(decorator)
        if name not in VALIDATOR_DECORATORS:
            continue
        call = decorator if isinstance(decorator, ast.Call) else None
        mode = string(keyword(call, "mode")) if call else None
        if mode is None and call is not None:
            pre = keyword(call, "pre")
            mode = "before" if isinstance(pre, ast.Constant) and pre.value else None
        fields = tuple(a for a in (string(argument) for argument in call.args) if a) if call else ()
        found.append(Validator(method.name, mode or "after", fields))
    return found
