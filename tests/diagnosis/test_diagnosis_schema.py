"""The check of a body against a tree's models, held against pydantic's own verdict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from modelcode import IMPORTS, SIMPLE, UNIONS, Sample, checked, executed, samples, scalars, values
from pydantic import TypeAdapter, ValidationError

from llmdebug.diagnosis.schema import escape

QUIET = (HealthCheck.function_scoped_fixture, HealthCheck.too_slow)


def verdict(source: str, body: Any, name: str = "Request") -> set[tuple[str, str]] | None:
    """pydantic's errors as (pointer, type), errors of a key at its value; None where it admits the body."""
    try:
        TypeAdapter(executed(source)(name)).validate_python(body, from_attributes=True)
    except ValidationError as error:
        return {
            ("".join(f"/{escape(step)}" for step in e["loc"] if step != "[key]"), e["type"]) for e in error.errors()
        }
    return None


@given(sample=samples(SIMPLE))
@settings(max_examples=500, deadline=None, suppress_health_check=QUIET)
def test_without_unions_the_errors_are_pydantics(sample: Sample, tmp_path: Path) -> None:
    true = verdict(sample.source, sample.body)
    checker, kind = checked(tmp_path, sample.source)
    found = {(p.pointer, p.type) for p in checker.check(kind, sample.body)}
    told = sample.source[len(IMPORTS) :] + f"\n{sample.body}"
    assert found == (true or set()), told


@given(sample=samples([*UNIONS, *SIMPLE]))
@settings(max_examples=300, deadline=None, suppress_health_check=QUIET)
def test_with_unions_the_verdict_is_pydantics(sample: Sample, tmp_path: Path) -> None:
    true = verdict(sample.source, sample.body)
    checker, kind = checked(tmp_path, sample.source)
    found = checker.check(kind, sample.body)
    assert bool(found) == bool(true), sample.source[len(IMPORTS) :] + f"\n{sample.body}\n{true}\n{found}"


def problems(folder: Path, source: str, body: Any, name: str = "Request") -> list[tuple[str, str]]:
    checker, kind = checked(folder, source, name)
    return [(p.pointer, p.type) for p in checker.check(kind, body)]


DISCRIMINATED = """\
from typing import Annotated, Literal, Union
from pydantic import BaseModel, Field

class Text(BaseModel):
    type: Literal["text"]
    text: str

class Image(BaseModel):
    type: Literal["image"] = "image"
    url: str

Part = Annotated[Union[Text, Image], Field(discriminator="type")]

class Request(BaseModel):
    parts: list[Part]
"""


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"type": "text", "text": "a"}, []),
        ({"type": "text"}, [("/parts/0/text", "missing")]),
        ({"type": "image", "text": "a"}, [("/parts/0/url", "missing")]),
        ({"type": "video", "text": "a"}, [("/parts/0/type", "literal_error")]),
        ({"text": "a"}, [("/parts/0/type", "missing")]),
    ],
)
def test_a_discriminator_chooses_the_branch(part: Any, expected: list[tuple[str, str]], tmp_path: Path) -> None:
    assert problems(tmp_path, DISCRIMINATED, {"parts": [part]}) == expected


MSGSPEC = """\
from __future__ import annotations
from typing import Literal, Optional, Union
import msgspec

class Part(msgspec.Struct, forbid_unknown_fields=True):
    n: int
    ratio: float = 0.5

class Request(msgspec.Struct):
    text: str
    part: Optional[Part] = None
    parts: list[Part] = []
    flag: bool = False
    mode: Literal["a", 1] = "a"
    either: Union[int, str, None] = None
    renamed: int = msgspec.field(default=1, name="re-named")
"""


@given(
    body=st.fixed_dictionaries(
        {},
        optional={
            "text": values,
            "part": st.one_of(
                values, st.fixed_dictionaries({"n": values}, optional={"ratio": values, "other": values})
            ),
            "parts": st.lists(st.fixed_dictionaries({"n": values}), max_size=2),
            "flag": values,
            "mode": values,
            "either": scalars,
            "re-named": values,
            "renamed": values,
        },
    )
)
@settings(max_examples=300, deadline=None, suppress_health_check=QUIET)
def test_structs_are_as_strict_as_msgspec(body: dict[str, Any], tmp_path: Path) -> None:
    try:
        msgspec.json.decode(json.dumps(body), type=executed(MSGSPEC)("Request"))
        refused = False
    except msgspec.ValidationError:
        refused = True
    assert bool(problems(tmp_path, MSGSPEC, body)) == refused


