"""Programs that hold a port for somebody else: what they forward to, as far as their command line says."""

from __future__ import annotations

from collections.abc import Sequence

from llmdebug.linking.process import Running

CONTAINER_PROXY = "docker-proxy"
_KINDS = {
    "ssh": "an SSH client",
    "autossh": "an SSH client",
    "sshd": "an SSH server, which forwards it to the machine somebody came from",
    "kubectl": "kubectl, which forwards it into a cluster,",
    "nginx": "nginx",
    "haproxy": "HAProxy",
    "caddy": "Caddy",
    "envoy": "Envoy",
    "traefik": "Traefik",
    "socat": "socat",
    "stunnel": "stunnel",
    "rootlessport": "the port forwarder of rootless containers",
    "rootlesskit": "the port forwarder of rootless containers",
    "slirp4netns": "the network of rootless containers",
    "pasta": "the network of rootless containers",
    "pasta.avx2": "the network of rootless containers",
    "cloudflared": "cloudflared",
    "systemd": "systemd, which starts the service at the first connection",
}


def forwards(process: Running, port: int) -> str:
    """What holds the port and where it leads, for the middle of a sentence; empty for a server itself."""
    kind = _KINDS.get(process.program.rstrip(":")) or _KINDS.get(process.name)
    if kind is None:
        return ""
    target = _ssh_target(process.words, port) if "SSH client" in kind else _cluster_target(process.words)
    return f"{kind}{f' that leads to {target}' if target else ''}"


def container_of(process: Running) -> tuple[str, int] | None:
    """Address and port of the container that a proxy leads to."""
    if CONTAINER_PROXY not in (process.program, process.name):
        return None
    values = dict(zip(process.words[1:], process.words[2:], strict=False))
    address, port = values.get("-container-ip", ""), values.get("-container-port", "")
    return (address, int(port)) if address and port.isdecimal() else None


def _ssh_target(words: Sequence[str], port: int) -> str:
    """`-L [bind:]port:host:hostport`, written together or apart."""
    for word, following in zip(words, (*words[1:], ""), strict=True):
        written = following if word == "-L" else word[2:] if word.startswith("-L") else ""
        parts = written.rsplit(":", 2)
        if len(parts) == 3 and parts[0].rpartition(":")[2] == str(port):
            return f"{parts[1]}:{parts[2]} behind {words[-1]}"
    return ""


def _cluster_target(words: Sequence[str]) -> str:
    place = words.index("port-forward") if "port-forward" in words else len(words)
    return next((word for word in words[place + 1 :] if not word.startswith("-")), "")
