"""Resources live as long as the run, clones as long as the attempt, whatever happens in between."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from duologue.errors import RegistryError, ResourceFailed
from duologue.records.scenario import Scenario
from duologue.toolkit.resource_life import RunResources, started_resources
from duologue.toolkit.resources import RESOURCES, CloneOrder, Resource, ResourceSetup
from tests.toolkit.shelf import DOMAIN, JOURNAL, ShelfClone, ShelfResource, shelf_scenario

SCENARIO = shelf_scenario()


class Told(ShelfResource):
    """A shelf whose behaviour a test gives."""

    def __init__(self, setup: ResourceSetup, given: dict[str, Any]) -> None:
        super().__init__(setup)
        self._given = given
        self.url = setup.url

    async def start(self) -> None:
        await self._given.get("start", super().start)()

    async def clone(self, order: CloneOrder) -> ShelfClone:
        if error := self._given.get("clone"):
            raise error
        return await super().clone(order)


@pytest.fixture(autouse=True)
def journal() -> Iterator[None]:
    JOURNAL.clear()
    yield


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[list[Told], dict[str, Any]]]:
    """The resources that were made, and what tests give them."""
    found: list[Told] = []
    given: dict[str, Any] = {}

    def factory(setup: ResourceSetup) -> Resource:
        found.append(Told(setup, given))
        return found[-1]

    monkeypatch.setitem(RESOURCES._entries, (DOMAIN, "shelf"), factory)
    yield found, given


async def test_clones_are_apart_and_everything_is_closed_in_reverse_order() -> None:
    async with (
        started_resources([SCENARIO, SCENARIO]) as resources,
        resources.cloned(SCENARIO, "a") as one,
        resources.cloned(SCENARIO, "b") as other,
    ):
        one.clones["shelf"].handle.state["apples"] = 0  # type: ignore[attr-defined]
        assert [item.data for item in await other.snapshots("final")] == [{"apples": 3}]
    assert JOURNAL == ["start", "close clone b", "close clone a", "close"]


async def test_run_whose_scenarios_use_nothing_starts_nothing() -> None:
    from tests.bridge.counter_shop import shop_scenario

    async with started_resources([shop_scenario()]) as resources, resources.cloned(shop_scenario(), "a") as clones:
        assert clones.clones == {}
    assert JOURNAL == []


async def test_cancelled_attempt_closes_its_clones_and_the_run_its_resources() -> None:
    inside = asyncio.Event()

    async def attempt() -> None:
        async with started_resources([SCENARIO]) as resources, resources.cloned(SCENARIO, "a"):
            inside.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(attempt())
    await inside.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert JOURNAL == ["start", "close clone a", "close"]


async def test_start_that_fails_or_never_ends_is_named_with_a_remedy(made: tuple[list[Told], dict[str, Any]]) -> None:
    async def fail() -> None:
        raise OSError("no port")

    made[1]["start"] = fail
    wanted = r"resource shelf: domain resource_shelf cannot be run without it; starting: OSError: no port; .*--resource"
    with pytest.raises(ResourceFailed, match=wanted):
        async with started_resources([SCENARIO]):
            raise AssertionError
    assert JOURNAL == ["close"]

    async def hang() -> None:
        await asyncio.Event().wait()

    made[1]["start"] = hang
    with pytest.raises(ResourceFailed, match=r"starting: no answer within 0\.05 s"):
        async with started_resources([SCENARIO], start_s=0.05):
            raise AssertionError


async def test_resources_start_at_once_and_one_that_fails_stops_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    both = asyncio.Barrier(2)

    class First(ShelfResource):
        async def start(self) -> None:
            await both.wait()
            await asyncio.Event().wait()

        async def close(self) -> None:
            JOURNAL.append("close first")

    class Second(ShelfResource):
        async def start(self) -> None:
            await both.wait()
            raise OSError("no port")

        async def close(self) -> None:
            JOURNAL.append("close second")
            raise RuntimeError("and it does not close either")

    for name, kind in (("one", First), ("two", Second)):
        monkeypatch.setitem(RESOURCES._entries, (DOMAIN, name), kind)
    resources = RunResources()
    with pytest.raises(ResourceFailed, match="resource two"):
        await resources.start([(DOMAIN, "one"), (DOMAIN, "two")], {})
    await resources.close()
    assert JOURNAL == ["close second", "close first"]


async def test_resource_that_died_is_started_again_for_the_next_attempt(
    made: tuple[list[Told], dict[str, Any]],
) -> None:
    async with started_resources([SCENARIO]) as resources:
        async with resources.cloned(SCENARIO, "a"):
            made[0][0].lives = False
        async with resources.cloned(SCENARIO, "b") as clones:
            assert [item.data for item in await clones.snapshots("initial")] == [{"apples": 3}]
    assert JOURNAL == ["start", "close clone a", "close", "start", "close clone b", "close"]


async def test_clone_that_cannot_be_made_is_named_and_does_not_restart_what_others_use(
    made: tuple[list[Told], dict[str, Any]],
) -> None:
    async with started_resources([SCENARIO]) as resources:
        made[1]["clone"] = ValueError("no such seed")
        with pytest.raises(ResourceFailed, match="resource shelf: cloning it: ValueError: no such seed"):
            async with resources.cloned(SCENARIO, "a"):
                raise AssertionError
        assert JOURNAL == ["start"]


async def test_address_is_given_to_the_resource_of_that_name(made: tuple[list[Told], dict[str, Any]]) -> None:
    async with started_resources([SCENARIO], {"shelf": "http://localhost:9"}):
        assert made[0][0].url == "http://localhost:9"
    with pytest.raises(RegistryError, match="--resource cellar: no scenario of this run uses it; used: shelf"):
        async with started_resources([SCENARIO], {"cellar": "http://localhost:9"}):
            raise AssertionError


def test_resource_data_is_stored_only_where_there_is_some() -> None:
    assert "resource_data" not in shelf_scenario(resource_data={}).model_dump()
    assert Scenario.model_validate_json(SCENARIO.model_dump_json()) == SCENARIO
