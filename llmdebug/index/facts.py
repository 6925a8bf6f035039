"""What is known of a source file: values only, compact enough to be kept on disk.

Lines are 1-based and inclusive. Expressions are kept as source text (`ast.unparse` form); who needs more
than the text asks the index for the file's syntax tree.
"""

from __future__ import annotations

from typing import Literal

import msgspec

HOLE = None
"""Stands in a template for a part that is only known at run time."""
BODY = "Body()"
"""The default of a parameter that stands for what a function in another language reads the body into."""
NAMED_PATH = "$"
"""Stands in a path before the name of a constant of another file, which the rest of the path is."""
QUERY = "Query()"
"""The same of the query."""


class Template(msgspec.Struct, frozen=True, array_like=True):
    """A message with holes: literal pieces and HOLE, in order."""

    parts: tuple[str | None, ...]
    holes: tuple[str, ...] = ()
    """Source text of what fills each hole where that is a plain name or attribute, else empty."""


class Rejection(msgspec.Struct, frozen=True, array_like=True):
    """Code that can refuse: a statement that raises, returns or sends an error."""

    line: int
    end_line: int
    symbol: str
    """Qualified name of the function or class around it; empty at module level."""
    role: Literal["raises", "returns", "checks", "internal"]
    templates: tuple[Template, ...] = ()
    raised: str = ""
    """Last part of the raised class's or the called helper's name."""
    status: int | None = None
    param: str | None = None


class Field(msgspec.Struct, frozen=True, array_like=True):
    """A declared field of a class."""

    name: str
    line: int
    end_line: int
    annotation: str
    default: str | None = None
    """Source text of the default; None where the field is required."""
    aliases: tuple[str, ...] = ()
    constraints: tuple[tuple[str, str], ...] = ()
    """`ge`, `max_length` and the like with the source text of their value."""
    is_class_variable: bool = False


class Validator(msgspec.Struct, frozen=True, array_like=True):
    """A method that checks a model or some of its fields."""

    method: str
    mode: str
    """`before`, `after`, `wrap` or `plain`."""
    fields: tuple[str, ...] = ()
    """Names of the fields; empty for a validator of the whole model."""


class Class(msgspec.Struct, frozen=True, array_like=True):
    """A class: a request model, an exception, or any other."""

    name: str
    line: int
    end_line: int
    bases: tuple[str, ...] = ()
    """As written, dotted, without type arguments."""
    fields: tuple[Field, ...] = ()
    validators: tuple[Validator, ...] = ()
    extra: str | None = None
    """`ignore`, `allow` or `forbid` where the class itself says so."""
    extra_line: int = 0
    decorators: tuple[str, ...] = ()
    members: tuple[tuple[str, str], ...] = ()
    """Plain assignments in the class body, name and source text; an enum's members are among them."""
    root: str = ""
    """Annotation of the root, for a model that wraps one value."""
    keywords: tuple[tuple[str, str], ...] = ()
    """Keywords of the class statement (`total=False`, `forbid_unknown_fields=True`)."""
    settings: tuple[tuple[str, str], ...] = ()
    """What `model_config` or `Config` says of names and strictness, with the source text of the value."""


class Parameter(msgspec.Struct, frozen=True, array_like=True):
    """A parameter of a function."""

    name: str
    annotation: str = ""
    default: str | None = None
    line: int = 0


class Function(msgspec.Struct, frozen=True, array_like=True):
    """A function or method."""

    name: str
    """Qualified: `Class.method`, `outer.inner`."""
    line: int
    """Line of `def`, below the decorators."""
    end_line: int
    parameters: tuple[Parameter, ...] = ()
    calls: tuple[str, ...] = ()
    """What it calls or hands on: `name`, `module.name`, `Class.name`, `self.name`, `~local.name`, and `.name` on
    whatever an expression gives."""
    decorators: tuple[str, ...] = ()
    returns: str = ""
    is_async: bool = False


class Route(msgspec.Struct, frozen=True, array_like=True):
    """A registration of a path."""

    path: str
    methods: tuple[str, ...]
    handler: str
    """Qualified name of the function, or empty where it can't be told."""
    line: int
    """First line of the registration."""
    end_line: int
    """Last line: for a decorator the handler's `def`."""
    router: str = ""
    """Name of the app or router object in this file."""
    condition: str = ""
    """Source text of the condition under which it is registered."""
    condition_line: int = 0
    dependencies: tuple[str, ...] = ()
    symbol: str = ""
    """The function in which the registration stands, where it is not at module level."""


class Mount(msgspec.Struct, frozen=True, array_like=True):
    """A router included, or an app mounted, under a prefix."""

    parent: str
    child: str
    """As written: `router`, `module.router`, or a call that makes it."""
    prefix: str
    line: int
    condition: str = ""
    condition_line: int = 0
    symbol: str = ""


class Handler(msgspec.Struct, frozen=True, array_like=True):
    """An exception handler: which classes it takes and which statuses it answers with."""

    exceptions: tuple[str, ...]
    function: str
    statuses: tuple[int, ...]
    line: int
    answers_as: tuple[str, ...] = ()
    """Other errors, told elsewhere, that it answers as."""


class FileFacts(msgspec.Struct, frozen=True, array_like=True):
    """All that is known of one file."""

    path: str
    imports: tuple[tuple[str, str], ...] = ()
    """Local name to dotted origin: (`Request`, `fastapi.Request`); a relative origin keeps its dots."""
    constants: tuple[tuple[str, str], ...] = ()
    """Module-level assignments of short expressions, name to source text."""
    routers: tuple[tuple[str, str], ...] = ()
    """Router objects of this file, name to own prefix."""
    routes: tuple[Route, ...] = ()
    mounts: tuple[Mount, ...] = ()
    handlers: tuple[Handler, ...] = ()
    middlewares: tuple[str, ...] = ()
    """Functions and classes that see each request before the routes."""
    classes: tuple[Class, ...] = ()
    functions: tuple[Function, ...] = ()
    rejections: tuple[Rejection, ...] = ()
    problem: str = ""
    """Why the file could not be parsed; empty where it could."""
