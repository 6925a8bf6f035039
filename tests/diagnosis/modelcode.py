"""Generated request models as source text, with bodies that nearly fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from llmdebug.diagnosis.schema import Checker
from llmdebug.index.build import open_index
from llmdebug.index.facts import Class
from llmdebug.index.python.names import define
from llmdebug.index.python.types import Type, Types
from llmdebug.source.tree import open_tree

IMPORTS = """\
from __future__ import annotations

import enum
from typing import Annotated, Any, Dict, List, Literal, Optional, Union

import annotated_types
from pydantic import BaseModel, ConfigDict, Field, conint, confloat, conlist, constr
from pydantic import NonNegativeInt, PositiveFloat, StrictBool, StrictInt, StrictStr
from typing_extensions import NotRequired, TypedDict

LIMIT = 5
ROLES = Literal["user", "system"]


class Colour(str, enum.Enum):
    red = "red"
    blue = "blue"


class Point(TypedDict):
    x: int
    y: NotRequired[float]


class Leaf(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str
    size: Optional[int] = None


class Base(BaseModel):
    inherited: Annotated[int, Field(ge=0)] = 0
    replaced: str = ""
"""

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 9),
    st.sampled_from([0.0, 1.0, 0.5, -1.5, 7.0]),
    st.sampled_from(
        ["", "a", "user", "red", "abc", "abcdef", "1", "0", "1.0", "1.5", "true", "off", " 2 ", "1e2", "x1"]
    ),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["name", "size", "x", "y", "k", "3"]), inner, max_size=3),
    ),
    max_leaves=5,
)
SIMPLE = [
    "str", "int", "float", "bool", "Any", "list", "dict", "list[int]", "List[str]", "dict[str, int]", "Dict[str, Any]",
    "list[list[int]]", "Optional[int]", "Optional[str]", "int | None", "Literal['a', 'abc']",
    "Literal[1, 'x1']", "ROLES",
    "Optional[ROLES]", "Colour", "Point", "Leaf", "list[Leaf]", "Optional[Leaf]", "dict[str, Leaf]",
    "list[Optional[int]]",
    "Annotated[int, Field(ge=1, le=LIMIT)]", "Annotated[str, Field(min_length=1, max_length=3)]", "conint(gt=0)",
    "constr(max_length=3)", "conlist(int, min_length=1)", "confloat(ge=0.5, lt=7)", "tuple[int, str]",
    "tuple[int, ...]",
    "NonNegativeInt", "PositiveFloat", "StrictInt", "StrictStr", "StrictBool", "Annotated[int, annotated_types.Gt(1)]",
    "Annotated[list[str], Field(max_length=2)]", "Optional[Annotated[int, Field(ge=1)]]", "set[int]",
    "dict[int, float]",
    "Annotated[str, Field(pattern='^a')]", "Annotated[int, Field(strict=True)]", "'Leaf'", "None",
]  # fmt: skip
UNIONS = [
    "Union[int, str]", "str | list[str]", "Union[str, list[int], list[list[int]], list[str]]", "Union[Leaf, str]",
    "Union[Leaf, Point, None]", "Union[bool, int]", "list[Union[int, Leaf]]", "Union[Literal['a'], int]",
    "Optional[Union[float, dict[str, int]]]",
]  # fmt: skip
DEFAULTS = [
    "",
    " = None",
    " = Field(default=None)",
    " = Field(...)",
    " = Field(default_factory=list)",
    " = Field(default=0, ge=1)",
]
NAMES = ["alpha", "beta", "gamma", "delta"]


@dataclass(frozen=True)
class Sample:
    """A model's source and a body for it."""

    source: str
    body: Any


def field_line(name: str, annotation: str, default: str, alias: str) -> str:
    if alias:
        given = "..." if not default else "default=None"
        return f"    {name}: {annotation} = Field({given}, alias='{alias}')"
    return f"    {name}: {annotation}{default}"


@st.composite
def samples(draw: st.DrawFn, annotations: list[str]) -> Sample:
    """A model `Request` over these annotations, and a body that is a value for most of its fields."""
    base = draw(st.sampled_from(["BaseModel", "Base"]))
    lines = [f"class Request({base}):"]
    policy = draw(
        st.sampled_from(
            ["", "extra='forbid'", "extra='allow'", "populate_by_name=True", "extra='forbid', populate_by_name=True"]
        )
    )
    lines += [f"    model_config = ConfigDict({policy})"] if policy else []
    keys: list[str] = ["unknown"] if draw(st.integers(0, 3)) == 0 else []
    names = [
        *draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True)),
        *draw(st.sampled_from([[], ["replaced"]])),
    ]
    for name in names:
        annotation = draw(st.sampled_from(annotations))
        default = draw(st.sampled_from(DEFAULTS))
        if "ge=1" in default and annotation not in {"int", "float", "Optional[int]", "int | None"}:
            default = ""
        alias = draw(st.sampled_from(["", "", "", f"{name}-alias"]))
        lines.append(field_line(name, annotation, default, alias))
        keys += draw(st.sampled_from([[name], [alias or name], [alias or name], []]))
    keys += ["inherited"] if draw(st.booleans()) else []
    body = {key: draw(values) for key in dict.fromkeys(keys)}
    return Sample(IMPORTS + "\n\n" + "\n".join(lines) + "\n", body)


def checked(folder: Path, source: str, name: str = "Request") -> tuple[Checker, Type]:
    """The checker over a tree of one file, and the type of the class in it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "models.py").write_text(source)
    index = open_index(open_tree(folder), keep=False)
    types = Types(index)
    found = define(index, "models.py", name)
    assert found is not None and isinstance(found.item, Class)
    return Checker(types), types.of("models.py", name)


def executed(source: str) -> Callable[[str], Any]:
    """Looks up what the names of a module stand for once it was run."""
    import sys
    import types as modules

    module = modules.ModuleType("generated_models")
    sys.modules["generated_models"] = module
    exec(compile(source, "<models>", "exec"), module.__dict__)
    return module.__dict__.__getitem__
