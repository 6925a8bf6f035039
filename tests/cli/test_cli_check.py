from __future__ import annotations

from pathlib import Path

from running import run

from llmdebug.demo.server import SOURCE, DemoServer

REQUESTS = """\
### good
POST http://127.0.0.1:9/v1/completions
Content-Type: application/json

{"model": "alice", "prompt": "Hi", "max_tokens": 4}

### ids
POST http://127.0.0.1:9/v1/completions
Content-Type: application/json

{"model": "alice", "prompt_token_ids": [1, 2], "max_tokens": 4}

### vain
POST http://127.0.0.1:9/v1/completions
Content-Type: application/json

{"model": "alice", "prompt": "Hi", "max_tokens": 4, "colour": "red"}
"""


def written(folder: Path) -> str:
    path = folder / "requests.http"
    path.write_text(REQUESTS)
    return str(path)


async def test_all_requests_of_a_file_are_checked(tmp_path: Path) -> None:
    done = await run("check", written(tmp_path), "--source", str(SOURCE), "--json")
    good, ids, vain = done.lines
    assert done.code == 1
    assert good["kind"] == "none" and not good["ignored"] and not good["remedies"]
    assert ids["kind"] == "missing_field" and ids["fields"][0]["pointer"] == "/prompt"
    assert ids["ignored"] == ["/prompt_token_ids"]
    assert ids["sites"][0]["symbol"] == "CompletionRequest.prompt"
    assert ids["remedies"][0]["requests"][0]["body"]["prompt"] == [1, 2]
    assert vain["kind"] == "ignored_field" and vain["ignored"] == ["/colour"]


async def test_a_request_that_will_be_taken(tmp_path: Path) -> None:
    done = await run("check", f"{written(tmp_path)}#vain", "--source", str(SOURCE))
    assert done.code == 0
    assert "/colour will have no effect" in done.out.decode()


async def test_without_a_source_there_is_nothing_to_check_against(tmp_path: Path) -> None:
    done = await run("check", f"{written(tmp_path)}#good", env={"XDG_STATE_HOME": str(tmp_path)})
    assert done.code == 2
    assert done.says("--source TREE")


async def test_a_given_source_is_remembered_for_the_server(tmp_path: Path) -> None:
    """As sending does; not where nothing may be kept."""
    request, env = f"{written(tmp_path)}#good", {"LLMDEBUG_STATE_DIR": str(tmp_path / "state")}
    unkept = await run("check", request, "--source", str(SOURCE), env={**env, "LLMDEBUG_RECORD": "false"})
    assert unkept.code == 0 and (await run("check", request, env=env)).code == 2
    assert (await run("check", request, "--source", str(SOURCE), env=env)).code == 0
    again = await run("check", request, "--json", env=env)
    assert again.code == 0 and again.lines[0]["summary"].startswith("Nothing in the linked source speaks against")


async def test_a_source_that_tells_nothing_is_no_clean_bill(tmp_path: Path) -> None:
    """Of several, one that tells something is enough."""
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "server.py").write_text("def post(:")
    request = f"{written(tmp_path)}#good"
    done = await run("check", request, "--source", str(broken), "--json")
    assert done.code == 2 and done.lines[0]["notes"] == [
        "the linked source broken tells nothing: no file can be parsed (server.py: line 1: invalid syntax)"
    ]
    both = await run("check", request, "--source", str(broken), "--source", str(SOURCE))
    assert both.code == 0 and b"the linked source broken tells nothing" in both.out


async def test_an_answer_tells_of_a_source_that_tells_nothing(nanoserve: DemoServer, tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "notes.txt").write_text("no code")
    words = ("--base-url", nanoserve.base_url, "--source", str(tmp_path / "tree"))
    done = await run("send", f"{written(tmp_path)}#good", *words)
    assert done.code == 0 and done.says("the linked source tree tells nothing: it holds no source of a server")
    linked = await run("link", nanoserve.base_url, "--source", str(tmp_path / "tree"))
    assert linked.code == 2 and linked.says("the linked source tree tells nothing: it holds no source of a server")


async def test_an_accepted_request_tells_what_had_no_effect(tmp_path: Path) -> None:
    path = written(tmp_path)
    with DemoServer() as server:
        vain = await run("send", f"{path}#vain", "--url", server.base_url, "--source", str(SOURCE))
        good = await run("send", f"{path}#good", "--url", server.base_url, "--source", str(SOURCE))
    assert vain.code == good.code == 0
    assert vain.says("/colour is not taken here: it had no effect")
    assert "kind:" not in good.err


async def test_curl_commands_are_read_as_such(tmp_path: Path) -> None:
    script = tmp_path / "one.sh"
    command = "curl http://h/v1/completions -H 'Authorization: Bearer sk-secret123' --json '{\"prompt_ids\": [1]}'\n"
    script.write_text(command)
    done = await run("check", str(script), "--source", str(SOURCE))
    assert done.code == 1
    assert b"POST http://h/v1/completions" in done.out
    assert b"sk-secret123" not in done.out + done.err.encode()
    (tmp_path / "one.http").write_text(command)
    done = await run("send", str(tmp_path / "one.http"))
    assert (done.code, done.out) == (2, b"")
    assert done.says("one.http:1", "curl command")
    script.write_text(command * 2)
    done = await run("send", str(script), "--dry-run")
    assert done.code == 2
    assert done.says("2 requests", "#NAME", "1, 2")


async def test_a_file_without_requests_is_no_success(tmp_path: Path) -> None:
    for text in ("", "###\n", "### a\n"):
        (tmp_path / "none.http").write_text(text)
        done = await run("check", str(tmp_path / "none.http"), "--source", str(SOURCE))
        assert done.code == 2
        assert done.says("There is no request in it")
