"""Conditions of a line from a YAML file."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError

from duologue.errors import ConfigError
from duologue.records.conditions import CLEAN, CLEAN_NAME, LineConditions
from duologue.strict_yaml import load_yaml

_BOTH = "both"


def load_lines(given: Sequence[str]) -> tuple[LineConditions, ...]:
    """Return the lines of ``--line``: each a YAML file, or ``clean``.

    Raises:
        ConfigError: a file is no line, or two lines have one name.
    """
    places: dict[str, str] = {}
    lines = []
    for place in given:
        line = CLEAN if place == CLEAN_NAME else load_line(Path(place))
        if line.name in places:
            raise ConfigError(f"--line {place}: {places[line.name]} has the name {line.name!r} too; rename one of them")
        places[line.name] = place
        lines.append(line)
    return tuple(lines)


def load_line(path: Path) -> LineConditions:
    """Read one line.

    Raises:
        ConfigError: the file is missing or no line; the message names the file, the key and the remedy.
    """
    try:
        value = load_yaml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"--line {path}: {error.strerror or error}; give a YAML file, or {CLEAN_NAME} for a line without effects"
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"--line {path}: not YAML ({' '.join(str(error).split())})") from error
    if not isinstance(value, dict):
        raise ConfigError(f"--line {path}: the top level must be name, and both or to_agent and to_user")
    if value.get("name", CLEAN_NAME) == CLEAN_NAME:
        raise ConfigError(
            f"--line {path}: name: a line needs one, other than {CLEAN_NAME!r}, which is the line without effects"
        )
    try:
        return LineConditions.model_validate(value)
    except ValidationError as error:
        raise ConfigError(
            "\n".join(f"--line {path}: {text}" for text in dict.fromkeys(_explain(error, value)))
        ) from error


def _explain(error: ValidationError, value: dict[str, object]) -> Iterator[str]:
    """Yield one line for each problem: the key as the file has it, what is wrong, and the likely meant key."""
    for problem in error.errors(include_url=False, include_input=False):
        location = [str(part) for part in problem["loc"]]
        shown = [_BOTH, *location[1:]] if _BOTH in value and location[:1] in (["to_agent"], ["to_user"]) else location
        key = f"{'.'.join(shown)}: " if shown else ""
        if problem["type"] != "extra_forbidden":
            yield f"{key}{problem['msg'].removeprefix('Value error, ')}"
            continue
        known = _keys_of(location[:-1])
        near = difflib.get_close_matches(location[-1], known, n=1, cutoff=0.6)
        hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(known)}"
        yield f"{key}unknown key; {hint}"


def _keys_of(location: list[str]) -> list[str]:
    model: type[BaseModel] = LineConditions
    for part in location:
        annotation: Any = model.model_fields[part].annotation
        model = next((item for item in get_args(annotation) if item is not type(None)), annotation)
    return [*model.model_fields, *([_BOTH] if model is LineConditions else [])]
