"""`llmdebug tokens`, as people and programs run it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from running import run

from llmdebug.cli.connection import Connection
from llmdebug.cli.guard import CommandError
from llmdebug.cli.token_report import report_text
from llmdebug.cli.tokenizing import Wanted, show_tokens
from llmdebug.config.load import load_settings
from llmdebug.demo import model
from llmdebug.demo.server import REQUESTS, DemoServer
from llmdebug.tokens.prompts import Budget, Prompt
from llmdebug.tokens.report import PromptTokens, TokenReport
from llmdebug.tokens.values import Cells, Difference, Reading, TokenizerError

DEMO = ("tokens", "--tokenizer", str(model.FOLDER))


async def test_a_text_becomes_ids() -> None:
    done = await run(*DEMO, "--text", "-", "--json", stdin="The White 你".encode())
    assert done.code == 0, done.err
    (told,) = done.lines
    prompt = told["prompts"][0]
    assert told["schema"] == "llmdebug.tokens/1" and told["tokenizer"]["size"] == 1536
    assert [token["id"] for token in prompt["tokens"]][:2] == [361, 836]
    assert prompt["tokens"][-1] == {"id": 257, "text": "\\xa0", "kind": "part of a character", "bytes": "a0"}
    assert (prompt["count"], prompt["difference"], told["limit"]) == (6, None, 256)


async def test_ids_become_text_and_those_out_of_the_vocabulary_are_told() -> None:
    done = await run(*DEMO, "--ids", "[361, 836, 16331, -1]")
    assert done.code == 1
    out = done.out.decode()
    assert "Out of the vocabulary: 16331 at position 2, -1 at position 3." in out
    assert 'text: "The White"' in out


async def test_the_chat_of_a_request_is_rendered_with_the_served_tokenizer(nanoserve: DemoServer) -> None:
    done = await run("tokens", "--request", f"{REQUESTS}#chat-stream", "--base-url", nanoserve.base_url, "--rendered")
    assert (done.code, done.out.decode()) == (
        0,
        "<|im_start|>user\nWho are you?<|im_end|>\n<|im_start|>assistant\n\n",
    )


async def test_a_template_s_refusal_names_the_message_and_the_line() -> None:
    done = await run(*DEMO, "--request", f"{REQUESTS}#roles", "--base-url", "http://127.0.0.1:9")
    assert done.code == 1
    assert "/messages/1: the chat template refuses: Conversation roles must alternate" in done.out.decode()
    assert f"line 6 of {model.FOLDER / 'chat_template.jinja'}: {{{{- raise_exception(" in done.out.decode()


async def test_send_warns_of_ids_without_a_token_and_weighs_the_refusal(nanoserve: DemoServer) -> None:
    request = f"{REQUESTS}#ids-of-another-model"
    done = await run("send", request, "--base-url", nanoserve.base_url, "--source", str(nanoserve.source))
    assert done.code == 1
    assert done.says("WARNING: /prompt holds ids out of the vocabulary of 1,536: 5072 at position 1")
    assert done.says("/prompt/2: 16331 is out of the vocabulary", "leave out the 2 ids that have no token")


async def test_recorded_exchanges_are_weighed_with_a_tokenizer(nanoserve: DemoServer) -> None:
    request = f"{REQUESTS}#ids-of-another-model"
    words = ["-", "--request", request, "--status", "422", "--source", str(nanoserve.source), "--json"]
    refusal = b'{"error": {"message": "Token id 5072 is out of vocabulary, ids are below 1536", "code": 422}}'
    done = await run("diagnose", *words, "--tokenizer", str(model.FOLDER), stdin=refusal)
    assert done.code == 0, done.err
    assert [field["pointer"] for field in done.lines[0]["fields"]] == ["/prompt/1", "/prompt/2"]
    broken = await run("diagnose", *words, "--tokenizer", "/nowhere", stdin=refusal)
    assert "there is no such folder or file" in broken.lines[0]["notes"][-1]


async def test_a_server_that_is_not_there_is_told() -> None:
    """Not that it would not say where its tokenizer is; nobody was asked where nobody may be."""
    done = await run("tokens", "--text", "a", "--base-url", "http://127.0.0.1:9")
    assert done.code == 3 and not done.out
    assert done.says("nothing to count tokens with. 127.0.0.1:9 refused the connection", "--tokenizer")
    unasked = await run("tokens", "--text", "a", "--base-url", "http://127.0.0.1:9", "--no-probe")
    assert unasked.code == 2 and unasked.says("The server was not asked what it is", "--tokenizer")
    given = await run(*DEMO, "--text", "a", "--base-url", "http://127.0.0.1:9")
    assert given.code == 0


async def test_a_text_that_is_no_utf_8_is_a_sentence() -> None:
    done = await run(*DEMO, "--text", "-", stdin=b"a\xff")
    assert done.code == 2 and done.says("stdin is no UTF-8: byte 1")


async def test_half_a_surrogate_pair_in_a_body_is_told_where_it_stands(tmp_path: Path) -> None:
    file = tmp_path / "r.http"
    file.write_text('POST http://127.0.0.1:9/v1/completions\nContent-Type: application/json\n\n{"prompt":"a\\ud800"}')
    done = await run(*DEMO, "--request", str(file))
    told = "/prompt: no tokens: Character 1 of the text is half a surrogate pair: no UTF-8."
    assert done.code == 1 and told in done.out.decode()


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (Wanted(tokenizer=""), "one of --text, --ids and --request"),
        (Wanted(tokenizer="", text="a", ids="1"), "one of --text, --ids and --request"),
        (Wanted(tokenizer="", text="a"), "neither a tokenizer nor a server"),
        (Wanted(tokenizer=str(model.FOLDER), ids="1,x"), "'x' is no id"),
        (Wanted(tokenizer=str(model.FOLDER), text="aé\udcffb"), "--text is no UTF-8: byte 3 is none of it"),
        (Wanted(tokenizer=str(model.FOLDER), request=f"{REQUESTS}#models"), "has no body"),
        (Wanted(tokenizer=str(model.FOLDER / "nothing"), text="a"), "there is no such folder or file"),
    ],
)
def test_what_cannot_be_done_is_a_sentence(wanted: Wanted, said: str) -> None:
    base_url = "http://127.0.0.1:9" if wanted.request else None
    connection = Connection(
        base_url=base_url,
        variables=(),
        headers=(),
        api_key_env=None,
        sources=(),
        proxy=None,
        ca_file=None,
        client_cert=None,
        client_key=None,
        insecure=False,
        settings=load_settings(),
    )
    with pytest.raises((CommandError, TokenizerError), match=said):
        show_tokens(wanted, connection, as_json=False)


def test_the_report_tells_all_there_is_to_tell() -> None:
    cells = Cells((1, 2, 99), (b" a\n", b"\xc3", b""), "txo")
    reading = Reading(text=" a\n", cells=cells, difference=Difference(0, "character", "A", "a"))
    prompt = PromptTokens(prompt=Prompt(pointer="/prompt", form="text"), reading=reading, notes=("\x1b[31mred",))
    report = TokenReport(prompts=(prompt,), budget=Budget("/max_tokens", 10), limit=12, limit_from="the server says so")
    assert report_text(report, sys.__stdout__ or sys.stdout).splitlines() == [
        "/prompt: 3 tokens, 25.0% of the context of 12 (the server says so); with /max_tokens 13: 1 too many",
        "Out of the vocabulary: 99 at position 2.",
        'Converted there and back, character 0 differs: "A" became "a".',
        "note: ␛[31mred",
        '0   1  " a\\n"',
        '1   2  "\\xc3"  (broken UTF-8)',
        "2  99    (out of the vocabulary)",
    ]


def counted(budget: Budget, tokens: int) -> str:
    cells = Cells(tuple(range(tokens)), (b"a",) * tokens, "t" * tokens)
    prompt = PromptTokens(prompt=Prompt(pointer="/prompt", form="text"), reading=Reading(text="", cells=cells))
    return TokenReport(prompts=(prompt,), budget=budget, limit=12).counted(prompt)


def test_a_negative_number_of_tokens_to_write_fits_nowhere() -> None:
    negative = Budget("/max_tokens", -8)
    share = "of the context of 12; /max_tokens is -8, which is no number of tokens"
    assert counted(negative, 3) == f"3 tokens, 25.0% {share}: 9 are left to be written"
    assert counted(negative, 15) == f"15 tokens, 125.0% {share}: 4 too many to write one"
    assert counted(Budget("/max_tokens", 9), 3).endswith("with /max_tokens 12: fits")


def modules_of(code: str) -> set[str]:
    """Top-level modules that are loaded after some code."""
    told = "import sys; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{told}"], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_heavy_libraries_stay_in_the_tokenizer_s_process() -> None:
    heavy: set[Any] = {"transformers", "tokenizers", "numpy", "huggingface_hub", "jinja2"}
    starts = ("llmdebug.cli.tokenizing", "llmdebug.debugger.tokenizing", "llmdebug.tui.app", "llmdebug.cli.main")
    for module in starts:
        assert not heavy & modules_of(f"import {module}"), module
