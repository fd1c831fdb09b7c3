import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from duologue.records.scenario import CatalogueOptions, Scenario
from duologue.registry import load_domain
from duologue.toolkit.rules import CATALOGUES, RULES_NAME

DOMAIN_ROOT = Path(__file__).parents[1] / "recorded_domain"


@pytest.fixture(scope="module")
def errands() -> Iterator[dict[str, Scenario]]:
    """The scenarios of the recorded test domain by task id, loaded the way a user's own domain is."""
    packages = [importlib.import_module(name) for name in ("scenarios", "tools", "sync")]
    paths = [list(package.__path__) for package in packages]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DUOLOGUE_DOMAINS", str(DOMAIN_ROOT))
        load_domain("errands")
        scenarios = CATALOGUES.get("errands", RULES_NAME).load(CatalogueOptions())
        yield {scenario.task_id: scenario for scenario in scenarios}
    for package, before in zip(packages, paths, strict=True):
        package.__path__[:] = before
