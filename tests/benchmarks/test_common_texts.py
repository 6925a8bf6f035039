from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from commontexts import TreeText, is_common, runs
from recorded import Case

HOME = 'def check(width):\n    raise ValueError(\n        f"The canvas holds {width} "\n        "columns at most, and no more")\n'
SAID = "The canvas holds 7 columns at most, and no more"
LIBRARY = '[{"type": "missing", "loc": ["body", "width"], "msg": "Field required", "input": {}}]'


def case(answer: Any, body: Any = None) -> Case:
    return msgspec.convert(
        {
            "id": "sketch/too-wide",
            "server": {"name": "sketch"},
            "request": {"method": "POST", "path": "/sketch", "body": body or {"width": 5000}},
            "response": {"status": 400, "body": answer},
            "truth": {"kind": "out_of_range", "accept": [{"file": "app.py", "start": 2, "end": 2}]},
        },
        Case,
    )


def trees(folder: Path, other: str) -> tuple[Path, TreeText]:
    for name, source in (("home", HOME), ("other", other)):
        (folder / name).mkdir()
        (folder / name / "app.py").write_text(source)
    return folder / "home", TreeText(folder / "other")


def test_runs_of_words() -> None:
    assert list(runs("a wide canvas holds 7 columns at most", "the canvas holds {w} columns at most, and")) == [
        "canvas holds",
        "columns at most",
    ]


@pytest.mark.parametrize(
    ("answer", "other", "common"),
    [
        ({"detail": SAID}, HOME, True),
        ({"detail": SAID}, "raise ValueError('The page holds no columns')", False),
        (f'{{"detail": {LIBRARY}}}', "from pydantic import BaseModel", True),
        (f'{{"detail": {LIBRARY}}}', "import attrs", False),
        ("Internal Server Error", "import os", True),
        ({"detail": "from the request itself"}, "import os", True),
    ],
)
def test_texts_that_stand_in_both_trees(tmp_path: Path, answer: Any, other: str, common: bool) -> None:
    home, text = trees(tmp_path, other)
    assert is_common(case(answer, {"template": "{{ from the request itself }}"}), home, text) == common
