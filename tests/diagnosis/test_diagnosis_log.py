"""A server's log beside an exchange: what it settles, and what it leaves as it was."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from llmdebug.diagnosis.diagnose import diagnose
from llmdebug.diagnosis.verdict import Diagnosis
from llmdebug.formats.serverlog import read_log
from llmdebug.http.exchange import Exchange, Request, Response
from llmdebug.index.build import open_index
from llmdebug.source.tree import open_tree

API = """
    from fastapi import FastAPI, HTTPException
    from pydantic import BaseModel

    from .engine import run

    app = FastAPI()


    class Order(BaseModel):
        depth: int = 3
        shade: str = "grey"


    @app.post("/draw")
    async def draw(order: Order):
        if order.depth > 9:
            raise HTTPException(status_code=400, detail="The canvas is not that deep")
        return run(order)


    @app.post("/sweep")
    async def sweep(order: Order):
        return run(order)
"""
ENGINE = """
    def run(order):
        colour = TABLE[order.shade]
        return paint(colour)


    def paint(colour):
        try:
            return colour.mix()
        except AttributeError as error:
            raise RuntimeError("cannot paint") from error
"""


OF_ANOTHER = 'Traceback (most recent call last):\n  File "/srv/other/app.py", line 3, in f\n    g()\nOSError: the disk is full\n\n'


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "api.py").write_text(dedent(API).lstrip())
    (tmp_path / "shop" / "engine.py").write_text(dedent(ENGINE).lstrip())
    return tmp_path


def line_of(tree: Path, name: str, piece: str) -> int:
    lines = (tree / "shop" / name).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if piece in line)


def frame(tree: Path, name: str, piece: str, function: str, shift: int = 0) -> str:
    line = line_of(tree, name, piece) + shift
    return f'  File "/usr/lib/site-packages/shop/{name}", line {line}, in {function}\n    {piece}\n'


def traceback(*frames: str, error: str) -> str:
    outside = '  File "/usr/lib/site-packages/starlette/routing.py", line 73, in app\n    await self.app(scope)\n'
    return "Traceback (most recent call last):\n" + outside + "".join(frames) + error + "\n"


def told(tree: Path | None, body: Any, status: int, answer: str, log: str, path: str = "/draw") -> Diagnosis:
    exchange = Exchange(
        request=Request(method="POST", url=f"http://h:1{path}", body=json.dumps(body).encode()),
        response=Response(status=status, body=answer.encode()),
    )
    indexes = [open_index(open_tree(tree), keep=False)] if tree else []
    return diagnose(exchange, indexes, read_log(log))


def crash(tree: Path, shift: int = 0) -> str:
    return traceback(
        frame(tree, "api.py", "return run(order)", "draw"),
        frame(tree, "engine.py", "colour = TABLE[order.shade]", "run", shift),
        error="KeyError: 'mauve'",
    )


def test_a_bare_500_is_settled(tree: Path) -> None:
    found = told(tree, {"shade": "mauve"}, 500, "Internal Server Error", crash(tree))
    site = found.sites[0]
    assert (site.file, site.line, site.symbol) == ("shop/engine.py", line_of(tree, "engine.py", "TABLE["), "run")
    assert "KeyError: 'mauve'" in site.why[0]
    assert (found.related[0].file, found.related[0].symbol) == ("shop/api.py", "draw")
    assert [field.pointer for field in found.fields] == ["/shade"]


def test_the_linked_tree_is_of_another_version(tree: Path) -> None:
    found = told(tree, {"shade": "mauve"}, 500, "", crash(tree, shift=40))
    assert found.sites[0].line == line_of(tree, "engine.py", "TABLE[")
    assert any("another version" in note for note in found.notes)


def test_a_code_line_that_the_tree_lacks_is_no_site(tree: Path) -> None:
    log = crash(tree).replace("TABLE[order.shade]", "table(order)").replace("return run(order)", "return go(order)")
    found = told(tree, {"shade": "mauve"}, 500, "", log)
    assert not any(site.file == "shop/engine.py" for site in found.sites)


def test_a_wrapper_loses_to_what_it_was_raised_from(tree: Path) -> None:
    inner = traceback(
        frame(tree, "engine.py", "return colour.mix()", "paint"),
        error="AttributeError: 'str' object has no attribute 'mix'",
    )
    outer = traceback(
        frame(tree, "engine.py", 'raise RuntimeError("cannot paint") from error', "paint"),
        error="RuntimeError: cannot paint",
    )
    cause = "\nThe above exception was the direct cause of the following exception:\n\n"
    found = told(tree, {"shade": "grey"}, 500, "", inner + cause + outer)
    assert found.sites[0].line == line_of(tree, "engine.py", "colour.mix()")
    assert found.kind == "wrong_type"


def test_the_trace_of_this_route_comes_before_a_later_one(tree: Path) -> None:
    other = crash(tree).replace("in draw", "in sweep").replace("KeyError: 'mauve'", "KeyError: 'teal'")
    lines = other.replace(str(line_of(tree, "api.py", "return run(order)")), "999")
    found = told(tree, {"shade": "mauve"}, 500, "", crash(tree) + "INFO: other things\n" + lines)
    assert "mauve" in found.sites[0].why[0]


def test_a_claim_that_rests_on_the_answer_stays(tree: Path) -> None:
    refusal = json.dumps({"detail": "The canvas is not that deep"})
    with_log, without = (told(tree, {"depth": 10}, 400, refusal, log) for log in (crash(tree), ""))
    assert with_log.sites == without.sites
    assert with_log.sites[0].line == line_of(tree, "api.py", "not that deep")


def test_a_line_of_the_log_settles_what_the_answer_leaves_open(tree: Path) -> None:
    log = '2026-01-01 12:00:00 ERROR [api.py:99] The canvas is not that deep\nINFO "POST /draw HTTP/1.1" 500\n'
    found = told(tree, {"depth": 10}, 500, "Internal Server Error", log, path="/unknown")
    assert found.sites[0].line == line_of(tree, "api.py", "not that deep")


def test_a_trace_of_another_tree_is_told_without_a_site(tree: Path) -> None:
    log = 'Traceback (most recent call last):\n  File "/x/site-packages/torch/nn.py", line 3, in f\n    g()\nOSError: gone\n'
    found = told(tree, {"shade": "grey"}, 500, "", log, path="/sweep")
    assert found.sites == ()
    assert any("OSError: gone" in note and "torch/nn.py:3" in note for note in found.notes)
    assert any("none is linked" in note for note in told(None, {}, 500, "", log).notes)


def test_an_answered_request_is_left_alone(tree: Path) -> None:
    found = told(tree, {"depth": 1}, 200, '{"ok": true}', crash(tree))
    assert (found.kind, found.sites) == ("none", ())


def test_places_of_other_languages(tree: Path) -> None:
    (tree / "server").mkdir()
    (tree / "server" / "routes.go").write_text("package server\n\nfunc chat() {\n\tpanic(1)\n}\n")
    log = "panic: no such thing\n\ngoroutine 1 [running]:\nshop/server.chat()\n\t/build/server/routes.go:4 +0x1a\n"
    found = told(tree, {}, 500, "", log)
    assert (found.sites[0].file, found.sites[0].line, found.sites[0].role) == ("server/routes.go", 4, "raises")
    assert found.kind == "other"


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("", "there is no line in it"),
        (
            "INFO all is well\nERROR the cat is out of the bag\n",
            "it holds no traceback, and no line of it is one of this",
        ),
        ("\0\1\2" * 400, "it holds no traceback"),
        (2 * OF_ANOTHER, "none of its 2 tracebacks is of this refusal"),
    ],
)
@pytest.mark.parametrize("linked", [True, False])
def test_a_log_of_no_use_says_so(tree: Path, log: str, said: str, linked: bool) -> None:
    found = told(tree if linked else None, {"depth": 10}, 400, "The canvas is not that deep", log)
    settled = [note for note in found.notes if note.startswith("the server's log settles nothing: ")]
    assert len(settled) == 1 and said in settled[0]


def test_a_log_beside_a_good_answer_is_not_spoken_of(tree: Path) -> None:
    assert not any("log" in note for note in told(tree, {"depth": 1}, 200, '{"ok": true}', "").notes)


def test_hostile_logs(tree: Path) -> None:
    for path in ("../../../etc/passwd", "/", "", "\x00.py", "a" * 900 + ".py"):
        log = f'Traceback (most recent call last):\n  File "{path}", line 1, in f\n    x\nValueError: v\n'
        assert told(tree, {}, 500, "", log).sites == ()


def test_an_answer_that_names_what_the_tree_lacks_gets_no_site(tree: Path) -> None:
    """Validation libraries print validators and classes, frameworks the file of the route."""
    plain = {"type": "int_parsing", "loc": ["body", "depth"], "msg": "Input should be a valid integer", "input": "x"}
    for strange in ("function-after[check_pen(), Order]", ""):
        loc = ["body", strange, "depth"] if strange else plain["loc"]
        found = told(tree, {"depth": "x"}, 422, json.dumps({"detail": [{**plain, "loc": loc}]}), "")
        assert bool(found.sites) != bool(strange), found
        assert found.fields[0].pointer == "/depth"
    text = "1 validation error for BrushOrder\ndepth\n  Input should be a valid integer [type=int_parsing]"
    found = told(tree, {"depth": "x"}, 400, json.dumps({"error": text}), "")
    assert found.sites == ()
    assert any("BrushOrder" in note for note in found.notes)


def test_a_trace_through_another_route_is_another_request(tree: Path) -> None:
    other = traceback(
        frame(tree, "api.py", "return run(order)", "sweep", shift=5),
        frame(tree, "engine.py", "colour = TABLE[order.shade]", "run"),
        error="KeyError: 'mauve'",
    )
    assert f"line {line_of(tree, 'api.py', 'async def sweep') + 1}, in sweep" in other
    assert told(tree, {"shade": "grey"}, 500, "", other).sites == ()
    assert told(tree, {"shade": "grey"}, 500, "", other, path="/sweep").sites != ()
