"""What a start may import: every module that it need not is time before the first answer."""

from __future__ import annotations

import subprocess
import sys

import pytest

FRONT_ENDS = {"textual", "rich", "typer"}
NETWORK = {"httpx", "httpcore", "ssl"}
SERVER = {"fastapi", "uvicorn", "starlette", "pydantic"}
HEAVY = {"transformers", "tokenizers", "torch", "numpy", "psutil", "unearth", "httpx2", "packaging"}


def loaded(code: str) -> set[str]:
    """The top-level modules that a fresh interpreter holds after `code`."""
    told = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint(*{{name.partition('.')[0] for name in sys.modules}})"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(told.stdout.split())


@pytest.mark.parametrize(
    ("code", "unwanted"),
    [
        ("import llmdebug.cli.main", FRONT_ENDS | NETWORK | SERVER | HEAVY | {"asyncio", "msgspec"}),
        ("import llmdebug.debugger.session", FRONT_ENDS | NETWORK - {"ssl"} | SERVER | HEAVY),
        ("import llmdebug.diagnosis.diagnose", FRONT_ENDS | NETWORK | SERVER | HEAVY | {"asyncio"}),
        ("import llmdebug.cli.diagnosing", FRONT_ENDS | NETWORK | SERVER | HEAVY | {"asyncio"}),
        (
            "import llmdebug.cli.send, llmdebug.cli.diagnose",
            {"rich", "textual"} | NETWORK | SERVER | HEAVY | {"asyncio"},
        ),
        ("import llmdebug.http.client", {"textual", "typer"} | SERVER | HEAVY),
        ("import llmdebug.tui.app", {"typer", "httpx", "httpcore", "pyripgrep", "tree_sitter"} | SERVER | HEAVY),
        ("import llmdebug.demo.server", FRONT_ENDS | NETWORK - {"ssl"} | SERVER | HEAVY),
    ],
)
def test_a_start_imports_no_more_than_it_needs(code: str, unwanted: set[str]) -> None:
    assert not loaded(code) & unwanted
