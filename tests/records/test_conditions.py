"""Conditions of a line as data: ranges, names, what is stored, and the digest."""

from typing import Any

import pytest
from pydantic import ValidationError

from duologue.records.conditions import CLEAN, LineConditions

STREET = {
    "name": "street",
    "to_agent": {"noise": {"level_dbfs": -40}, "gain_db": -6},
    "to_user": {"band": {}, "delay_ms": 100, "loss": {"rate": 0.02}},
}


def read(**data: Any) -> LineConditions:
    return LineConditions.model_validate(data)


def test_clean_line_stores_nothing_and_is_what_nothing_says() -> None:
    assert CLEAN.is_clean
    assert CLEAN.model_dump() == {}
    assert read() == read(name="clean") == read(both=None) == CLEAN


def test_only_what_happens_is_stored_and_read_again() -> None:
    line = read(**STREET)
    assert line.model_dump(mode="json") == {
        "name": "street",
        "to_agent": {"gain_db": -6.0, "noise": {"kind": "pink", "level_dbfs": -40.0}},
        "to_user": {
            "band": {"low_hz": 300.0, "high_hz": 3400.0},
            "loss": {"rate": 0.02, "burst_ms": 60.0},
            "delay_ms": 100,
        },
    }
    assert LineConditions.model_validate_json(line.model_dump_json()) == line


def test_both_says_the_same_for_either_direction() -> None:
    assert read(name="far", both={"delay_ms": 40}) == read(
        name="far", to_agent={"delay_ms": 40}, to_user={"delay_ms": 40}
    )
    with pytest.raises(ValidationError, match="both stands for to_agent and to_user"):
        read(name="far", both={"delay_ms": 40}, to_user={})


def test_digest_is_that_of_name_and_effects() -> None:
    line = read(**STREET)
    assert line.digest == read(**{**STREET, "to_agent": {"gain_db": -6, "noise": {"level_dbfs": -40.0}}}).digest
    others = [{**STREET, "name": "road"}, {**STREET, "to_user": STREET["to_agent"], "to_agent": STREET["to_user"]}]
    assert len({line.digest, CLEAN.digest, *(read(**other).digest for other in others)}) == 4


def test_clean_is_the_name_of_the_clean_line_and_of_no_other() -> None:
    with pytest.raises(ValidationError, match="needs a name other than 'clean'; set name"):
        read(both={"delay_ms": 20})
    with pytest.raises(ValidationError, match="nothing happens on the line 'street'"):
        read(name="street", to_user={})


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ({"delay_ms": 30}, "multiple of 20"),
        ({"delay_ms": 1020}, "less than or equal to 1000"),
        ({"delay_ms": -20}, "greater than or equal to 0"),
        ({"gain_db": 41}, "less than or equal to 40"),
        ({"gain_db": float("nan")}, "less than or equal to 40"),
        ({"noise": {"level_dbfs": 0}}, "less than or equal to -10"),
        ({"noise": {}}, "Field required"),
        ({"noise": {"kind": "brown", "level_dbfs": -40}}, "'white' or 'pink'"),
        ({"band": {"high_hz": 8000}}, "less than or equal to 7900"),
        ({"band": {"low_hz": 3000}}, "at least 1.5 times low_hz"),
        ({"loss": {"rate": 1}}, "less than 1"),
        ({"loss": {"rate": 0}}, "greater than 0"),
        ({"loss": {"rate": 0.9, "burst_ms": 60}}, "needs bursts of 180 ms at least; raise burst_ms"),
        ({"loss": {"rate": 0.1, "burst_ms": 10}}, "greater than or equal to 20"),
        ({"echo": 1}, "Extra inputs are not permitted"),
    ],
)
def test_what_no_line_can_be_is_refused(part: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        read(name="odd", to_user=part)


@pytest.mark.parametrize("name", ["", "Street", "a b", "../x", "-x", "x" * 41])
def test_names_are_fit_for_folders(name: str) -> None:
    with pytest.raises(ValidationError, match="String should"):
        read(name=name, both={"delay_ms": 20})
