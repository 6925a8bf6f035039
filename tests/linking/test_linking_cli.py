"""The commands and the debugger on sources that are fetched."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from package_index import SMALL, PackageIndex, wheel

from llmdebug.cli.main import COMMANDS, application
from llmdebug.debugger.session import Session
from llmdebug.debugger.sources import remember, remembered
from llmdebug.demo.server import SOURCE, DemoServer
from llmdebug.http.exchange import Request
from llmdebug.linking import shelf
from llmdebug.linking.pipconfig import index_settings
from llmdebug.linking.spec import SourceError, Spec


def refused_request(url: str) -> Request:
    headers = (("Content-Type", "application/json"),)
    return Request(method="POST", url=f"{url}/v1/completions", headers=headers, body=b'{"model": "alice"}')


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        application(list(COMMANDS))(list(words), prog_name="llmdebug")
    told = capsys.readouterr()
    return int(ended.value.code or 0), told.out, told.err


@pytest.fixture
def nano_wheel(index: PackageIndex) -> PackageIndex:
    """An index with the demo's server as a package."""
    files = {f"nanoserve/{path.name}": path.read_bytes() for path in SOURCE.glob("*.py")}
    index.files["nanoserve-1.0-py3-none-any.whl"] = wheel(files, name="nanoserve")
    return index


def test_sources_are_added_listed_verified_and_removed(index: PackageIndex, capsys: pytest.CaptureFixture[str]) -> None:
    index.files["served-1.0-py3-none-any.whl"] = wheel(SMALL)
    assert run(capsys, "sources")[2].startswith("No source is kept in ")
    code, out, _ = run(capsys, "sources", "add", "pypi:served==1.0")
    assert code == 0 and out.startswith("pypi:served==1.0  3 files")
    index.files["bare-1.0-py3-none-any.whl"] = wheel({"bare/core.rs": b"fn main() {}"}, name="bare")
    code, _, err = run(capsys, "sources", "add", "pypi:bare==1.0")
    assert code == 0 and "pypi:bare==1.0 tells nothing: it holds no source of a server" in err
    assert run(capsys, "sources", "remove", "pypi:bare==1.0")[0] == 0
    code, out, _ = run(capsys, "sources", "list", "--json")
    listed = json.loads(out)
    assert (listed["source"]["spec"], listed["source"]["version"]) == ("pypi:served==1.0", "1.0")
    assert run(capsys, "sources", "verify")[1] == "pypi:served==1.0: as it was fetched\n"
    inside = "pypi:served==1.0#nosuch"
    for action in ("add", "verify"):
        code, _, err = run(capsys, "sources", action, inside)
        assert code == 2 and "pypi:served==1.0 has no folder nosuch; its folders are served, served-1.0" in err
    (Path(listed["folder"]) / "served/protocol.py").write_text("x = 1")
    code, _, err = run(capsys, "sources", "verify", "pypi:served==1.0")
    assert code == 2 and "served/protocol.py was changed" in err
    assert run(capsys, "sources", "remove", "pypi:served==1.0")[0] == 0
    assert run(capsys, "sources", "remove", "pypi:served==1.0") == (
        2, "", "llmdebug: pypi:served==1.0 is not in the cache; `llmdebug sources` lists what is.\n",
    )  # fmt: skip
    for words in (("add",), ("add", "/etc"), ("add", "pypi:served==9"), ("list", "x"), ("which",), ("which", "x")):
        code, out, err = run(capsys, "sources", *words)
        assert code == 2 and out == "" and err.count("\n") == 1, err


