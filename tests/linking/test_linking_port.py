"""From a port to the source of what listens there, over real processes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from answering import AnsweringServer
from package_index import PackageIndex, wheel
from processes import SERVE, SYSTEM_PYTHON, Process, environment, package

from llmdebug.debugger.session import Session
from llmdebug.debugger.sources import remembered
from llmdebug.demo.server import SOURCE, DemoServer
from llmdebug.families.family import SourceOf
from llmdebug.http.exchange import Request
from llmdebug.linking.installed import module_folder, version_of
from llmdebug.linking.linked import Linked
from llmdebug.linking.port import source_at_port, started
from llmdebug.linking.spec import SourceError
from llmdebug.source.tree import TreeError, open_tree

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
NOBODY, SOMEBODY = 65534, 65533


@pytest.fixture(scope="module")
def venv(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """An environment with the package `served` 2.3 and its command `serve-it`."""
    folder = tmp_path_factory.mktemp("venv")
    python, site = environment(folder)
    package(site, command="serve-it")
    script = folder / "bin" / "serve-it"
    script.write_text(f"#!{python}\nfrom served.app import main\nmain()\n")
    script.chmod(0o755)
    (folder / "bin" / "uvicorn").write_text(
        f"#!{python}\nimport sys, importlib\nimportlib.import_module(sys.argv[1].split(':')[0]).main()\n"
    )
    (folder / "bin" / "uvicorn").chmod(0o755)
    return python, site


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may read."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def commands(python: str) -> list[list[str]]:
    bin_folder = str(Path(python).parent)
    return [
        [python, "-m", "served.app"],
        [python, "-X", "utf8", "-u", "-m", "served.app"],
        [f"{bin_folder}/serve-it"],
        [f"{bin_folder}/uvicorn", "served.app:app", "--host", "::"],
    ]


@pytest.mark.parametrize("number", range(4))
def test_a_package_of_another_environment_is_found(venv: tuple[str, Path], number: int) -> None:
    with Process(commands(venv[0])[number]) as server:
        found = source_at_port(server.url)
    assert (Path(found.folder), found.package, found.version) == (venv[1] / "served", "served", "2.3")


def test_a_real_fastapi_application_of_another_environment(venv: tuple[str, Path], tmp_path: Path) -> None:
    (venv[1] / "shop").mkdir()
    (venv[1] / "shop" / "__init__.py").touch()
    (venv[1] / "shop" / "main.py").write_text("from fastapi import FastAPI\napp = FastAPI()\n")
    (venv[1] / "base.pth").write_text(f"{Path(pytest.__file__).parent.parent}\n")
    code = (
        "import socket, sys, uvicorn; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True);"
        "uvicorn.Server(uvicorn.Config(sys.argv[2], log_level='error')).run([s])"
    )
    runner = tmp_path / "uvicorn"
    runner.write_text(f"import sys\nsys.argv.insert(1, '')\n{code}\n")
    with Process([venv[0], str(runner), "shop.main:app"]) as server:
        assert source_at_port(server.url).folder == str(venv[1] / "shop")
    (venv[1] / "base.pth").unlink()


def test_a_family_s_package_is_taken_with_its_folder(venv: tuple[str, Path]) -> None:
    (venv[1] / "served" / "inner").mkdir(exist_ok=True)
    with Process([venv[0], "-m", "served.app"]) as server:
        found = source_at_port(server.url, SourceOf(package="served", folder="inner"))
        assert found.folder.endswith("served/inner") and found.version == "2.3"
        with pytest.raises(SourceError, match="absent is not found in the environment of process"):
            source_at_port(server.url, SourceOf(package="absent"))


def test_workers_share_the_port(venv: tuple[str, Path]) -> None:
    with Process([venv[0], "-m", "served.app"], steps="fork fork") as server:
        assert source_at_port(server.url).package == "served"


SPAWNING = """
import multiprocessing
import socket
import time

def work(port):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port.send(listening.getsockname()[1])
        time.sleep(60)

if __name__ == "__main__":
    here, there = multiprocessing.Pipe()
    context = multiprocessing.get_context("spawn")
    worker = context.Process(target=work, args=(there,), daemon=True)
    worker.start()
    print(here.recv(), flush=True)
    worker.join()
