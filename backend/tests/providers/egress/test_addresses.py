"""Which addresses the server talks to, in whatever way they are written."""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv4Network, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyback.domain.errors import InvalidError
from flyback.providers.egress.addresses import AllowList, is_public, literal_address

PRIVATE_NETWORKS = (
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "224.0.0.0/4",
    "240.0.0.0/4",
)


def within(network: IPv4Network) -> st.SearchStrategy[IPv4Address]:
    return st.integers(0, network.num_addresses - 1).map(lambda place: network[place])


private_v4 = st.one_of(*(within(IPv4Network(text)) for text in PRIVATE_NETWORKS))
any_v4 = st.integers(0, 2**32 - 1).map(IPv4Address)


def spellings(address: IPv4Address) -> list[str]:
    number = int(address)
    a, b, c, d = address.packed
    return [
        str(number),
        hex(number),
        f"0{number:o}",
        f"{a}.{number & 0xFFFFFF}",
        f"{a}.{b}.{number & 0xFFFF}",
        f"0x{a:x}.0x{b:X}.{c}.0{d:o}",
        f"{a}.{b}.{c}.{d}.",
    ]


def wrapped(address: IPv4Address) -> list[IPv6Address]:
    number = int(address)
    return [
        IPv6Address(0xFFFF << 32 | number),
        IPv6Address(number),
        IPv6Address(0x2002 << 112 | number << 80),
        IPv6Address((0x64FF9B << 96) | number),
        IPv6Address((0x2607F8B0 << 96) | 0x5EFE << 32 | number),
    ]


@given(any_v4)
def test_given_any_spelling_of_an_ipv4_address_it_is_read_as_that_address(address: IPv4Address) -> None:
    for spelling in spellings(address):
        assert literal_address(spelling) == address, spelling


@given(st.text(alphabet="0123456789abcdefxX.", max_size=20))
def test_given_what_the_system_takes_for_an_address_we_take_it_for_the_same(text: str) -> None:
    try:
        packed = socket.inet_aton(text)
    except OSError:
        return
    assert literal_address(text) == ip_address(packed), text


@given(private_v4)
def test_given_a_private_address_it_is_refused_plain_and_in_every_wrapping(address: IPv4Address) -> None:
    assert not is_public(address)
    for inner in wrapped(address):
        assert not is_public(inner), inner


@pytest.mark.parametrize(
    "text",
    [
        "::",
        "::1",
        "fe80::1",
        "fe80::1%eth0",
        "2607:f8b0::1%1",
        "fec0::1",
        "fc00::1",
        "fd00:ec2::254",
        "ff02::1",
        "2001:db8::1",
        "2001::1",
        "2001:0:7f00:1::1",
        "3fff::1",
        "5f00::1",
        "100::1",
        "64:ff9b:1::a00:1",
        "::ffff:127.0.0.1",
        "::ffff:0:127.0.0.1",
        "168.63.129.16",
        "169.254.169.254",
        "100.100.100.200",
        "255.255.255.255",
    ],
)
def test_local_reserved_and_metadata_addresses_are_refused(text: str) -> None:
    assert not is_public(ip_address(text))


@pytest.mark.parametrize(
    "text",
    [
        "1.1.1.1",
        "8.8.8.8",
        "93.184.216.34",
        "2606:4700::1111",
        "2a00:1450:4001::1",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
    ],
)
def test_public_addresses_are_not(text: str) -> None:
    assert is_public(ip_address(text))


def test_given_a_list_of_the_operator_names_addresses_and_networks_are_allowed_with_their_ports() -> None:
    allowed = AllowList.read("intranet.example, 10.1.0.0/16 127.0.0.1:9000, [::1]:9000,fd00::/8 host.example:80")
    assert allowed.allows_name("Intranet.Example.", 443)
    assert allowed.allows_name("host.example", 80)
    assert not allowed.allows_name("host.example", 81)
    assert not allowed.allows_name("other.example", 80)
    assert allowed.allows_address(ip_address("10.1.2.3"), 1)
    assert not allowed.allows_address(ip_address("10.2.0.1"), 1)
    assert allowed.allows_address(ip_address("127.0.0.1"), 9000)
    assert allowed.allows_address(ip_address("::ffff:127.0.0.1"), 9000)
    assert not allowed.allows_address(ip_address("127.0.0.1"), 9001)
    assert allowed.allows_address(ip_address("::1"), 9000)
    assert allowed.allows_address(ip_address("fd12::1"), 1)


@pytest.mark.parametrize("text", ["10.0.0.0/99", "http://intranet", "host:0", "host:x", "a b$"])
def test_given_an_entry_that_cannot_be_read_the_start_is_refused_with_the_settings_name(text: str) -> None:
    with pytest.raises(InvalidError, match="FLYBACK_EGRESS_ALLOW"):
        AllowList.read(text)
