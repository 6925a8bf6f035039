"""Constants followed through files, with the arithmetic that they are made of."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from llmdebug.index.build import Index, open_index
from llmdebug.index.python.constants import constant
from llmdebug.source.tree import open_tree


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder: Path = tmp_path_factory.mktemp("constants")
    (folder / "limits.py").write_text(
        "import torch\n\nBITS = 8\nMOST = 2**BITS - 1\nLONG = torch.iinfo(torch.long)\nTURN = TURN + 1\n"
        "class Sizes:\n    small = 2\n    large = small * 8\n"
    )
    (folder / "use.py").write_text("from limits import MOST as TOP, Sizes\n")
    return open_index(open_tree(folder), keep=False)


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("TOP", 255),
        ("-TOP - 1", -256),
        ("Sizes.small << 4", 32),
        ("-(2**63)", -(2**63)),
        ("torch.iinfo(torch.int32).max", 2**31 - 1),
        ("np.iinfo(np.uint8).min", 0),
        ("np.iinfo('int16').max", None),
        ("float('inf')", math.inf),
        ("math.inf", math.inf),
        ("sys.maxsize // 2", 2**62 - 1),
    ],
)
def test_what_is_constant(source: str, value: object, index: Index) -> None:
    if value is None:
        with pytest.raises(LookupError):
            constant(index, "use.py", source)
    else:
        assert constant(index, "use.py", source) == value


@pytest.mark.parametrize(
    "source",
    ["10**9**9", "1 << 99999999", "'x' * 10", "1 / 0", "absent", "TURN", "__import__('os')", "a b", "f()", "(" * 500],
)
def test_what_is_none(source: str, index: Index) -> None:
    with pytest.raises(LookupError):
        constant(index, "limits.py", source)