"""


def test_a_spawned_worker_is_what_started_it(tmp_path: Path) -> None:
    script = tmp_path / "serve_it.py"
    script.write_text(SPAWNING)
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline())
            assert source_at_port(f"http://127.0.0.1:{port}").folder == str(tmp_path)
        finally:
            process.terminate()


def test_a_script_serves_from_its_folder(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SERVE)
    with Process([sys.executable, "server.py"], cwd=tmp_path) as server:
        assert source_at_port(server.url).folder == str(tmp_path)
        assert source_at_port(server.url.replace("127.0.0.1", "localhost")).folder == str(tmp_path)


def test_working_folder_and_python_path_come_first(venv: tuple[str, Path], tmp_path: Path) -> None:
    package(tmp_path / "named", version="9.9")
    with Process([venv[0], "-m", "served.app"], env={"PYTHONPATH": str(tmp_path / "named")}) as server:
        assert source_at_port(server.url).version == "9.9"
    with Process([venv[0], "-m", "served.app"], cwd=tmp_path / "named") as server:
        assert source_at_port(server.url).version == "9.9"


def test_editable_installs_are_read_and_never_run(tmp_path: Path) -> None:
    site, work = tmp_path / "site", tmp_path / "work"
    package(work / "src")
    package(work / "deep", name="mapped")
    site.mkdir()
    proof = tmp_path / "proof"
    (site / "x.pth").write_text(f"import os; open({str(proof)!r}, 'w')\n# {work}\n{work}/src\n")
    (site / "__editable___mapped_1_0_finder.py").write_text(
        f"open({str(proof)!r}, 'w')\nMAPPING: dict[str, str] = {{'mapped': {str(work / 'deep' / 'mapped')!r}}}\n"
    )
    (site / "__editable___bad_finder.py").write_text("MAPPING = {__import__('os'): 1}\n")
    assert module_folder("served.app", [site]) == work / "src" / "served"
    assert module_folder("mapped", [site]) == work / "deep" / "mapped"
    assert module_folder("absent", [site]) is None and module_folder("../x", [site]) is None
    assert not proof.exists()


def test_versions_are_read_beside_a_folder(tmp_path: Path) -> None:
    assert version_of(package(tmp_path, name="a_b", version="1.0+cpu")) == ("a-b", "1.0+cpu")
    (tmp_path / "wheel" / "x").mkdir(parents=True)
    (tmp_path / "wheel" / "x-3.0.dist-info").mkdir()
    assert version_of(tmp_path / "wheel") == ("x", "3.0")
    (tmp_path / "plain").mkdir()
    assert version_of(tmp_path / "plain") == ("", "")
    (tmp_path / "plain" / "version.py").write_text('__version__: str = "0.1.dev3"\n')
    assert version_of(tmp_path / "plain") == ("plain", "0.1.dev3")


@AS_ROOT
@pytest.mark.skipif(not SYSTEM_PYTHON.exists(), reason="needs an interpreter that every user may run")
def test_a_process_of_another_user(open_folder: Path) -> None:
    python, site = environment(open_folder / "venv", str(SYSTEM_PYTHON))
    package(site)
    with Process([python, "-m", "served.app"], user=NOBODY, group=NOBODY, extra_groups=[]) as server:
        assert source_at_port(server.url).folder == str(site / "served")
        assert "only that user and root may see what it runs" in as_user(SOMEBODY, server.url)
    named = [python, "-m", "served.app", "--port"]
    (site / "served" / "app.py").write_text(SERVE.replace('("", 0)', '("", int(sys.argv[-1]))'))
    port = str(server.port)
    with Process([*named, port], user=NOBODY, group=NOBODY, extra_groups=[]) as server:
        assert as_user(SOMEBODY, server.url) == str(site / "served")


def as_user(number: int, url: str) -> str:
    """What another user finds: the folder, or the sentence."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.setgroups([])
        os.setresgid(number, number, number)
        os.setresuid(number, number, number)
        try:
            told = source_at_port(url).folder
        except BaseException as error:
            told = str(error)
        os.write(writing, told.encode())
        os._exit(0)
    os.close(writing)
    with open(reading) as file:
        told = file.read()
    os.waitpid(child, 0)
    return told


