import numpy as np
import pytest

from duologue.protocol.messages import SAMPLE_RATE_HZ, TICK_SAMPLES
from duologue.talk.rates import LINE_RATE_HZ, LINE_SAMPLES, LineFromTicks, Samples, TicksFromLine


def tone(rate_hz: int, seconds: float, hz: float = 440.0) -> Samples:
    times = np.arange(round(rate_hz * seconds)) / rate_hz
    return (0.5 * 32767 * np.sin(2 * np.pi * hz * times)).astype(np.int16)


def purity(samples: Samples, rate_hz: int, hz: float = 440.0) -> float:
    """Return the share of the power that is in the tone; clicks at seams lower it."""
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples)))) ** 2
    bins = np.fft.rfftfreq(len(samples), 1 / rate_hz)
    return float(spectrum[np.abs(bins - hz) < 25].sum() / spectrum.sum())


def test_stereo_line_becomes_ticks_without_seams() -> None:
    stereo = np.repeat(tone(LINE_RATE_HZ, 2.0), 2)
    convert = TicksFromLine()
    ticks = [
        tick
        for start in range(0, len(stereo), 2 * LINE_SAMPLES)
        for tick in convert.push(stereo[start : start + 2 * LINE_SAMPLES], LINE_RATE_HZ, 2)
    ]
    assert 96 <= len(ticks) <= 100
    assert {len(tick) for tick in ticks} == {2 * TICK_SAMPLES}
    heard = np.frombuffer(b"".join(ticks[5:]), dtype="<i2")
    assert purity(heard, SAMPLE_RATE_HZ) > 0.9999


def test_line_may_change_its_rate_and_frame_length() -> None:
    convert = TicksFromLine()
    ticks = convert.push(tone(16_000, 0.03), 16_000, 1)
    assert len(ticks) == 1
    ticks += convert.push(tone(8_000, 1.0), 8_000, 1)
    assert 45 <= len(ticks) <= 52


def test_torn_frames_are_refused() -> None:
    with pytest.raises(ValueError, match="3 samples are not whole frames of 2 channels"):
        TicksFromLine().push(np.zeros(3, dtype=np.int16), LINE_RATE_HZ, 2)


def test_each_tick_gives_one_line_frame_without_seams() -> None:
    voice, convert = tone(SAMPLE_RATE_HZ, 2.0), LineFromTicks()
    frames = [
        convert.push(voice[start : start + TICK_SAMPLES].tobytes()) for start in range(0, len(voice), TICK_SAMPLES)
    ]
    assert {len(frame) for frame in frames} == {LINE_SAMPLES}
    assert purity(np.concatenate(frames[5:]), LINE_RATE_HZ) > 0.9999
