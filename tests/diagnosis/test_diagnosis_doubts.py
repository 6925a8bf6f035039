from __future__ import annotations

from llmdebug.diagnosis.doubts import Doubts, lowered, request_key, untried_first
from llmdebug.diagnosis.finding import Finding, blamed
from llmdebug.diagnosis.verdict import Remedy, RemedyRequest

TEXT = "shade is not supported and must be one of grey, blue; depth is too large"


def finding() -> Finding:
    return Finding("unsupported", [blamed("/shade", "why", 0.8)], confidence=0.9)


def test_a_refuted_kind_gives_way_to_another_that_the_words_admit() -> None:
    found = lowered(finding(), Doubts(kinds=frozenset({"unsupported"})), TEXT)
    assert (found.kind, found.confidence, found.fields[0].confidence) == ("out_of_range", 0.45, 0.4)
    assert "refuted unsupported" in found.notes[0]
    assert found.refuted == ["unsupported"]
    spent = lowered(finding(), Doubts(kinds=frozenset({"unsupported", "out_of_range"})), TEXT)
    assert spent.kind == "unsupported"


def test_another_kind_is_no_reason_to_doubt() -> None:
    assert lowered(finding(), Doubts(kinds=frozenset({"conflict"})), TEXT) == finding()


def test_what_was_refused_comes_last() -> None:
    first, second = (RemedyRequest(method="POST", url="http://h", body={"n": n}) for n in (1, 2))
    remedies = (Remedy(title="a", why="A.", requests=(first,)), Remedy(title="b", why="B.", requests=(second,)))
    doubts = Doubts(requests=frozenset({request_key(first)}))
    assert [r.title for r in untried_first(remedies, doubts)] == ["b", "a"]
    assert "sent before" in untried_first(remedies, doubts)[1].why
    assert untried_first(remedies, Doubts()) == remedies