@AS_ROOT
def test_a_process_with_another_root_folder(tmp_path: Path) -> None:
    box = tmp_path / "box"
    package(box / "opt" / "real")
    (box / "srv").symlink_to("/opt/real")
    package(tmp_path / "out")
    with Process([sys.executable, "-m", "served.app"], cwd=tmp_path / "out", steps=f"chroot={box}") as server:
        assert source_at_port(server.url).folder == f"{box}/opt/real/served"


@AS_ROOT
@pytest.mark.skipif(not shutil.which("pivot_root"), reason="needs pivot_root")
def test_a_process_in_a_container_is_read_through_its_root(tmp_path: Path) -> None:
    box = tmp_path / "box"
    package(box / "opt" / "real")
    (box / "srv").symlink_to("/opt/real")
    (box / "host").mkdir()
    for name in ("bin", "lib", "lib64", "usr", "root", "proc", "dev"):
        (box / name).symlink_to(f"/host/{name}")
    script = 'mount --rbind / "$1/host" && mount --rbind "$1" "$1" && cd "$1" && mkdir old && pivot_root . old && umount -l old'
    words = [
        "unshare",
        "-m",
        "sh",
        "-c",
        f'{script} && cd /srv && exec "$0" -m served.app',
        os.path.realpath(sys.executable),
        str(box),
    ]
    if subprocess.run(["unshare", "-m", "mount", "--bind", "/tmp", "/tmp"], capture_output=True).returncode:
        pytest.skip("mount namespaces are not allowed")
    with Process(words) as server:
        found = source_at_port(server.url)
        assert found.folder == f"/proc/{server.pid}/root/opt/real/served" and found.source == "auto"
        tree = open_tree(found.folder)
        assert [file.path for file in tree.files()] == ["__init__.py", "app.py"]
        assert tree.read("app.py") == SERVE.encode()


@AS_ROOT
@pytest.mark.skipif(not shutil.which("ip") or not shutil.which("unshare"), reason="needs ip and unshare")
def test_a_container_behind_its_proxy(venv: tuple[str, Path]) -> None:
    inside = 'ip link set lo up; ip addr add 10.99.0.2/32 dev lo; exec "$0" -m served.app'
    try:
        subprocess.run(["unshare", "-n", "true"], check=True, capture_output=True)
    except subprocess.CalledProcessError:
        pytest.skip("network namespaces are not allowed")
    with subprocess.Popen(
        ["unshare", "-n", "sh", "-c", inside, venv[0]],
        stdout=subprocess.PIPE,
        text=True,
        cwd="/",
        env={"PATH": os.environ["PATH"]},
    ) as contained:
        try:
            assert contained.stdout is not None
            port = contained.stdout.readline().strip()
            code = "import sys; exec(sys.stdin.read())"
            proxy = ["docker-proxy", "-c", code, "-proto", "tcp", "-container-ip", "10.99.0.2", "-container-port", port]
            with held_by(proxy) as url:
                assert source_at_port(url).folder == str(venv[1] / "served")
            proxy[-3] = "10.99.0.3"
            with held_by(proxy) as url, pytest.raises(SourceError, match=r"leads into the container 10\.99\.0\.3"):
                source_at_port(url)
        finally:
            contained.kill()


