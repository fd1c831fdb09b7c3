"""Own classes by ``module:Class``: finding, checking and building them, with errors that say what to change."""

from __future__ import annotations

import difflib
import importlib
import inspect
import sys
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from duologue.config import BotConfig
from duologue.errors import ConfigError

T = TypeVar("T")

_SECRET_WORDS = ("key", "token", "secret", "password", "credential")


@dataclass(frozen=True, slots=True)
class Plug:
    """A class named in a configuration.

    Args:
        name: ``module:Class``.
        key: where it is named, for errors (``stt.service``).
        settings: arguments of its constructor.
        source: the configuration file; modules beside it are found.
    """

    name: str
    key: str
    settings: Mapping[str, Any]
    source: Path | None = None

    @property
    def where(self) -> str:
        """File and key."""
        return f"{self.source}: {self.key}" if self.source else self.key

    def make(self, base: type[T]) -> T:
        """Return an object of the class, which has to be a ``base``, made from the settings.

        Raises:
            ConfigError: the class does not fit (see :meth:`load`), or refuses its settings (see :meth:`build`).
        """
        return self.build(self.load(base))

    def load(self, base: type[T]) -> type[T]:
        """Return the class.

        Raises:
            ConfigError: its module cannot be imported, has no such class, or the class is not a ``base``.
        """
        module_name, _, class_name = self.name.partition(":")
        found = getattr(module := self._module(module_name), class_name, None)
        if found is None:
            names = [name for name, value in vars(module).items() if inspect.isclass(value)]
            near = difflib.get_close_matches(class_name, names, n=1) or names[:5]
            raise ConfigError(
                f"{self.where}: {module_name} ({_file_of(module)}) has no {class_name}; it has: {', '.join(near)}"
            )
        if not (inspect.isclass(found) and issubclass(found, base)):
            wanted = f"{base.__module__}.{base.__qualname__}"
            raise ConfigError(f"{self.where}: {self.name} does not fit: it has to be a subclass of {wanted}")
        return found

    def build(self, cls: type[T], *, by: type[Any] | None = None, **own: object) -> T:
        """Return an object of the class, or of ``by``, made from it; ``own`` are arguments that the harness gives.

        Raises:
            ConfigError: the constructor refuses the settings; the message shows what it takes.
        """
        try:
            return (by or cls)(**self._arguments(cls), **own)
        except ConfigError as error:
            raise ConfigError(f"{self.where}: {error}") from error
        except Exception as error:
            reason = self._without_secrets(f"{type(error).__name__}: {error}")
            raise ConfigError(
                f"{self.where}: {self.name} refused its settings: {reason}; {self._settings_key} are the arguments "
                f"of {cls.__name__}({_parameters(cls)})"
            ) from error

    @property
    def _settings_key(self) -> str:
        return f"{self.key.rpartition('.')[0]}.settings"

    def _module(self, name: str) -> object:
        _search_beside(self.source)
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not (name == error.name or name.startswith(f"{error.name}.")):
                raise ConfigError(f"{self.where}: {_needs(name, error)}") from error
            folders = ", ".join(dict.fromkeys(str(folder) for folder in _folders(self.source)))
            raise ConfigError(
                f"{self.where}: there is no module {error.name!r} in {folders} and none is installed; "
                "put it beside the configuration file or install it"
            ) from error
        except Exception as error:
            raise ConfigError(f"{self.where}: {_needs(name, error)}") from error

    def _arguments(self, cls: type[object]) -> dict[str, object]:
        """Return the settings with mappings turned into the typed objects that the constructor wants."""
        hints = _hints(cls.__init__)
        arguments = {name: _typed(value, hints.get(name)) for name, value in self.settings.items()}
        nested = getattr(cls, "Settings", None)
        if isinstance(arguments.get("settings"), dict) and inspect.isclass(nested) and is_dataclass(nested):
            arguments["settings"] = _dataclass(nested, arguments["settings"])
        return arguments

    def _without_secrets(self, text: str) -> str:
        for secret in _secrets(self.settings):
            text = text.replace(secret, "***")
        return text


def plug_in(config: BotConfig, section: str) -> Plug:
    """Return the class that replaces ``stt``, ``llm`` or ``tts``; only for a section that names one."""
    part = getattr(config, section)
    is_type = section == "llm" and part.service is None
    name = part.plug if is_type else part.service
    return Plug(name, f"{section}.{'type' if is_type else 'service'}", part.settings, config.source)


def make_plug(config: BotConfig, section: str, base: type[T]) -> T:
    """Return an object of the class that replaces ``stt`` or ``tts``, which has to be a ``base``.

    Raises:
        ConfigError: the class does not fit, or refuses its settings.
    """
    return plug_in(config, section).make(base)


def _folders(source: Path | None) -> list[Path]:
    beside = [source.resolve().parent] if source else []
    return [*beside, Path.cwd()]


def _search_beside(source: Path | None) -> None:
    for folder in _folders(source):
        if str(folder) not in sys.path:
            sys.path.append(str(folder))
    importlib.invalidate_caches()


def _needs(name: str, error: Exception) -> str:
    remedy = "install what it needs"
    if name.startswith("pipecat.services."):
        remedy += f", for example pip install 'pipecat-ai[{name.split('.')[2]}]'"
    return f"importing {name} failed: {type(error).__name__}: {error}; {remedy}"


def _file_of(module: object) -> str:
    return getattr(module, "__file__", None) or "built in"


def _parameters(cls: type[object]) -> str:
    try:
        return ", ".join(inspect.signature(cls).parameters)
    except (TypeError, ValueError):
        return "..."


def _hints(function: Callable[..., object]) -> dict[str, object]:
    """Return the annotations of a function, without those that name what only a type checker imports."""
    try:
        return typing.get_type_hints(function)
    except (NameError, TypeError):
        return dict(inspect.get_annotations(function))


def _typed(value: object, hint: object) -> Any:
    """Return a mapping as the model or dataclass that ``hint`` names; everything else as it is."""
    if not isinstance(value, dict):
        return value
    for kind in (hint, *typing.get_args(hint)):
        if inspect.isclass(kind) and issubclass(kind, BaseModel):
            return kind.model_validate(value)
        if inspect.isclass(kind) and is_dataclass(kind):
            return _dataclass(kind, value)
    return value


def _dataclass(cls: Any, values: Mapping[str, object]) -> object:
    hints = {field.name: field.type for field in fields(cls)}
    return cls(**{name: _typed(value, hints.get(name)) for name, value in values.items()})


def _secrets(settings: object) -> list[str]:
    if not isinstance(settings, Mapping):
        return []
    found = []
    for name, value in settings.items():
        if isinstance(value, str) and value and any(word in name.lower() for word in _SECRET_WORDS):
            found.append(value)
        found += _secrets(value)
    return found
