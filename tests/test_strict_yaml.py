import pytest
import yaml

from duologue.strict_yaml import load_yaml


@pytest.mark.parametrize(
    "text",
    ["a: 1\na: 2", "s: {k: 1, k: 1}", "- {x: 1, x: 2}", "llm: {type: a}\nstt: {}\nllm: {type: b}", "'a': 1\na: 2"],
)
def test_key_that_occurs_twice_is_refused(text: str) -> None:
    with pytest.raises(yaml.YAMLError, match="occurs twice"):
        load_yaml(text)


@pytest.mark.parametrize("text", ["a: &a [*a]", "a: &a {b: *a}", "&a [[*a]]"])
def test_value_that_holds_itself_is_refused(text: str) -> None:
    with pytest.raises(yaml.YAMLError, match="holds itself"):
        load_yaml(text)


@pytest.mark.slow
def test_endless_nesting_is_refused() -> None:
    with pytest.raises(yaml.YAMLError, match="nested too deeply"):
        load_yaml("[" * 10_000)


def test_sections_may_share_and_override_values() -> None:
    assert load_yaml("a: &a {x: 1, y: 2}\nb: {<<: *a, x: 3}\nc: [*a, *a]") == {
        "a": {"x": 1, "y": 2},
        "b": {"x": 3, "y": 2},
        "c": [{"x": 1, "y": 2}] * 2,
    }


@pytest.mark.parametrize("text", ["!!python/object/apply:os.system ['true']", "!!python/name:os.system", "!x {}"])
def test_nothing_but_plain_values_is_made(text: str) -> None:
    with pytest.raises(yaml.YAMLError):
        load_yaml(text)