def test_a_recorded_refusal_is_diagnosed_with_a_fetched_source(
    nano_wheel: PackageIndex, nanoserve: DemoServer, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    answer = tmp_path / "answer.txt"
    answer.write_text('{"error": {"message": "max_tokens must be at least 1", "type": "BadRequestError", "code": 400}}')
    code, out, _ = run(capsys, "diagnose", str(answer), "--status", "400", "--source", "pypi:nanoserve==1.0", "--json")
    assert code == 0 and json.loads(out)["schema"] == "llmdebug.diagnosis/1"
    assert shelf.all_kept()
    code, out, err = run(capsys, "diagnose", str(answer), "--status", "400", "--source", "pypi:nanoserve==2.0")
    assert code == 2 and "has no version 2.0" in err


async def test_a_session_fetches_its_source_when_a_refusal_is_diagnosed(
    nano_wheel: PackageIndex, nanoserve: DemoServer
) -> None:
    url = nanoserve.base_url
    async with Session(base_url=url, sources=["pypi:nanoserve==1.0"]) as session:
        assert not session.trees.trees and not nano_wheel.requests
        sent = await session.send(refused_request(url))
        finding = await session.diagnose(sent)
        assert finding.diagnosis.sites[0].file == "nanoserve/protocol.py"
        assert session.trees.trees[0].name == "pypi:nanoserve==1.0"
    assert remembered(url) == ("pypi:nanoserve==1.0",)
    async with Session(base_url=url) as again:
        assert [link.source for link in again.trees.links] == ["pypi:nanoserve==1.0"]
    shelf.remove(again_spec())
    async with Session(base_url=url) as later:
        assert not later.trees.trees and "llmdebug sources add pypi:nanoserve==1.0" in later.warnings[0]


def again_spec() -> Spec:
    return Spec(scheme="pypi", name="nanoserve", version="1.0")


async def test_a_source_that_cannot_be_had_is_a_warning_beside_the_diagnosis(
    index: PackageIndex, nanoserve: DemoServer
) -> None:
    url = nanoserve.base_url
    async with Session(base_url=url, sources=["pypi:nanoserve==1.0"]) as session:
        sent = await session.send(refused_request(url))
        finding = await session.diagnose(sent)
    assert finding.diagnosis.kind == "missing_field" and not finding.diagnosis.sites
    assert session.warnings[0].startswith("nanoserve is not to be had from http://127.0.0.1")


def test_pip_s_configuration_is_respected(tmp_path: Path) -> None:
    (tmp_path / "xdg" / "pip").mkdir(parents=True)
    (tmp_path / "xdg" / "pip" / "pip.conf").write_text(
        "[global]\nindex-url = https://one/simple\ntimeout = 5\ntrusted_host = a b\n[download]\nfind-links = /wheels\n"
    )
    (tmp_path / "named.conf").write_text("[global]\nindex-url = https://two/simple\n")
    environment = {"XDG_CONFIG_HOME": str(tmp_path / "xdg"), "HOME": str(tmp_path), "XDG_CONFIG_DIRS": str(tmp_path)}
    found = index_settings(environment)
    assert (found.index_urls[0], found.timeout_s, found.trusted_hosts) == ("https://one/simple", 5, ("a", "b"))
    assert found.find_links == ("/wheels",)
    environment["PIP_CONFIG_FILE"] = str(tmp_path / "named.conf")
    assert index_settings(environment).index_urls[0] == "https://two/simple"
    environment["PIP_INDEX_URL"] = "https://three/simple"
    environment["PIP_EXTRA_INDEX_URL"] = "https://four/simple https://five/simple"
    found = index_settings(environment)
    assert found.index_urls == ("https://three/simple", "https://four/simple", "https://five/simple")
    assert index_settings({"PIP_CONFIG_FILE": os.devnull}).index_urls == ("https://pypi.org/simple",)
    (tmp_path / "named.conf").write_text("index-url\n")
    with pytest.raises(SourceError, match=r"pip's configuration cannot be read: .*named\.conf"):
        index_settings(environment)


def test_a_recorded_refusal_is_diagnosed_with_the_source_of_the_running_server(
    nanoserve: DemoServer, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    case = {"request": {"method": "POST", "url": f"{nanoserve.base_url}/v1/completions"}, "response": {"status": 405}}
    entry = case | {"startedDateTime": "2026-01-01T00:00:00Z", "time": 1}
    har = tmp_path / "one.har"
    har.write_text(json.dumps({"log": {"version": "1.2", "entries": [entry]}}))
    code, out, err = run(capsys, "diagnose", str(har), "--source", "auto", "--json")
    assert code == 0 and json.loads(out)["kind"] != "none", err
    (tmp_path / "answer.txt").write_text("no")
    code, _, err = run(capsys, "diagnose", str(tmp_path / "answer.txt"), "--source", "auto")
    assert code == 2 and "give --base-url" in err


def test_link_tells_what_runs_and_links_it(nanoserve: DemoServer, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "link", nanoserve.base_url.removeprefix("http://"))
    assert code == 0 and out.startswith("the demo's server 0.1.0\nmodels  alice\n") and str(SOURCE) in out
    assert run(capsys, "sources", "which", nanoserve.base_url + "/v1")[1] == f"{SOURCE}\n"
    code, out, _ = run(capsys, "link", nanoserve.base_url, "--json", "--no-probe")
    told = json.loads(out)
    assert told["server"]["problem"] and "openapi" not in told["server"]
    code, out, err = run(capsys, "link", "127.0.0.1:1")
    assert code == 2 and "Nothing on this machine listens at port 1" in err and "no source is linked" in out


def test_without_a_source_the_look_of_a_refusal_names_the_family(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    answer = tmp_path / "answer.txt"
    answer.write_text('{"object": "error", "message": "m", "type": "BadRequestError", "param": null, "code": 400}')
    _, out, _ = run(capsys, "diagnose", str(answer), "--status", "400")
    assert "the answer looks like one of SGLang, whose source --source pypi:sglang==VERSION links" in " ".join(
        out.split()
    )


async def test_a_server_whose_source_is_to_be_found_each_time_is_remembered_so(nanoserve: DemoServer) -> None:
    remember(nanoserve.base_url, ["auto"])
    async with Session(base_url=nanoserve.base_url) as session:
        assert list(session.pending) == ["auto"] and not session.trees.trees
        await session.link_given()
        assert not list(session.pending) and session.trees.links[0].folder == str(SOURCE)
