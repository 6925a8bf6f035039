"""The tokenizer's process: its answers, its end, and a loop that goes on meanwhile."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from vocabularies import CHATML

from llmdebug.tokens import process
from llmdebug.tokens.process import LocalTokenizer
from llmdebug.tokens.tokenizer import Tokenizer
from llmdebug.tokens.values import Chat, Reading, TemplateFault, TokenizerError

USER = {"role": "user", "content": "Hello"}
ENDLESS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"


async def test_answers_are_those_of_the_tokenizer(
    folders: Mapping[str, Path], tokenizers: Mapping[str, Tokenizer]
) -> None:
    stages: list[str] = []
    name = str(folders["unigram"])
    async with await LocalTokenizer.load(name, progress=stages.append) as local:
        assert stages == ["loading transformers", "loading the tokenizer"]
        assert local.vocabulary == tokenizers["unigram"].vocabulary
        texts = ["The Queen of Hearts", "", "你好", "a" * 10_000]
        readings = await asyncio.gather(*(local.encode(text, special=True) for text in texts))
        assert list(readings) == [tokenizers["unigram"].encode(text, special=True) for text in texts]
        ids = [5, -1, 10**30, 7]
        assert (await local.decode(ids)).cells.ids == tuple(ids)
        assert (await local.decode(ids)).cells.outside() == (1, 2)


async def test_a_conversation_is_rendered_or_faulty(folders: Mapping[str, Path]) -> None:
    """Also where a template asks for more memory than there is."""
    async with await LocalTokenizer.load(str(folders["byte_level"])) as local:
        rendered = await local.render(Chat(messages=[USER]))
        assert isinstance(rendered, Reading) and rendered.text == "<s>user: Hello<s>assistant: "
        assert rendered.cells.marks.count("s") == 2
        refused = await local.render(Chat(messages=[USER, {"role": "system", "content": ""}]), CHATML)
        assert isinstance(refused, TemplateFault) and refused.index == 1
        hungry = await local.render(Chat(messages=[USER]), "{{ 'a' * (10 ** 12) }}")
        assert isinstance(hungry, TemplateFault) and "memory" in hungry.message


async def test_a_conversation_of_any_values_is_given_to_the_template(folders: Mapping[str, Path]) -> None:
    """Numbers of any length; what is no text, or too deep, is told."""
    deep: object = "a"
    for _ in range(3_000):
        deep = [deep]
    async with await LocalTokenizer.load(str(folders["byte_level"])) as local:
        wide = await local.render(Chat(messages=[{"role": "user", "content": 10**30}]), "{{ messages[0].content }}")
        assert isinstance(wide, Reading) and wide.text == "1" + "0" * 30
        with pytest.raises(TokenizerError, match="half a surrogate pair"):
            await local.render(Chat(messages=[{"role": "user", "content": "\ud800"}]))
        with pytest.raises(TokenizerError, match="half a surrogate pair"):
            await local.render(Chat(messages=[USER]), "\ud800")
        with pytest.raises(TokenizerError, match="nested too deep"):
            await local.render(Chat(messages=[{"role": "user", "content": deep}]))
        assert local.is_alive


async def test_what_cannot_be_loaded_is_a_sentence_and_leaves_no_process(tmp_path: Path) -> None:
    with pytest.raises(TokenizerError, match="no tokenizer in this folder"):
        await LocalTokenizer.load(str(tmp_path))


async def test_an_endless_template_is_stopped_and_the_tokenizer_goes_on(
    folders: Mapping[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "RENDER_S", 0.3)
    stages: list[str] = []
    async with await LocalTokenizer.load(str(folders["byte_level"])) as local:
        stopped = await local.render(Chat(messages=[USER]), ENDLESS, progress=stages.append)
        assert isinstance(stopped, TemplateFault) and stopped.line == 1
        assert stopped.told == "the chat template does not end: it was stopped after 0.3 s"
        assert (stopped.place, stages) == (
            f"line 1 of chat_template of the request: {ENDLESS}",
            ["rendering the chat template, chat_template of the request"],
        )
        assert (await local.encode("a")).cells.ids


async def test_what_cannot_be_stopped_is_ended_and_named(
    folders: Mapping[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that does not even listen to its clock."""
    monkeypatch.setattr(process, "RENDER_S", 0.3)
    async with await LocalTokenizer.load(str(folders["byte_level"])) as local:
        freeze = lambda stage: local._process.send_signal(signal.SIGSTOP)  # noqa: E731
        with pytest.raises(TokenizerError, match=r"within 0\.6 s, so it was stopped: rendering the chat template, c"):
            await local.render(Chat(messages=[USER]), ENDLESS, progress=freeze)
        assert not local.is_alive
        with pytest.raises(TokenizerError, match="load the tokenizer again"):
            await local.encode("a")


