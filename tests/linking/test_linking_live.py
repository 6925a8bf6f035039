"""The tree against the server that runs: a difference is said in every diagnosis."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from answering import AnsweringServer
from hypothesis import given
from hypothesis import strategies as st

from llmdebug.cli.main import application
from llmdebug.debugger.session import Finding, Session
from llmdebug.demo.server import SOURCE, DemoServer
from llmdebug.diagnosis.drift import LEAD, same_version
from llmdebug.http.exchange import Request
from llmdebug.linking.live import live_of
from llmdebug.linking.server import Server

HEADERS = (("Content-Type", "application/json"),)


async def diagnosed(
    url: str, source: Path, path: str = "/v1/completions", body: bytes = b'{"model": "m"}', **options: Any
) -> Finding:
    async with Session(base_url=url, sources=[source], keep=False, **options) as session:
        sent = await session.send(Request(method="POST", url=url + path, headers=HEADERS, body=body))
        return await session.diagnose(sent)


def drift(finding: Finding) -> list[str]:
    found = [note for note in finding.diagnosis.notes if note.startswith(LEAD)]
    assert found == [step.text for step in finding.diagnosis.trail if step.text.startswith(LEAD)]
    return found


@pytest.mark.parametrize("path", ["/v1/completions", "/v1/chat/completions", "/generate", "/tokenize", "/nowhere"])
async def test_the_tree_that_runs_gives_no_finding(nanoserve: DemoServer, path: str) -> None:
    assert drift(await diagnosed(nanoserve.base_url, SOURCE, path)) == []


async def test_a_good_answer_is_told_too(nanoserve: DemoServer, tmp_path: Path) -> None:
    body = b'{"model": "alice", "prompt": "a", "max_tokens": 1}'
    finding = await diagnosed(nanoserve.base_url, changed(tmp_path, 'post("/generate"', 'post("/produce"'), body=body)
    assert finding.diagnosis.kind == "none"
    (told,) = drift(finding)
    assert told.startswith(f"{LEAD}: of the ") and told.endswith("1 is not registered in it: POST /generate")


def changed(folder: Path, old: str, new: str) -> Path:
    """The demo's source with a text replaced wherever it stands."""
    tree = folder / "nanoserve"
    shutil.copytree(SOURCE, tree, ignore=shutil.ignore_patterns("__pycache__"))
    count = 0
    for path in tree.glob("*.py"):
        text = path.read_text()
        count += text.count(old)
        path.write_text(text.replace(old, new))
    assert count
    return tree


async def test_a_field_in_one_and_not_in_the_other_is_told(nanoserve: DemoServer, tmp_path: Path) -> None:
    tree = changed(tmp_path, "    echo: bool = False\n", "    repeat: bool = False\n")
    assert drift(await diagnosed(nanoserve.base_url, tree)) == [
        f"{LEAD}: the server takes echo where protocol.py declares no such field",
        f"{LEAD}: CompletionRequest in protocol.py declares repeat, which the server does not take",
    ]


async def test_a_route_that_only_the_tree_has_is_told_where_the_server_does_not_know_it(
    nanoserve: DemoServer, tmp_path: Path
) -> None:
    tree = changed(tmp_path, 'post("/generate"', 'post("/produce"')
    told = drift(await diagnosed(nanoserve.base_url, tree, "/produce"))
    assert "native_routes.py" in told[1] and "registers POST /produce, which the server does not describe" in told[1]


@pytest.fixture
def stated() -> dict[str, Any]:
    """Answers of a server that says it is SGLang 0.5.8."""
    return {
        "/v1/models": {"data": [{"id": "m", "owned_by": "sglang"}]},
        "/server_info": {"version": "0.5.8", "tokenizer_path": "t"},
        "/v1/completions": {"ok": True},
    }


def tree_of_version(folder: Path, version: str) -> Path:
    (folder / "sglang").mkdir()
    (folder / "sglang" / "app.py").write_text("x = 1\n")
    (folder / f"sglang-{version}.dist-info").mkdir()
    return folder / "sglang"


async def test_another_version_is_told_with_what_to_link(stated: dict[str, Any], tmp_path: Path) -> None:
    with AnsweringServer(stated) as server:
        (told,) = drift(await diagnosed(server.url, tree_of_version(tmp_path, "0.5.23")))
    assert told == (
        f"{LEAD}: the server says it is SGLang 0.5.8, the linked source is sglang 0.5.23. "
        "--source auto, or pypi:sglang==0.5.8, links that of the server"
    )


def test_link_itself_tells_of_another_version(
    stated: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = tree_of_version(tmp_path, "0.5.23")
    (tree / "app.py").write_text("@app.post('/v1/x')\ndef x(): ...\n")
    with AnsweringServer(stated) as server, pytest.raises(SystemExit) as ended:
        application(["link"])(["link", server.url, "--source", str(tree)])
    assert not ended.value.code
    assert "the server says it is SGLang 0.5.8, the linked source is sglang 0.5.23" in capsys.readouterr().err


async def test_the_same_version_and_no_probe_give_no_finding(stated: dict[str, Any], tmp_path: Path) -> None:
    tree = tree_of_version(tmp_path, "0.5.8")
    with AnsweringServer(stated) as server:
        assert drift(await diagnosed(server.url, tree)) == []
        stated["/server_info"]["version"] = "9"
        server.asked.clear()
        assert drift(await diagnosed(server.url, tree, probing=False)) == []
        assert server.asked == [("POST", "/v1/completions")]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [("0.5.8", "0.5.8+cu129", True), ("1.0", "1.0.0", True), ("0.5.1", "0.5.10", False), ("b12", "b12", True), ("b12", "b13", False)],
)  # fmt: skip
def test_versions_are_compared_without_their_build(one: str, other: str, same: bool) -> None:
    assert same_version(one, other) is same


JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=4) | st.just("#/paths/~1a/post"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "paths",
                    "/a",
                    "post",
                    "requestBody",
                    "content",
                    "application/json",
                    "schema",
                    "$ref",
                    "allOf",
                    "properties",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
)


@given(JSON)
def test_any_description_is_borne(document: Any) -> None:
    live_of(Server(openapi=json.loads(json.dumps(document))), None)
