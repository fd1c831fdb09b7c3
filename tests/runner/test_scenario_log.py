import asyncio
import logging
from pathlib import Path

import pytest

from duologue.runner.scenario_log import scenario_log

logger = logging.getLogger("duologue.test")


@pytest.fixture(autouse=True)
def informative() -> None:
    logging.getLogger("duologue").setLevel(logging.INFO)


def new(folder: Path) -> Path:
    folder.mkdir()
    return folder


async def attempt(folder: Path, scenario: str) -> None:
    with scenario_log(folder, scenario):
        await asyncio.sleep(0)
        logger.info("turn ended", extra={"scenario": scenario})
        await asyncio.create_task(child(scenario))


async def child(scenario: str) -> None:
    logger.info("child of %s", scenario)


def text(folder: Path) -> str:
    return (folder / "bridge_log.txt").read_text(encoding="utf-8")


async def test_attempts_at_the_same_time_keep_their_records_apart(tmp_path: Path) -> None:
    await asyncio.gather(attempt(new(tmp_path / "a"), "first"), attempt(new(tmp_path / "b"), "second"))
    assert "child of first" in text(tmp_path / "a")
    assert "second" not in text(tmp_path / "a")
    assert "child of second" in text(tmp_path / "b")


async def test_fields_of_a_record_are_written(tmp_path: Path) -> None:
    await attempt(new(tmp_path / "a"), "first")
    assert "duologue.test: turn ended scenario='first'" in text(tmp_path / "a")


async def test_nothing_is_written_after_the_block(tmp_path: Path) -> None:
    await attempt(new(tmp_path / "a"), "first")
    logger.info("afterwards")
    assert "afterwards" not in text(tmp_path / "a")
