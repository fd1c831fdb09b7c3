"""The engine has no word of a domain: of none that lies under a domain root, whenever it was added."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from duologue.registry import available_domains, load_domain
from duologue.toolkit.rules import CATALOGUES, INIT_FUNCTIONS, PREDICATES, RULES_NAME
from duologue.toolkit.tool import TOOLS
from duologue.toolkit.vocabulary import vocabulary_of

ENGINE = Path(__file__).parents[1] / "duologue"
OTHER_DOMAINS = [Path(__file__).parent / name for name in ("toy_domain", "recorded_domain", "library_domain")]
READ = {".py", ".js", ".html", ".css", ".svg"}

ENGINES_OWN = ("user sim", "noqa sim", "a vpn or a firewall")
"""Where a word of a domain is another word of the engine: the simulated user, a linter's rule, a browser's network."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@dataclass(frozen=True)
class DomainWords:
    """What the engine must not say: ``phrases`` anywhere, ``values`` as the whole of a string."""

    phrases: frozenset[str]
    values: frozenset[str]


def spread(text: str) -> str:
    """Return the words of a text or a name of code in lower case: ``toggleWiFi_2`` is `` toggle wi fi 2 ``."""
    return f" {' '.join(_WORD.findall(text)).lower()} "


def words_of(domain: str) -> DomainWords:
    """Return what only this domain says: its names, its flags, the names of its functions, its vocabulary.

    Suites and profiles may be ordinary words; the engine may use them in sentences, but not as values.
    """
    catalogue, vocabulary = CATALOGUES.find(domain, RULES_NAME), vocabulary_of(domain)
    flags = [flag.name for flag in catalogue.flags] if catalogue else []
    stems = [flag.split("-")[0] for flag in flags]
    registries = (TOOLS, PREDICATES, INIT_FUNCTIONS)
    functions = [name for registry in registries for name in registry.names(domain)]
    phrases = {
        *domain.split("_"),
        *(catalogue.prefixes if catalogue else ()),
        *flags,
        *(stem for stem in stems if stems.count(stem) > 1),
        *(name for name in functions if "_" in name),
        *vocabulary.joined.values(),
        *vocabulary.spellings,
        *vocabulary.spellings.values(),
        *vocabulary.compounds.values(),
        *vocabulary.labels,
        *vocabulary.labels.values(),
        *([f"my {vocabulary.device}", f"your {vocabulary.device}"] if vocabulary.device else []),
    }
    values = {*catalogue.suites, *catalogue.profiles} - {"default"} if catalogue else set()
    return DomainWords(frozenset(phrases), frozenset(values))


def said_in(root: Path, words: Iterable[DomainWords]) -> set[tuple[str, str]]:
    """Return (file, word) for every domain's word in the names and texts of the files under ``root``."""
    found = set()
    known = list(words)
    for path in sorted(path for path in root.rglob("*") if path.suffix in READ):
        name, text = path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")
        spoken = spread(name) + spread(text)
        for own in ENGINES_OWN:
            spoken = re.sub(rf"(?<= ){own}(?= )", "", spoken)
        for item in known:
            found |= {(name, phrase) for phrase in item.phrases if spread(phrase) in spoken}
            found |= {(name, value) for value in item.values if re.search(rf"""(["'`]){re.escape(value)}\1""", text)}
    return found


@pytest.fixture
def domains(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The shipped domains, and those that lie under a domain root of the user's."""
    packages = [importlib.import_module(name) for name in ("scenarios", "tools", "sync")]
    paths = [list(package.__path__) for package in packages]
    monkeypatch.setenv("DUOLOGUE_DOMAINS", os.pathsep.join(str(root) for root in OTHER_DOMAINS))
    names = available_domains()
    for name in names:
        load_domain(name)
    yield names
    for package, before in zip(packages, paths, strict=True):
        package.__path__[:] = before


def test_the_engine_says_no_word_of_a_domain(domains: list[str]) -> None:
    assert set(domains) >= {"tau2_telecom", "voiceagentbench", "heating", "errands"}
    assert len([path for path in ENGINE.rglob("*") if path.suffix in READ]) > 200
    assert said_in(ENGINE, map(words_of, domains)) == set()


@pytest.mark.parametrize(
    ("planted", "word"),
    [
        ("# only for telecom\n", "telecom"),
        ("import os\nTau2Mode = 1\n", "tau2"),
        ("def run_voiceagentbench(): ...\n", "voiceagentbench"),
        ('"""Takes --vab-data.\n"""\n', "vab-data"),
        ("VAB = 1\n", "vab"),
        ('if suite == "single":\n    pass\n', "single"),
        ("profile = 'guide'\n", "guide"),
        ("turnOnWifi = 1\n", "wifi"),
        ('KEEP = {"sim"}\n', "sim"),
        ('SAYS = "My phone says"\n', "my phone"),
        ("# as toggle_airplane_mode does\n", "toggle_airplane_mode"),
        ('"""When assert_no_overdue_bill holds."""\n', "assert_no_overdue_bill"),
        ("thermostat = None\n", "thermostat"),
        ('if domain == "errands": ...\n', "errands"),
    ],
)
def test_a_planted_word_is_found(domains: list[str], tmp_path: Path, planted: str, word: str) -> None:
    (tmp_path / "planted.py").write_text(planted, encoding="utf-8")
    assert ("planted.py", word) in said_in(tmp_path, map(words_of, domains))


@pytest.mark.parametrize("name", ["heating.py", "telecom_page.js", "page/tau2.css"])
def test_a_file_named_after_a_domain_is_found(domains: list[str], tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("", encoding="utf-8")
    assert {file for file, _ in said_in(tmp_path, map(words_of, domains))} == {name}


def test_the_words_of_the_engine_are_not_taken_for_a_domains(domains: list[str], tmp_path: Path) -> None:
    text = 'USER_SIM = "user_sim"\nsimulated = "a single, multilingual guide"\n# similar phones, the airport\n'
    (tmp_path / "plain.py").write_text(text, encoding="utf-8")
    assert said_in(tmp_path, map(words_of, domains)) == set()
