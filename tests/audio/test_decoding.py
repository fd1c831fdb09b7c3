import io

import numpy as np
import pytest
import soundfile

from duologue.audio.decoding import decode_audio, duration_ms


def file_of(samples, rate_hz, kind):
    file = io.BytesIO()
    soundfile.write(file, samples, rate_hz, format=kind)
    return file.getvalue()


def tone(seconds, rate_hz):
    return (0.5 * np.sin(2 * np.pi * 440 * np.arange(int(seconds * rate_hz)) / rate_hz)).astype(np.float32)


@pytest.mark.parametrize("kind", ["WAV", "FLAC", "OGG", "MP3"])
@pytest.mark.parametrize("rate_hz", [16000, 44100])
def test_every_kind_and_rate_becomes_mono_at_the_wanted_rate(kind, rate_hz):
    data = file_of(np.stack([tone(1, rate_hz)] * 2, axis=1), rate_hz, kind)
    samples = decode_audio(data, 16000)
    assert abs(len(samples) - 16000) < 1600 and samples.dtype == np.float32
    peak = np.argmax(np.abs(np.fft.rfft(samples[:16000]))) * 16000 / min(len(samples), 16000)
    assert abs(peak - 440) < 2


def test_channels_are_averaged():
    data = file_of(np.array([[0.5, -0.5], [0.5, 0.5]]), 16000, "WAV")
    assert np.allclose(decode_audio(data, 16000), [0.0, 0.5], atol=1e-3)


@pytest.mark.parametrize(("data", "message"), [(b"", "the file is empty"), (b"junk" * 100, "not an audio file")])
def test_what_is_no_sound_is_an_error(data, message):
    with pytest.raises(ValueError, match=message):
        decode_audio(data, 16000)


def test_the_length_is_read_without_decoding_and_unknown_is_nothing():
    assert duration_ms(file_of(tone(1.5, 8000), 8000, "WAV")) == 1500
    assert duration_ms(b"junk") == 0
