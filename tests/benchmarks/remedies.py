"""How many refusals of the demo's server are answered with a 2xx by the first remedy, or by one of the first two.

    python tests/benchmarks/remedies.py [--models] [NAME…]

`--models` lets the remedies know what /v1/models lists, as a debugger beside a running server does.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path

import httpx

sys.path.insert(0, str(Path(__file__).parent.parent / "demo"))

from refusals import REFUSALS, Refusal

from llmdebug.demo.server import SOURCE, DemoServer
from llmdebug.diagnosis.complaint import read_answer
from llmdebug.diagnosis.diagnose import look
from llmdebug.diagnosis.ground import Ground, ground_of
from llmdebug.diagnosis.question import ask
from llmdebug.diagnosis.remedies.build import remedies
from llmdebug.diagnosis.verdict import Kind, Remedy
from llmdebug.http.exchange import Exchange, Request, Response
from llmdebug.index.build import open_index
from llmdebug.source.tree import open_tree

KEY = "k"


def send(client: httpx.Client, method: str, url: str, headers: dict[str, str], body: bytes) -> Response:
    answer = client.request(method, url, headers=headers, content=body)
    return Response(status=answer.status_code, headers=tuple(answer.headers.items()), body=answer.content)


def is_answered(client: httpx.Client, remedy: Remedy) -> bool:
    """Whether each of a remedy's requests gets a 2xx without an error inside; advice never does."""
    for request in remedy.requests:
        headers = {name: value.replace("{{secret:API_KEY}}", KEY) for name, value in request.headers.items()}
        body = b"" if request.body is None else json.dumps(request.body, allow_nan=False).encode()
        if read_answer(send(client, request.method, request.url, headers, body)).refused:
            return False
    return bool(remedy.requests)


def tried(
    client: httpx.Client, ground: Ground, base_url: str, refusal: Refusal, models: tuple[str, ...]
) -> tuple[Kind, list[tuple[str, bool]]]:
    """The kind that was found, and the first two remedies with whether they were answered."""
    request = Request(
        method=refusal.method,
        url=base_url + refusal.path,
        headers=tuple(refusal.all_headers.items()),
        body=refusal.content,
    )
    response = send(client, request.method, request.url, refusal.all_headers, request.body)
    question = ask(Exchange(request=request, response=response))
    assert question is not None
    seen = look(ground, question)
    found = remedies(question, seen.finding, ground, seen.registered, models)
    return seen.finding.kind, [(remedy.title, is_answered(client, remedy)) for remedy in found[:2]]


def main(arguments: list[str]) -> None:
    models = ("alice",) if "--models" in arguments else ()
    names = [argument for argument in arguments if not argument.startswith("--")]
    ground = ground_of(open_index(open_tree(str(SOURCE))))
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    with ExitStack() as stack:
        client = stack.enter_context(httpx.Client(timeout=30, trust_env=False))
        servers: dict[str, DemoServer] = {}
        for refusal in (r for r in REFUSALS if not names or any(name in r.name for name in names)):
            flags = json.dumps(refusal.flags, sort_keys=True)
            if flags not in servers:
                servers[flags] = stack.enter_context(DemoServer(**refusal.flags))
            kind, outcomes = tried(client, ground, servers[flags].base_url, refusal, models)
            answered = [ok for _, ok in outcomes]
            for row in (counts[kind], counts["all"]):
                row[0] += 1
                row[1] += answered[:1] == [True]
                row[2] += any(answered)
            if not any(answered) or names:
                print(f"{refusal.name:45} {kind:15}", " | ".join(f"{'+' if ok else '-'} {t}" for t, ok in outcomes))
    print(f"\n{'kind':20}{'refusals':>10}{'first':>10}{'first two':>12}")
    for name, (total, first, two) in sorted(counts.items(), key=lambda item: (item[0] == "all", item[0])):
        print(f"{name:20}{total:>10}{100 * first / total:>9.0f}%{100 * two / total:>11.0f}%")


if __name__ == "__main__":
    main(sys.argv[1:])
