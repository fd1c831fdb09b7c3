"""What README and docs name exists: files, links, flags, make targets, environment variables."""

import re
from pathlib import Path

import pytest

from duologue.cli.options import build_parser
from duologue.cli.text import build_text_parser
from duologue.runner.build import domain_flags, load_catalogues

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]

pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


@pages
def test_links_lead_to_files(page: Path) -> None:
    targets = re.findall(r"\]\(([^)\s]+)\)", text_of(page))
    broken = [
        target
        for target in targets
        if not target.startswith(("http://", "https://", "#")) and not (page.parent / target.split("#")[0]).exists()
    ]
    assert broken == []


@pages
def test_flags_of_the_run_exist(page: Path) -> None:
    known = build_parser().format_help() + build_text_parser().format_help()
    lines = [line for line in text_of(page).splitlines() if "run_evaluation.py" in line]
    flags = {flag for line in lines for flag in re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", line)}
    assert {flag for flag in flags if flag not in known} == set()


def test_every_flag_of_the_command_line_page_exists_and_is_described() -> None:
    helps = build_parser().format_help() + build_text_parser().format_help()
    known = set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", helps))
    page = text_of(ROOT / "docs" / "cli.md")
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z0-9]*(?:-[a-z0-9]+)*", page)) - {"--judge"}
    assert named <= known
    declared = {flag for action in build_parser()._actions for flag in action.option_strings if flag.startswith("--")}
    of_domains = {f"--{flag.name}" for flag in domain_flags()}
    own = {flag for flag in declared - of_domains if not flag.startswith("--judge-")} - {
        "--help",
        "--version",
        "--resume",
        "--verbose",
        "--judge",
    }
    assert own - named == set()


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "domains").glob("*.md")), ids=lambda page: page.stem)
def test_flags_of_a_domain_are_described_on_its_page(page: Path) -> None:
    catalogue = load_catalogues()[page.stem]
    assert {flag.name for flag in catalogue.flags if f"`--{flag.name}" not in text_of(page)} == set()


@pages
def test_named_files_exist(page: Path) -> None:
    names = re.findall(
        r"(?<![\w/.-])((?:duologue|docs|data|server_configs|scenarios|tools|sync)/[\w./-]*\w\.\w+)", text_of(page)
    )
    missing = {name for name in names if "toy" not in name and not (ROOT / name).exists()}
    assert missing == set()


@pages
def test_make_targets_exist(page: Path) -> None:
    targets = set(re.findall(r"\bmake ([a-z]+)\b", "\n".join(re.findall(r"`+[^`]*`+", text_of(page)))))
    assert targets <= set(re.findall(r"^([a-z]+):", text_of(ROOT / "Makefile"), re.MULTILINE))


def test_readme_has_the_two_commands_and_the_three_terminals() -> None:
    readme = text_of(ROOT / "README.md")
    for line in (
        "make demo",
        "make test",
        "SERVER_CONFIG_PATH=server_configs/user.yaml  WEBSOCKET_PORT=8766 python bot_server.py",
        "SERVER_CONFIG_PATH=server_configs/agent.yaml WEBSOCKET_PORT=8765 python bot_server.py",
        "python run_evaluation.py --domain tau2_telecom\n",
    ):
        assert f"\n{line}" in readme


def test_exit_codes_are_the_same_in_help_and_page() -> None:
    page = text_of(ROOT / "docs" / "cli.md")
    for code in ("0", "1", "2", "3", "130"):
        assert f"| {code} |" in page
        assert re.search(rf"\b{code} \w+", build_parser().epilog or "")


def test_brains_of_the_readme_are_those_of_the_settings() -> None:
    table = re.findall(r"^\| `(\w+)` \|", text_of(ROOT / "README.md"), re.MULTILINE)
    from duologue.config import BRAINS

    assert set(BRAINS) == set(table)
