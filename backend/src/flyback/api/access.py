"""By which names this server may be called, and what follows from them: hosts, origins, the cookie's name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Access:
    hosts: frozenset[str]
    """As they stand in `Host`, with the port; compared whole."""
    origins: frozenset[str]
    """As they stand in `Origin`."""
    cookie_name: str
    """With the port: cookies do not tell ports apart, and a machine may run two servers."""
    cookie_secure: bool = False

    @classmethod
    def at(cls, port: int, *, names: Iterable[str] = (), secure: bool = False) -> Access:
        """Answer to the names of this machine's loopback at a port, and to further names.

        A further name may carry a port of its own (`flows.example.org:443`); without one it is reached at `port`. `secure`
        says that people reach those names by https, through a proxy.
        """
        loopback = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}
        loopback |= {_without_default_port(name, 80) for name in loopback}
        further = {_with_port(name.lower(), port) for name in names}
        bare = {_without_default_port(name, 443 if secure else 80) for name in further}
        scheme = "https" if secure else "http"
        return cls(
            hosts=frozenset(loopback | further | bare),
            origins=frozenset(
                {f"http://{host}" for host in loopback} | {f"{scheme}://{host}" for host in further | bare}
            ),
            cookie_name=f"flyback-{port}",
            cookie_secure=secure,
        )


def _with_port(name: str, port: int) -> str:
    if name.count(":") > 1 and not name.startswith("["):
        name = f"[{name}]"
    has_port = name.rpartition("]")[2].count(":") == 1
    return name if has_port else f"{name}:{port}"


def _without_default_port(host: str, port: int) -> str:
    return host.removesuffix(f":{port}")
