import hashlib
import json
from pathlib import Path
from types import ModuleType

import pytest

from duologue.errors import RegistryError
from duologue.records.scenario import SignalName
from duologue.registry import DEFAULT_DOMAIN
from duologue.scoring import composite, evidence, utterances
from duologue.scoring.caller import conduct, facts, fidelity, spoken_digits, tools
from duologue.scoring.caller.fidelity import CALLER_VERSION
from duologue.scoring.judge import prompt, reply
from duologue.scoring.judge.prompt import JUDGE_VERSION
from duologue.scoring.score import SIGNAL_MODULES
from duologue.scoring.signal import SIGNALS, Finding, signal
from duologue.scoring.signals import matching, reference_match

STORED = Path(__file__).parent / "signal_digests.json"
SHARED = (
    matching,
    reference_match,
    evidence,
    composite,
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


def sources() -> dict[str, str]:
    modules = (*SIGNAL_MODULES, *SHARED)
    return {module.__name__.removeprefix("duologue.scoring."): digest(module) for module in modules}


@pytest.mark.parametrize("name", sorted(sources()))
def test_source_of_a_signal_changes_only_with_its_stored_digest(name: str) -> None:
    assert json.loads(STORED.read_text())["sources"].get(name) == sources()[name], ADVICE.format(name=name)


def test_versions_are_the_stored_ones() -> None:
    versions = {name: item.version for name, item in SIGNALS.items(DEFAULT_DOMAIN)}
    versions |= {"judge": JUDGE_VERSION, "caller": CALLER_VERSION}
    assert json.loads(STORED.read_text())["versions"] == versions


def test_every_signal_of_the_contract_is_registered() -> None:
    assert set(SIGNALS.names(DEFAULT_DOMAIN)) == {name.value for name in SignalName}


def test_every_signal_has_a_page() -> None:
    pages = Path(__file__).parents[2] / "docs" / "signals"
    assert {path.stem for path in pages.glob("*.md")} == {name.value for name in SignalName} | {"caller_fidelity"}


def test_a_signal_name_is_registered_once() -> None:
    with pytest.raises(RegistryError, match="registered twice"):
        signal(SignalName.CLEAN_EXIT, version=9)(lambda found: Finding(True))