@pytest.mark.parametrize(
    ("source", "body", "expected"),
    [
        (
            "from typing import TypedDict\nclass Request(TypedDict, total=False):\n    a: int\n"
            "    b: 'Required[str]'\n",
            {"a": "x"},
            [("/a", "int_parsing"), ("/b", "missing")],
        ),
        (
            "from dataclasses import dataclass, field\n@dataclass\nclass Request:\n    a: int\n"
            "    b: list = field(default_factory=list)\n",
            {"b": {}},
            [("/a", "missing"), ("/b", "list_type")],
        ),
        (
            "from pydantic import BaseModel, ConfigDict\nfrom pydantic.alias_generators import to_camel\n"
            "class Request(BaseModel):\n    model_config = ConfigDict(alias_generator=to_camel)\n    max_tokens: int\n",
            {"max_tokens": 1},
            [("/maxTokens", "missing")],
        ),
        (
            "from pydantic import BaseModel\nclass Request(BaseModel):\n    class Config:\n        extra = 'forbid'\n"
            "    a: int = 0\n",
            {"b": 1},
            [("/b", "extra_forbidden")],
        ),
        (
            "from pydantic import BaseModel\nclass Request(BaseModel):\n"
            "    model_config = {'strict': True, 'extra': 'forbid'}\n    a: int\n",
            {"a": "1"},
            [("/a", "int_type")],
        ),
        (
            "from pydantic import BaseModel, RootModel\nclass Inner(RootModel[list[int]]):\n    pass\n"
            "class Request(BaseModel):\n    a: Inner\n",
            {"a": [1, "x"]},
            [("/a/1", "int_parsing")],
        ),
        (
            "from pydantic import BaseModel\nclass Node(BaseModel):\n    children: list['Node'] = []\n    n: int\n"
            "class Request(Node):\n    pass\n",
            {"n": 1, "children": [{"n": 1, "children": [{}]}]},
            [("/children/0/children/0/n", "missing")],
        ),
        (
            "from typing import NewType, TypeAlias\nfrom pydantic import BaseModel\nIds: TypeAlias = list[int]\n"
            "class Request(BaseModel):\n    a: Ids | None\n",
            {"a": "x"},
            [("/a", "list_type")],
        ),
        (
            "from somewhere import Base\nclass Request(Base):\n    a: int\n",
            {"b": 1},
            [("/a", "missing")],
        ),
        (
            "from somewhere import Thing\nfrom pydantic import BaseModel\nclass Request(BaseModel):\n    a: Thing\n"
            "    b: list[Thing] | None\n",
            {"a": 1, "b": [1]},
            [],
        ),
    ],
)  # fmt: skip
def test_declarations_of_other_kinds(source: str, body: Any, expected: list[tuple[str, str]], tmp_path: Path) -> None:
    assert problems(tmp_path, source, body) == expected


def test_a_validator_that_sees_the_value_first_makes_a_problem_uncertain(tmp_path: Path) -> None:
    source = (
        "from pydantic import BaseModel, field_validator\nclass Request(BaseModel):\n    a: int\n    b: int\n"
        "    @field_validator('a', mode='before')\n    @classmethod\n    def convert(cls, value):\n        return 1\n"
    )
    checker, kind = checked(tmp_path, source)
    assert {p.pointer: p.certain for p in checker.check(kind, {"a": "x", "b": "x"})} == {"/a": False, "/b": True}


def test_a_deep_body_is_not_followed_for_ever(tmp_path: Path) -> None:
    source = "from pydantic import BaseModel\nclass Request(BaseModel):\n    child: 'Request | None' = None\n"
    body: Any = {"child": 5}
    for _ in range(300):
        body = {"child": body}
    checker, kind = checked(tmp_path, source)
    assert checker.check(kind, body) == []


def test_fields_are_inherited_across_files(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("from .base import Sampling as Mixin\n")
    (tmp_path / "pkg" / "base.py").write_text(
        "from pydantic import BaseModel, ConfigDict\nclass Sampling(BaseModel):\n"
        "    model_config = ConfigDict(extra='forbid')\n    n: int = 1\n    text: str\n"
    )
    source = "from pkg import Mixin\nclass Request(Mixin):\n    text: int\n"
    checker, kind = checked(tmp_path, source)
    found = [(p.pointer, p.type) for p in checker.check(kind, {"n": "x", "text": "1", "other": 1})]
    assert found == [("/n", "int_parsing"), ("/other", "extra_forbidden")]