class held_by:
    """A process with this command line holds a port."""

    def __init__(self, words: list[str], late: str = "") -> None:
        self._words, self._late = words, late

    def __enter__(self) -> str:
        self._process = subprocess.Popen(
            self._words,
            executable=sys.executable,
            env={"PYTHONHOME": sys.base_prefix},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(
            "import socket, signal\ns = socket.create_server(('', PORT))\n"
            "print(s.getsockname()[1], flush=True)\nsignal.pause()\n".replace("PORT", self._late or "0")
        )
        self._process.stdin.close()
        return f"http://127.0.0.1:{self._process.stdout.readline().strip()}"

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


def free_port() -> str:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        return str(taken.getsockname()[1])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["ssh", "-L", "PORT:gpu1:30000", "-N", "me@gateway"], "an SSH client that leads to gpu1:30000 behind me@gateway"),
        (["ssh", "-L127.0.0.1:PORT:gpu1:30000", "gw"], "an SSH client that leads to gpu1:30000 behind gw"),
        (["kubectl", "port-forward", "svc/llm", "PORT:80"], "kubectl, which forwards it into a cluster, that leads to svc/llm"),
        (["nginx", "-g", "daemon off;"], "held by nginx: the server is not this process"),
        (["ollama", "serve"], "names no Python package"),
    ],
)  # fmt: skip
def test_forwarders_and_strangers_are_named(words: list[str], told: str) -> None:
    port = free_port()
    given = [word.replace("PORT", port) for word in words]
    command = [given[0], "-c", "import sys; exec(sys.stdin.read())", *given[1:]]
    with held_by(command, port if given != words else "") as url, pytest.raises(SourceError) as refused:
        source_at_port(url)
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://127.0.0.1:1", "Nothing on this machine listens at port 1"),
        ("http://192.0.2.1:80", "192.0.2.1 is another machine"),
        ("http://nowhere.invalid", "cannot be resolved"),
        ("http://127.0.0.1:x", "is no URL of a server"),
    ],
)
def test_what_is_not_here_is_told(url: str, told: str) -> None:
    with pytest.raises(SourceError, match=told):
        source_at_port(url)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("python3.11 -m sglang.launch_server --port 30000", ("sglang.launch_server", "")),
        ("/v/bin/python /v/bin/vllm serve m", ("", "/v/bin/vllm")),
        ("python -W ignore -m uvicorn --host 0.0.0.0 a.b:app", ("a.b", "")),
        ("/v/bin/python /v/bin/gunicorn -k x.Y -w 4 a:create()", ("a", "")),
        ("python /v/bin/fastapi run app/main.py", ("", "app/main.py")),
        ("python server.py --api", ("", "server.py")),
        ("python -c code", ("", "code")),
        ("python", ("", "")),
        ("python -m", ("", "")),
        ("VLLM::APIServer", ("", "VLLM::APIServer")),
        ("", ("", "")),
    ],
)  # fmt: skip
def test_command_lines_are_read(line: str, found: tuple[str, str]) -> None:
    assert started(line.split()) == found


async def linked_automatically(url: str) -> tuple[Linked, ...]:
    async with Session(base_url=url, sources=["auto"]) as session:
        await session.link_given()
        return session.trees.links


async def test_auto_finds_the_demo_s_server(nanoserve: DemoServer) -> None:
    async with Session(base_url=nanoserve.base_url, sources=["auto"]) as session:
        headers = (("Content-Type", "application/json"),)
        url = f"{nanoserve.base_url}/v1/completions"
        sent = await session.send(Request(method="POST", url=url, headers=headers, body=b'{"model": "alice"}'))
        finding = await session.diagnose(sent)
        assert finding.diagnosis.sites[0].file == "protocol.py"
        assert session.trees.links[0].folder == str(SOURCE)
    assert remembered(nanoserve.base_url) == (str(SOURCE),)


async def test_auto_takes_the_stated_version_where_the_process_tells_nothing(
    index: PackageIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")  # a repository is not asked in a test
    models = {"data": [{"id": "m", "owned_by": "sglang"}]}
    info = {"version": "0.5.8", "tokenizer_path": "t"}
    index.files["sglang-0.5.8-py3-none-any.whl"] = wheel({"sglang/a.py": b"1"}, name="sglang", version="0.5.8")
    with AnsweringServer({"/v1/models": models, "/server_info": info}) as server:
        (link,) = await linked_automatically(server.url)
        assert (link.source, link.version) == ("pypi:sglang==0.5.8", "0.5.8")
        server.answers["/server_info"] = {"version": "0.5.9", "tokenizer_path": "t"}
        with pytest.raises(TreeError, match=r"sglang has no version 0\.5\.9 .*git"):
            await linked_automatically(server.url)
        server.answers["/server_info"] = {"version": "0.5.9.dev3+gabcdef12", "tokenizer_path": "t"}
        with pytest.raises(TreeError, match="sglang@abcdef12 cannot be fetched: install git"):
            await linked_automatically(server.url)
        server.answers["/server_info"] = {"version": "1; rm -rf /", "tokenizer_path": "t"}
        with pytest.raises(TreeError, match="nothing is known of where its source"):
            await linked_automatically(server.url)
