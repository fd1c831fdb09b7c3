"""Telecom states at their starting point."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from duologue.registry import load_domain
from duologue.state.fixtures import load_db
from duologue.state.side_state import SideState

DOMAIN = "tau2_telecom"


@pytest.fixture(scope="session", autouse=True)
def _domain() -> None:
    load_domain(DOMAIN)


@pytest.fixture
def office() -> SideState:
    return SideState(DOMAIN, load_db(f"{DOMAIN}/db"), profile="guide")


@pytest.fixture
def phone() -> SideState:
    return SideState(DOMAIN, load_db(f"{DOMAIN}/user_db"), profile="guide")


@pytest.fixture
def phone_in() -> Callable[[str], SideState]:
    return lambda profile: SideState(DOMAIN, load_db(f"{DOMAIN}/user_db"), profile=profile)
