from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from recorded import Case, figures
from renaming import Wording, fstring_pieces, shifted
from rewriting import broken, read_sources, rewritten, scored, wording_of, write_tree
from speed import cost

from llmdebug.demo.server import SOURCE

SERVER = """
from fastapi import FastAPI
from fastapi.responses import JSONResponse
from pydantic import BaseModel

web = FastAPI()
LARGEST_WIDTH = 4096


class SketchOrder(BaseModel):
    width: int
    shade: str = "plain grey"


def refuse(because: str) -> JSONResponse:
    return JSONResponse({"error": {"message": because}}, status_code=400)


@web.post("/sketch")
async def draw_sketch(order: SketchOrder) -> JSONResponse:
    if order.width > LARGEST_WIDTH:
        return refuse(f"The canvas holds {LARGEST_WIDTH} columns; {order.width} columns were ordered.")
    return JSONResponse({"ok": True})
"""
ANSWER = "The canvas holds 4096 columns; 5000 columns were ordered."
LINE = next(n for n, line in enumerate(SERVER.splitlines(), start=1) if "canvas" in line)


def case(**changes: Any) -> Case:
    return msgspec.convert(
        {
            "id": "sketch/too-wide",
            "server": {"name": "sketch"},
            "request": {"method": "POST", "path": "/sketch", "body": {"width": 5000}},
            "response": {"status": 400, "body": json.dumps({"error": {"message": ANSWER}})},
            "truth": {
                "kind": "out_of_range",
                "fields": ["/width"],
                "accept": [{"file": "app.py", "start": LINE, "end": LINE}],
            },
            **changes,
        },
        Case,
    )


def test_the_rewritten_server_still_says_what_the_rewritten_case_holds(tmp_path: Path) -> None:
    wording = wording_of({"app.py": SERVER}, [case()])
    write_tree({"app.py": SERVER}, wording, tmp_path)
    source, answer = (tmp_path / "app.py").read_text(), rewritten(case(), wording).answer
    for gone in ("canvas", "ordered", "LARGEST_WIDTH", "SketchOrder", "draw_sketch"):
        assert gone not in source and gone not in answer
    assert all(kept in source for kept in ('"/sketch"', "width: int", "JSONResponse", '"message"'))
    assert answer.count("5000") == answer.count("4096") == 1
    first_words = json.loads(answer)["error"]["message"].partition(" 4096")[0]
    assert f'f"{first_words} {{' in source
    ((_, mark, said),) = scored(tmp_path, [rewritten(case(), wording)])
    assert mark.rank == 1, said


def test_a_rewritten_tree_keeps_its_lines_and_its_syntax(tmp_path: Path) -> None:
    sources = read_sources(SOURCE)
    write_tree(sources, wording_of(sources, []), tmp_path)
    assert broken(sources, tmp_path) == []
    for path, source in sources.items():
        new = (tmp_path / path).read_text(encoding="utf-8")
        assert new != source or not source
        assert [len(line) for line in new.splitlines()] == [len(line) for line in source.splitlines()]
        assert [type(n) for n in ast.walk(ast.parse(new))] == [type(n) for n in ast.walk(ast.parse(source))]


def test_what_is_no_word_stays() -> None:
    wording = Wording({"total_width": "vuvem_xofvj"}, {"wide": "xofi", "too": "vuu"})
    assert wording.text("Too wide: %s, {total_width} (WIDE)\\n") == "Vuu xofi: %s, {vuvem_xofvj} (XOFI)\\n"
    assert wording.code("say(f'too wide {{wide}} {total_width!r:>4}')") == (
        "say(f'vuu xofi {{xofi}} {vuvem_xofvj!r:>4}')"
    )
    assert shifted("Too_Wide", 1) == "Vuu_Xofi"


@pytest.mark.parametrize(
    ("text", "holes"), [("a {b} c", ["{b}"]), ("{{a}} {b:{c}}", ["{b:{c}}"]), ("", []), ("{open", ["{open"])]
)
def test_holes_of_an_f_string(text: str, holes: list[str]) -> None:
    pieces = list(fstring_pieces(text))
    assert [piece for piece, is_hole in pieces if is_hole] == holes
    assert "".join(piece for piece, _ in pieces) == text


def test_figures_count_places_only_where_there_are_some(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(SERVER)
    elsewhere = case(truth={"kind": "out_of_range", "fields": ["/shade"]})
    marks = [m for _, m, _ in scored(tmp_path, [case(), elsewhere])]
    found = figures(marks)
    assert (found.cases, found.sited, found.top1, found.unsited, found.abstains) == (2, 1, 1, 1, 0)
    assert found.field == 1


def test_the_cost_of_a_process(tmp_path: Path) -> None:
    (tmp_path / "case.json").write_bytes(msgspec.json.encode(case()))
    found = cost(tmp_path / "cache", str(SOURCE), str(tmp_path / "case.json"))
    assert 0 < found.question < found.cpu
    assert found.memory > 10
