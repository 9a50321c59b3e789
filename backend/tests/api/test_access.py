"""By which names the server answers, and how many streams may be open."""

from __future__ import annotations

import pytest

from flyback.api.access import Access
from flyback.api.streams import StreamSlots
from flyback.domain.errors import TooManyError


def test_a_server_answers_to_the_loopback_names_with_its_port_only() -> None:
    access = Access.at(8321)
    assert access.hosts == {"127.0.0.1:8321", "localhost:8321", "[::1]:8321"}
    assert access.origins == {"http://127.0.0.1:8321", "http://localhost:8321", "http://[::1]:8321"}
    assert (access.cookie_name, access.cookie_secure) == ("flyback-8321", False)


def test_a_further_name_is_reached_at_the_same_port_or_at_its_own() -> None:
    access = Access.at(8321, names=["Desk.Example", "fd00::1", "[fd00::2]"])
    assert {"desk.example:8321", "[fd00::1]:8321", "[fd00::2]:8321"} <= access.hosts
    assert "http://desk.example:8321" in access.origins
    behind_proxy = Access.at(8321, names=["desk.example:443"], secure=True)
    assert {"desk.example:443", "desk.example"} <= behind_proxy.hosts
    assert "https://desk.example" in behind_proxy.origins
    assert "http://desk.example" not in behind_proxy.origins
    assert behind_proxy.cookie_secure


def test_a_default_port_may_be_left_out() -> None:
    assert {"localhost", "localhost:80"} <= Access.at(80).hosts
    assert "http://localhost" in Access.at(80).origins


def test_a_client_may_have_twenty_streams_and_all_clients_a_thousand() -> None:
    slots = StreamSlots()
    held = [slots.hold("me") for _ in range(20)]
    for one in held:
        one.__enter__()
    with pytest.raises(TooManyError):
        slots.check("me")
    slots.check("you")
    held[0].__exit__(None, None, None)
    slots.check("me")
    others = [slots.hold(f"client {n}") for n in range(981)]
    for one in others:
        one.__enter__()
    with pytest.raises(TooManyError):
        slots.check("you")
    assert slots.open == 1_000