def peak_of(pid: int) -> int:
    """The most memory that a process had, in KiB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))


async def test_a_template_that_doubles_a_text_is_stopped_early(folders: Mapping[str, Path]) -> None:
    doubling = "{% set ns = namespace(s='a') %}{% for n in range(90) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}"
    async with await LocalTokenizer.load(str(folders["byte_level"])) as local:
        stopped = await local.render(Chat(messages=[USER]), doubling)
        assert isinstance(stopped, TemplateFault)
        assert stopped.told == "the chat template wants more than 512 MiB of memory: it was stopped"
        assert peak_of(local._process.pid) < 1_000_000


async def test_a_text_that_is_too_long_is_not_turned_into_ids(folders: Mapping[str, Path]) -> None:
    async with await LocalTokenizer.load(str(folders["byte_level"])) as local:
        with pytest.raises(TokenizerError, match="has 20,000,000 bytes; at most 10,000,000"):
            await local.encode("ö" * 10_000_000)
        with pytest.raises(TokenizerError, match="of the request, makes 50,000,000 characters; at most 10,000,000"):
            await local.render(Chat(messages=[USER]), "{{ 'a' * 50000000 }}")


async def test_cancelling_ends_the_process(folders: Mapping[str, Path]) -> None:
    local = await LocalTokenizer.load(str(folders["byte_level"]))
    asked = asyncio.create_task(local.render(Chat(messages=[USER]), ENDLESS))
    await asyncio.sleep(0)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert not local.is_alive


async def test_a_process_that_dies_is_a_sentence(folders: Mapping[str, Path]) -> None:
    local = await LocalTokenizer.load(str(folders["byte_level"]))
    asked = asyncio.create_task(local.render(Chat(messages=[USER]), ENDLESS))
    await asyncio.sleep(0)
    local._process.kill()
    with pytest.raises(TokenizerError, match="ended before it answered"):
        await asked


def hub_cache(folder: Path, home: Path) -> str:
    """A tokenizer as the hub's client keeps it; its id."""
    kept = home / "hub" / "models--small--model"
    snapshot = kept / "snapshots" / ("a" * 40)
    shutil.copytree(folder, snapshot)
    (kept / "refs").mkdir()
    (kept / "refs" / "main").write_text("a" * 40)
    (snapshot / "config.json").write_text('{"max_position_embeddings": 77}')
    return "small/model"


async def test_a_hub_id_is_read_from_the_local_cache(
    folders: Mapping[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    name = hub_cache(folders["byte_level"], tmp_path)
    async with await LocalTokenizer.load(name) as local:
        assert (local.vocabulary.size, local.vocabulary.place, local.vocabulary.limit) == (600, name, 77)
        assert local.vocabulary.has_template


async def test_a_hub_that_cannot_be_reached_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(TokenizerError, match=r"not in the local cache, and the hub .* cannot be reached"):
        await LocalTokenizer.load("small/nothing", hub=True)


ORPHAN = """
import asyncio, sys
from llmdebug.tokens.process import LocalTokenizer
from llmdebug.tokens.values import Chat

async def main():
    local = await LocalTokenizer.load(sys.argv[1])
    print(local._process.pid, flush=True)
    await local.render(Chat(messages=[{"role": "user", "content": ""}]), sys.argv[2])

asyncio.run(main())
"""


async def test_the_process_ends_when_llmdebug_is_killed(folders: Mapping[str, Path]) -> None:
    words = [sys.executable, "-c", ORPHAN, str(folders["byte_level"]), ENDLESS]
    parent = await asyncio.create_subprocess_exec(*words, stdout=asyncio.subprocess.PIPE)
    assert parent.stdout is not None
    pid = int(await parent.stdout.readline())
    watched, ended = os.pidfd_open(pid), asyncio.Event()
    asyncio.get_running_loop().add_reader(watched, ended.set)
    try:
        parent.kill()
        await parent.wait()
        await asyncio.wait_for(ended.wait(), 30)
    finally:
        asyncio.get_running_loop().remove_reader(watched)
        os.close(watched)
