"""Decides where a connection to a host goes: the name is resolved once, and every address it has is looked at."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Collection, Sequence
from ipaddress import ip_address
from typing import Protocol

from flyback.domain.errors import EgressRefusedError, EgressUnavailableError
from flyback.providers.egress.addresses import SETTING, Address, AllowList, is_local, literal_address, refused_among


class Resolver(Protocol):
    async def __call__(self, host: str, port: int) -> Sequence[str]:
        """Return the addresses of a name, the preferred first. Raises OSError."""
        ...


async def system_resolver(host: str, port: int) -> Sequence[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class Guard:
    def __init__(self, allowed: AllowList, resolver: Resolver = system_resolver) -> None:
        self._allowed = allowed
        self._resolver = resolver

    async def addresses_of(self, host: str, port: int) -> Sequence[Address]:
        """Return the addresses that a connection to `host` may go to.

        A name one of whose addresses is refused is refused whole: nobody could say which of them an answer came from.

        Raises:
            EgressRefusedError, EgressUnavailableError.
        """
        literal = literal_address(host)
        addresses = [literal] if literal is not None else await self._resolved(host, port)
        if self._allowed.allows_name(host, port):
            return addresses
        refused = self._refused_among(host, port, addresses)
        if refused is not None:
            raise _refused(host, port, refused)
        return addresses

    def _refused_among(
        self,
        host: str,  # noqa: ARG002 -- for models a name may make a difference
        port: int,
        addresses: Sequence[Address],
    ) -> Address | None:
        """Return an address that may not be called, or None."""
        return refused_among(addresses, self._allowed, port)

    async def _resolved(self, host: str, port: int) -> list[Address]:
        try:
            found = await self._resolver(host, port)
            addresses = [ip_address(text) for text in found]
        except (OSError, ValueError, UnicodeError) as error:
            raise EgressUnavailableError(
                f"there is no address for the host {host!r} ({error})", fix="Check the host's name and the network."
            ) from error
        if not addresses:
            raise EgressUnavailableError(f"there is no address for the host {host!r}", fix="Check the host's name.")
        return addresses


class ModelGuard(Guard):
    """Decides where the calls of model entries go: an administrator's model may be on this machine or in a network of one's own.

    What is neither public nor that is refused, a cloud's metadata first of all. A name leads to one or the other: who answers
    for a name that has led to the public internet gets no call into a network of one's own by changing what it stands for.
    """

    def __init__(
        self, allowed: AllowList, resolver: Resolver = system_resolver, *, public_names: Collection[str] = ()
    ) -> None:
        """`public_names` are known to be public before they are asked for."""
        super().__init__(allowed, resolver)
        self._public_names = {_bare(name) for name in public_names}

    def _refused_among(self, host: str, port: int, addresses: Sequence[Address]) -> Address | None:
        refused = super()._refused_among(host, port, addresses)
        if refused is None:
            self._public_names.add(_bare(host))
            return None
        is_own = all(is_local(one) or self._allowed.allows_address(one, port) for one in addresses)
        return None if is_own and _bare(host) not in self._public_names else refused


def _bare(host: str) -> str:
    return host.rstrip(".").lower()


def _refused(host: str, port: int, address: Address) -> EgressRefusedError:
    where = f"{host!r}" if str(address) == host.strip("[]") else f"{host!r} ({address})"
    shown = f"[{address}]" if address.version == 6 else str(address)
    return EgressRefusedError(
        f"{where} is a private, local or reserved address, and this server does not call those",
        fix=f"Where the call is meant, the operator lists it: {SETTING}={shown}:{port}, then a restart.",
    )
