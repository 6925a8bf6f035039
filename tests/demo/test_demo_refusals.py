from __future__ import annotations

import ast

import pytest
from refusals import REFUSALS, Refusal
from truth import Site, Truth, make_app, true_site, truth

from llmdebug.demo.server import SOURCE

AT_START = {"app.py": "invalid tool call parser", "tokenizer.py": "KeyError(token)"}
"""Raises that no request can reach, by a piece of their text."""


@pytest.fixture(scope="module")
def truths() -> dict[str, Truth]:
    return {refusal.name: truth(make_app(refusal), refusal) for refusal in REFUSALS}


def source_line(site: Site) -> str:
    return (SOURCE / site.file).read_text(encoding="utf-8").splitlines()[site.line - 1].strip()


def test_names_are_unique() -> None:
    assert len({refusal.name for refusal in REFUSALS}) == len(REFUSALS)


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: refusal.name)
def test_refusal_is_answered_as_listed(refusal: Refusal, truths: dict[str, Truth]) -> None:
    found = truths[refusal.name]
    assert found.status == refusal.status
    assert refusal.says in found.text.replace('\\"', '"')


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: refusal.name)
def test_refusal_has_a_true_site(refusal: Refusal, truths: dict[str, Truth]) -> None:
    sites = truths[refusal.name].sites
    assert bool(sites) == refusal.in_tree
    assert all(source_line(site) for site in sites)


@pytest.mark.parametrize(
    ("name", "file", "line"),
    [
        ("completion-token-ids-in-a-field-of-their-own", "protocol.py", "prompt: str | list[str] | list[int]"),
        ("completion-model-missing", "protocol.py", "model: str"),
        ("chat-part-without-type", "protocol.py", "type: str"),
        ("chat-tools", "serving_chat.py", 'return "tool choice requires'),
        ("chat-two-users", "templates/chatml.jinja", "{{- raise_exception('Conversation roles"),
        ("chat-arguments-broken", "serving_chat.py", "arguments = json.loads("),
        ("chat-response-format-text", "protocol.py", 'kind = response_format.get("type")'),
        ("completion-bias-large", "protocol.py", "assert -100 <= bias <= 100"),
        ("completion-bias-in-stream", "engine.py", 'raise ValueError(f"token_id'),
        ("completion-context", "serving.py", "raise ContextLengthError("),
        ("generate-temperature-text", "sampling.py", "if not 0.0 <= self.temperature <="),
        ("generate-unknown-param", "serving_generate.py", "params = SamplingParams(**"),
        ("key-missing", "middleware.py", "return error_json("),
        ("form-instead-of-json", "middleware.py", "raise HTTPException("),
        ("completions-by-get", "openai_routes.py", '@router.post("/completions"'),
        ("completion-broken-json", "openai_routes.py", "async def create_completion("),
        ("server-info-format", "native_routes.py", "async def server_info("),
        ("tokenizer-info-not-enabled", "app.py", "if settings.enable_tokenizer_info_endpoint:"),
    ],
)
def test_true_site_of_each_kind(name: str, file: str, line: str) -> None:
    refusal = next(refusal for refusal in REFUSALS if refusal.name == name)
    site = true_site(make_app(refusal), refusal)
    assert site is not None
    assert site.file == file
    assert source_line(site).startswith(line)


def test_twins_are_told_apart(truths: dict[str, Truth]) -> None:
    for one, other in (
        ("completion-stream-options-alone", "chat-stream-options-alone"),
        ("completion-prompt-empty", "generate-prompt-empty"),
    ):
        first, second = truths[one].sites[0], truths[other].sites[0]
        assert first != second
        assert source_line(first) == source_line(second)


def test_every_raise_of_the_server_is_reached(truths: dict[str, Truth]) -> None:
    reached = {site for found in truths.values() for site in found.sites}
    missed = [
        (path.name, ast.unparse(node))
        for path in SOURCE.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Raise | ast.Assert) and Site(path.name, node.lineno) not in reached
    ]
    assert len(missed) == len(AT_START)
    assert all(AT_START[file] in text for file, text in missed)


def test_every_answer_built_by_the_server_is_reached(truths: dict[str, Truth]) -> None:
    reached = {site for found in truths.values() for site in found.sites}
    builders = {"exception_handlers.py", "sse.py"}
    for path in SOURCE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if called == "create_error_response" and path.name not in builders:
                assert Site(path.name, node.lineno) in reached  # type: ignore[attr-defined]
