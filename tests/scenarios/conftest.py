"""Loading the telecom domain, and the recorded facts when they lie beside the checkout."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from duologue.records.scenario import CatalogueOptions, Scenario
from duologue.registry import load_domain
from duologue.toolkit.rules import CATALOGUES, RULES_NAME

FACTS = Path(__file__).parents[3] / "shared" / "spec" / "tau2_telecom_tasks.json"

Load = Callable[..., Sequence[Scenario]]


@pytest.fixture(scope="session")
def load() -> Load:
    """Loads telecom scenarios with the given catalogue options."""
    load_domain("tau2_telecom")
    catalogue = CATALOGUES.get("tau2_telecom", RULES_NAME)
    return lambda **options: catalogue.load(CatalogueOptions(**options))


@pytest.fixture(scope="session")
def recorded() -> dict[str, Any]:
    """The recorded facts about the 114 base tasks."""
    if not FACTS.is_file():
        pytest.skip("the recorded telecom facts are not beside this checkout")
    facts: dict[str, Any] = json.loads(FACTS.read_text("utf-8"))
    return facts
