import hashlib
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from duologue.errors import RegistryError
from duologue.records.scenario import SignalName
from duologue.registry import load_domain
from duologue.scoring import checking, composite, evidence
from duologue.scoring.caller import conduct, facts, fidelity, spoken_digits, tools
from duologue.scoring.caller.fidelity import CALLER_VERSION
from duologue.scoring.checking import CHECK_MODULES
from duologue.scoring.judge import prompt, reply
from duologue.scoring.judge.prompt import JUDGE_VERSION
from duologue.scoring.signals import matching, reference_match
from duologue.toolkit import evidence as evidence_types
from duologue.toolkit import utterances
from duologue.toolkit.checks import CHECKS, ENGINE, CheckRole, Finding, check

STORED = Path(__file__).parent / "signal_digests.json"
SHARED = (
    matching,
    reference_match,
    evidence,
    composite,
    checking,
    evidence_types,
    prompt,
    reply,
    conduct,
    facts,
    fidelity,
    tools,
    spoken_digits,
    utterances,
)
"""Modules whose change may change the verdict of several signals."""

ADVICE = (
    "the source of {name} changed. If the same evidence may now give another verdict, raise the version of the "
    "signals concerned; then store the new digest in tests/scoring/signal_digests.json and tell users in CHANGELOG.md"
)


def digest(module: ModuleType) -> str:
    assert module.__file__ is not None
    return hashlib.sha256(Path(module.__file__).read_bytes()).hexdigest()


def gating() -> dict[str, int]:
    return {name: item.version for name, item in CHECKS.items(ENGINE) if item.role is CheckRole.GATES}


def of_domains() -> list[ModuleType]:
    """The modules of the shipped domains that decide a check's finding."""
    load_domain("voiceagentbench")
    return [sys.modules[f"scenarios.voiceagentbench.{name}"] for name in ("grading", "axes", "judging", "observed")]


def sources() -> dict[str, str]:
    modules = (*CHECK_MODULES, *SHARED, *of_domains())
    return {module.__name__.removeprefix("duologue.").removeprefix("scoring."): digest(module) for module in modules}


@pytest.mark.parametrize("name", sorted(sources()))
def test_source_of_a_signal_changes_only_with_its_stored_digest(name: str) -> None:
    assert json.loads(STORED.read_text())["sources"].get(name) == sources()[name], ADVICE.format(name=name)


def test_versions_are_the_stored_ones() -> None:
    versions = gating() | {"judge": JUDGE_VERSION, "caller": CALLER_VERSION}
    for domain in ("tau2_telecom", "voiceagentbench"):
        load_domain(domain)
        versions |= {f"{domain}/{name}": item.version for name, item in CHECKS.items(domain)}
    assert json.loads(STORED.read_text())["versions"] == versions


def test_every_signal_of_the_contract_is_registered() -> None:
    assert set(gating()) == {name.value for name in SignalName}


def test_every_signal_has_a_page() -> None:
    pages = Path(__file__).parents[2] / "docs" / "signals"
    assert {path.stem for path in pages.glob("*.md")} == {name.value for name in SignalName} | {"caller_fidelity"}


def test_a_signal_name_is_registered_once() -> None:
    with pytest.raises(RegistryError, match="registered twice"):
        check(ENGINE, SignalName.CLEAN_EXIT, version=9)(lambda found: Finding(True))
