"""Which process of this machine listens behind a URL. Linux only; slow to import (psutil)."""

from __future__ import annotations

import contextlib
import os
import pwd
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from llmdebug.linking.spec import SourceError

_ANY = frozenset({"0.0.0.0", "::"})
_LISTENING = "0A"
MAX_PROCESSES = 20_000


@dataclass(frozen=True, slots=True)
class Listeners:
    """Who listens at a port."""

    port: int
    pids: tuple[int, ...]
    """Parents before their workers; empty where the rights to see them are missing."""
    user: str = ""
    """Whose the socket is; empty where that is not known."""


def listeners(base_url: str) -> Listeners:
    """Raises SourceError where the server runs elsewhere, or nothing listens there."""
    host, port = _address(base_url)
    addresses = _addresses(host)
    here = {address.address for listed in psutil.net_if_addrs().values() for address in listed}
    if not any(address in here or address.startswith("127.") or address == "::1" for address in addresses):
        raise SourceError(f"{host} is another machine: what runs there is only seen on it. Run llmdebug there.")
    try:
        connections = psutil.net_connections(kind="tcp")
    except (psutil.Error, OSError) as error:
        raise SourceError(f"The sockets of this machine cannot be listed: {error}.") from error
    held = [c for c in connections if c.status == psutil.CONN_LISTEN and c.laddr and c.laddr.port == port]
    fitting = [c for c in held if c.laddr and c.laddr.ip in _ANY | addresses] or held
    if not fitting:
        raise SourceError(f"Nothing on this machine listens at port {port}, as far as llmdebug sees.")
    pids = tuple(sorted({c.pid for c in fitting if c.pid}))
    return Listeners(port, pids, _user_of(port))


def elsewhere(port: int, address: str = "") -> tuple[int, ...]:
    """Processes in other network namespaces, as containers have, that listen at a port; of one address if given."""
    own, found = _namespace("self"), []
    for pid in psutil.pids()[:MAX_PROCESSES]:
        namespace = _namespace(pid)
        if not namespace or namespace == own:
            continue
        sockets = {f"socket:[{inode}]" for _, inode in _held(port, pid)}
        if sockets and sockets & _open_files(pid) and (not address or _has_address(pid, address)):
            found.append(pid)
    return tuple(sorted(found))


def by_command_line(port: int, user: str) -> tuple[int, ...]:
    """Processes of a user whose command line names a port: a guess, for want of rights."""
    found = []
    for process in psutil.process_iter(["pid", "username", "cmdline"]):
        words = process.info["cmdline"] or []
        if process.info["username"] == user and any(
            w == str(port) or w.endswith((f"={port}", f":{port}")) for w in words
        ):
            found.append(process.info["pid"])
    return tuple(sorted(found))


def _address(base_url: str) -> tuple[str, int]:
    try:
        parts = urlsplit(base_url)
        return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as error:
        raise SourceError(f"{base_url} is no URL of a server: {error}.") from error


def _addresses(host: str) -> set[str]:
    try:
        return {str(info[4][0]).partition("%")[0] for info in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except OSError as error:
        raise SourceError(f"The name {host} cannot be resolved: {error.strerror or error}.") from error


def _user_of(port: int) -> str:
    """The owner of the listening socket, which everybody may read."""
    for number, _ in _held(port, "self"):
        try:
            return pwd.getpwuid(number).pw_name
        except KeyError:
            return f"number {number}"
    return ""


def _held(port: int, pid: int | str) -> Iterator[tuple[int, str]]:
    """Owner and inode of each socket that listens at a port, in the network namespace of a process."""
    for name in ("tcp", "tcp6"):
        try:
            lines = Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if len(fields) > 9 and fields[3] == _LISTENING and fields[1].rpartition(":")[2] == f"{port:04X}":
                yield int(fields[7]), fields[9]


def _open_files(pid: int) -> set[str]:
    found = set()
    with contextlib.suppress(OSError):
        for entry in os.scandir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                found.add(os.readlink(entry.path))
    return found


def _namespace(pid: int | str) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/net")
    except OSError:
        return ""


def _has_address(pid: int, address: str) -> bool:
    try:
        return f"|-- {address}\n" in Path(f"/proc/{pid}/net/fib_trie").read_text()
    except OSError:
        return False
