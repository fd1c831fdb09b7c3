"""Digests of code, data and scenario, for the header of every trace: what produced a result.

Two attempts with equal ``code``, ``data`` and ``scenario`` digests and equal package versions are comparable.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from duologue import __version__
from duologue.records.scenario import Scenario
from duologue.registry import domain_roots

_PACKAGES = ("pipecat-ai", "websockets", "numpy", "soxr", "rapidfuzz", "faster-whisper", "hibari-tts")
_CODE = (".py",)
_DATA = (".csv", ".html", ".json", ".md", ".sql", ".toml", ".txt", ".yaml", ".yml")
"""Files of a domain's data, and of the folders beside its tools."""


def collect_provenance(scenario: Scenario) -> dict[str, Any]:
    """Return versions and SHA-256 digests for one scenario: engine, domain code, domain data, the scenario itself."""
    return {
        "duologue": __version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "packages": _package_versions(),
        "code": _code_digest(scenario.domain),
        "data": _data_digest(scenario.domain),
        "scenario": hashlib.sha256(scenario.model_dump_json().encode()).hexdigest(),
    }


@functools.cache
def _package_versions() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


@functools.cache
def _code_digest(domain: str) -> str:
    engine = Path(__file__).resolve().parent
    places = [place for root in domain_roots() for place in _domain_places(root, domain)]
    return digest_files([engine, *places], _CODE)


@functools.cache
def _data_digest(domain: str) -> str:
    roots = domain_roots()
    places = [root / "data" / domain for root in roots] + [root / "tools" / domain for root in roots]
    return digest_files(places, _DATA)


def _domain_places(root: Path, domain: str) -> list[Path]:
    return [root / "scenarios" / domain, root / "tools" / domain, root / "sync" / f"{domain}.py"]


def digest_files(places: Iterable[Path], suffixes: tuple[str, ...]) -> str:
    """Return one SHA-256 over the names and contents of all files with ``suffixes`` under ``places``, in order."""
    total = hashlib.sha256()
    for number, place in enumerate(places):
        files = [place] if place.is_file() else sorted(path for path in place.rglob("*") if path.suffix in suffixes)
        for path in files:
            name = path.name if path == place else path.relative_to(place).as_posix()
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            total.update(f"{number} {name} {content}\n".encode())
    return total.hexdigest()
