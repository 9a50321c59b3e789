"""Which addresses the server talks to: public ones, however they are spelled, and those that the operator listed.

An IPv6 address that carries an IPv4 one (mapped, compatible, 6to4, NAT64, ISATAP) is what it carries. Whatever is not
known to be public is refused, so that a new kind of private address is refused too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

from flyback.domain.errors import InvalidError

SETTING = "FLYBACK_EGRESS_ALLOW"

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_REFUSED_V4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "168.63.129.16/32",  # the metadata service of a cloud, though it looks public
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/3",
    )
)
_PUBLIC_V6 = IPv6Network("2000::/3")
_REFUSED_V6 = tuple(IPv6Network(text) for text in ("2001::/23", "2001:db8::/32", "2620:4f:8000::/48", "3fff::/20"))
_SIX_TO_FOUR = IPv6Network("2002::/16")
_NAT64 = IPv6Network("64:ff9b::/96")
_COMPATIBLE = IPv6Network("::/96")
_ISATAP = 0x5EFE


def is_public(address: Address) -> bool:
    """Whether an address belongs to the public internet, and so does each that it carries."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _REFUSED_V4)
    if address.scope_id is not None:
        return False
    carried = list(_carried(address))
    if not all(is_public(inner) for inner in carried):
        return False
    if address.ipv4_mapped is not None or address in _NAT64:
        return True
    return address in _PUBLIC_V6 and not any(address in network for network in _REFUSED_V6)


_LOCAL = tuple(
    ip_network(text)
    for text in (
        "0.0.0.0/32",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "::1",
        "fc00::/7",
    )
)
_METADATA = frozenset(
    {
        IPv4Address("100.100.100.200"),  # Alibaba
        IPv6Address("fd00:ec2::254"),  # Amazon
        IPv6Address("fd20:ce::254"),  # Google
        IPv6Address("fd00:c1::a9fe:a9fe"),  # Oracle
        IPv6Address("fd00:42::42"),  # Scaleway
    }
)
"""Where clouds tell a machine its secrets, besides the link-local addresses."""


def is_local(address: Address) -> bool:
    """Whether an address belongs to this machine or to a network of one's own, and tells no machine its secrets."""
    inner = plain(address)
    return inner not in _METADATA and any(inner.version == one.version and inner in one for one in _LOCAL)


def plain(address: Address) -> Address:
    """Return the IPv4 address that an address stands for on the wire, else the address itself."""
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def _carried(address: IPv6Address) -> Iterator[IPv4Address]:
    number = int(address)
    if address.ipv4_mapped is not None:
        yield address.ipv4_mapped
    if address in _SIX_TO_FOUR:
        yield IPv4Address(number >> 80 & 0xFFFFFFFF)
    if address in _NAT64 or address in _COMPATIBLE:
        yield IPv4Address(number & 0xFFFFFFFF)
    if number >> 32 & 0xFFFF == _ISATAP:
        yield IPv4Address(number & 0xFFFFFFFF)


def literal_address(host: str) -> Address | None:
    """Read a host that is an address and no name: IPv6 with or without brackets and zone, IPv4 in every spelling that
    the system's own resolver takes (`127.1`, `0x7f000001`, `017700000001`, `2130706433`)."""
    bare = host.removeprefix("[").removesuffix("]") if host.startswith("[") else host
    bare = bare.replace("%25", "%", 1)
    if ":" in bare:
        try:
            return ip_address(bare)
        except ValueError:
            return None
    return _loose_v4(bare.rstrip("."))


def _loose_v4(text: str) -> IPv4Address | None:
    parts = text.split(".")
    if not 1 <= len(parts) <= 4:
        return None
    numbers = [_number(part) for part in parts]
    if any(number is None for number in numbers):
        return None
    *leading, last = [number for number in numbers if number is not None]
    if any(number > 0xFF for number in leading) or last >= 256 ** (4 - len(leading)):
        return None
    value = last
    for place, number in enumerate(leading):
        value += number << 8 * (3 - place)
    return IPv4Address(value)


def _number(part: str) -> int | None:
    if not part.isascii() or not part.isalnum() or len(part) > 16:
        return None
    lowered = part.lower()
    try:
        if lowered.startswith("0x"):
            return int(lowered[2:] or "0", 16)
        return int(lowered, 8) if lowered.startswith("0") else int(lowered, 10)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class _Entry:
    host: str | None
    network: Network | None
    port: int | None


@dataclass(frozen=True, slots=True)
class AllowList:
    """What an operator lets workflows call although it is not public: names, addresses and networks, with or without a
    port."""

    entries: tuple[_Entry, ...] = ()

    @staticmethod
    def read(text: str | None) -> AllowList:
        """Read entries with commas or blanks between: `intranet.example, 10.1.0.0/16, 127.0.0.1:9000, [::1]:9000`.

        Raises:
            InvalidError: an entry cannot be read; a list that means something else than was meant helps nobody.
        """
        words = (text or "").replace(",", " ").split()
        return AllowList(tuple(_entry(word) for word in words))

    def and_origins(self, urls: Sequence[str]) -> AllowList:
        """Return this list with the hosts and ports of these addresses on it."""
        found: list[_Entry] = []
        for url in urls:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
            literal = literal_address(host)
            if literal is None:
                found.append(_Entry(host.rstrip(".").lower(), None, port))
            else:
                found.append(_Entry(None, ip_network(plain(literal)), port))
        return AllowList((*self.entries, *found))

    def allows_name(self, host: str, port: int) -> bool:
        """Whether a name is listed: then it may lead to any address."""
        wanted = host.rstrip(".").lower()
        return any(entry.host == wanted and entry.port in (None, port) for entry in self.entries)

    def allows_address(self, address: Address, port: int) -> bool:
        inner = plain(address)
        return any(
            entry.network is not None
            and entry.network.version == inner.version
            and inner in entry.network
            and entry.port in (None, port)
            for entry in self.entries
        )


def _entry(word: str) -> _Entry:
    host, port = _split_port(word)
    if "/" in host or literal_address(host) is not None:
        try:
            return _Entry(None, ip_network(host.strip("[]"), strict=False), port)
        except ValueError:
            raise _unreadable(word) from None
    if not host or not all(char.isalnum() or char in "-._" for char in host):
        raise _unreadable(word)
    return _Entry(host.rstrip(".").lower(), None, port)


def _split_port(word: str) -> tuple[str, int | None]:
    if word.startswith("["):
        host, _, rest = word[1:].partition("]")
        port = rest.removeprefix(":")
    elif word.count(":") == 1:
        host, _, port = word.partition(":")
    else:
        return word, None
    if not port:
        return host, None
    if not port.isdecimal() or not 0 < int(port) < 65536:
        raise _unreadable(word)
    return host, int(port)


def _unreadable(word: str) -> InvalidError:
    return InvalidError(
        f"{SETTING} has an entry that is neither a host nor a network: {word!r}.",
        field=SETTING,
        fix="Write entries such as intranet.example, 10.1.0.0/16, 127.0.0.1:9000 or [::1]:9000.",
    )


def refused_among(addresses: Sequence[Address], allowed: AllowList, port: int) -> Address | None:
    """Return the first address that is neither public nor listed, or None."""
    for address in addresses:
        if not is_public(address) and not allowed.allows_address(address, port):
            return address
    return None
