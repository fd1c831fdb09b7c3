import numpy as np
import pytest

from duologue.audio.pcm import TickResampler, level_dbfs


def tone(rate: int, seconds: float, amplitude: float = 0.5) -> np.ndarray:
    return np.sin(2 * np.pi * 440 * np.arange(int(rate * seconds)) / rate) * amplitude * 32767


def through(resampler: TickResampler, track: np.ndarray, rate: int, channels: int = 1) -> np.ndarray:
    size = rate // 50 * channels
    pcm = track.astype("<i2")
    ticks = [pcm[start : start + size].tobytes() for start in range(0, len(pcm), size)]
    return np.frombuffer(b"".join(resampler.push(tick, rate, channels) for tick in ticks), dtype="<i2")


@pytest.mark.parametrize("rate", [8_000, 12_000, 22_050, 24_000, 32_000, 44_100, 48_000])
def test_tone_of_any_rate_comes_out_clean_one_tick_later(rate: int) -> None:
    out = through(TickResampler(), tone(rate, 1.0), rate)
    assert len(out) == 16_000
    expected = tone(16_000, 1.0)
    assert np.abs(out[640:-320] - expected[320:-640]).max() <= 2
    assert not out[:320].any()


def test_own_rate_passes_untouched_and_undelayed() -> None:
    resampler = TickResampler()
    track = tone(16_000, 0.2).astype("<i2")
    assert np.array_equal(through(resampler, track, 16_000), track)
    assert not resampler.is_delayed


def test_channels_are_averaged() -> None:
    stereo = np.tile(np.array([1000, 3000]), 320)
    assert set(through(TickResampler(), stereo, 16_000, 2).tolist()) == {2000}


def test_rate_may_change_within_a_call() -> None:
    resampler = TickResampler()
    parts = [through(resampler, tone(rate, 0.1), rate) for rate in (16_000, 8_000, 24_000, 16_000)]
    assert [len(part) for part in parts] == [1600] * 4
    assert np.abs(parts[3][320:].astype(int) - tone(16_000, 0.1)[:1280].astype(int)).max() <= 1


def test_loud_sound_is_clipped_not_wrapped() -> None:
    square = np.where(np.arange(24_000) % 48 < 24, 32767, -32768)
    out = through(TickResampler(), square, 24_000).astype(int)
    sign = np.sign(out[960:-640])
    assert (np.abs(np.diff(sign)) > 0).sum() == pytest.approx(2 * 500 * 0.9, abs=5)


@pytest.mark.parametrize(("samples", "rate"), [(319, 16_000), (0, 16_000), (640, 16_000), (220, 11_025)])
def test_frame_that_is_not_one_tick_is_refused(samples: int, rate: int) -> None:
    with pytest.raises(ValueError, match="20 ms"):
        TickResampler().push(bytes(2 * samples), rate)


def test_level_of_silence_and_of_a_full_sine() -> None:
    assert level_dbfs(bytes(640)) == level_dbfs(b"") == -120.0
    assert level_dbfs(tone(16_000, 0.1, 1.0).astype("<i2").tobytes()) == pytest.approx(-3.01, abs=0.02)
