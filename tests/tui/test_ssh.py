"""Over ssh to an sshd on this machine: the same keys, the same screen, and a copy that comes back."""

from __future__ import annotations

import getpass
import os
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from real_tmux import WHY_NOT, Tmux

SSHD = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")
MISSING = WHY_NOT or ("" if SSHD and shutil.which("ssh") else "sshd or ssh is not installed")

pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)


@pytest.fixture
def ssh(tmp_path: Path) -> Iterator[str]:
    """An ssh command line to an sshd of its own."""
    folder = tmp_path / "ssh"
    folder.mkdir(mode=0o700)
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    (folder / "keys").write_text((folder / "user.pub").read_text(encoding="utf-8"), encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = (
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/keys\n"
        f"PidFile {folder}/pid\nStrictModes no\nUsePAM no\nPermitUserEnvironment no\nPermitRootLogin yes\n"
    )
    (folder / "config").write_text(settings, encoding="utf-8")
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    daemon = subprocess.Popen([str(SSHD), "-D", "-f", folder / "config", "-E", folder / "log"])
    try:
        end = time.monotonic() + 10
        while time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.02)
        yield (
            f"ssh -tt -q -p {port} -i {folder}/user -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null "
            f"-o IdentitiesOnly=yes {shlex.quote(getpass.getuser())}@127.0.0.1"
        )
    finally:
        daemon.terminate()
        daemon.wait(10)


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40)])
def test_the_founding_story_over_ssh(ssh: str, width: int, height: int, own_state: Path) -> None:
    passed = " ".join(f"{name}={shlex.quote(os.environ[name])}" for name in ("LLMDEBUG_STATE_DIR", "PATH"))
    inner = f"{passed} PYTHONPATH={shlex.quote(os.environ.get('PYTHONPATH', ''))} {sys.executable} -m llmdebug demo"
    with Tmux(f"{ssh} {shlex.quote(inner)}", width=width, height=height) as tmux:
        tmux.run("set", "-s", "set-clipboard", "on")
        tmux.shows("source nanoserve")
        tmux.keys("s")
        screen = tmux.shows("declares CompletionRequest.prompt")
        assert "▶     prompt: str | list[str]" in screen
        tmux.keys("y", "p")
        tmux.shows("OSC 52")
        assert "/protocol.py:" in tmux.run("show-buffer")
        tmux.keys("1", "s")
        tmux.shows("Confirmed by experiment")
        tmux.keys("q")
        tmux.shows("ended 0")


def test_a_dropped_connection_keeps_the_edit(ssh: str, own_state: Path) -> None:
    state = shlex.quote(str(own_state))
    path = shlex.quote(os.environ.get("PYTHONPATH", ""))
    inner = f"LLMDEBUG_STATE_DIR={state} PYTHONPATH={path} {sys.executable} -m llmdebug http://127.0.0.1:9"
    with Tmux(f"{ssh} {shlex.quote(inner)}") as tmux:
        tmux.shows("refused")
        tmux.keys("e")
        tmux.shows("Esc done")
        tmux.type("half an edit")
        tmux.shows("half an edit")
        tmux.run("kill-session")
    drafts = own_state / "drafts"
    end = time.monotonic() + 20
    while not (drafts.is_dir() and any(b"half an edit" in file.read_bytes() for file in drafts.glob("*.json"))):
        assert time.monotonic() < end, "the edit is lost"
        time.sleep(0.05)
