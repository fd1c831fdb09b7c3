"""Whether a call's arguments are what a tool declares: names, types, enumerations and bounds."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, best_match

from duologue.errors import InvalidArguments, RegistryError

_MOST_CHARS = 300
"""How much of a misfit is told: it quotes the value, which may be of any length."""


def check_schema(name: str, schema: Mapping[str, object]) -> None:
    """Raise RegistryError when the parameters of tool ``name`` are not a JSON schema (draft 2020-12)."""
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise RegistryError(f"the parameters of tool {name!r} are no JSON schema: {error.message}") from error


def bind_arguments(
    name: str, body: Callable[..., object], known: Mapping[str, object], arguments: Mapping[str, object]
) -> None:
    """Raise InvalidArguments when ``arguments`` lack a name that ``body`` needs, or have one that it does not know."""
    try:
        inspect.signature(body).bind(None, **arguments)
    except TypeError as error:
        expected = ", ".join(known) or "none"
        raise InvalidArguments(f"{name}: {error}; expected arguments: {expected}") from error


def check_values(
    name: str, body: Callable[..., Any], properties: Mapping[str, object], arguments: Mapping[str, object]
) -> None:
    """Raise InvalidArguments when a value does not fit its JSON schema; a parameter's own default always fits."""
    parameters = inspect.signature(body).parameters
    given = {key: value for key, value in arguments.items() if key in properties}
    for key in [key for key, value in given.items() if key in parameters and value is parameters[key].default]:
        del given[key]
    problem = best_match(Draft202012Validator({"properties": dict(properties)}).iter_errors(given))
    if problem is not None:
        where = ".".join(str(part) for part in problem.absolute_path)
        raise InvalidArguments(f"{name}: {where}: {problem.message}"[:_MOST_CHARS])
