import numpy as np
import pytest

from duologue.bridge.realtime_buffer import MAX_AHEAD_S, TICK_BYTES, JitterBuffer
from duologue.protocol.messages import AudioChunk

SILENCE = bytes(TICK_BYTES)


def loud(ms: int, rate: int = 16000, channels: int = 1) -> AudioChunk:
    return AudioChunk(np.full(rate * ms // 1000 * channels, 5000, dtype="<i2").tobytes(), rate, channels)


def is_heard(buffer: JitterBuffer, ticks: int) -> str:
    """One letter a tick: x for sound, . for silence."""
    return "".join("x" if any(buffer.pop()) else "." for _ in range(ticks))


def test_the_first_sound_is_held_back_and_then_unbroken() -> None:
    buffer = JitterBuffer(80)
    buffer.push(loud(100))
    assert is_heard(buffer, 8) == "....xxxx"
    buffer.push(loud(40))
    assert is_heard(buffer, 4) == "xxx."
    assert buffer.gaps == 0


def test_sound_that_comes_late_leaves_a_gap_that_is_counted() -> None:
    buffer = JitterBuffer(0)
    buffer.push(loud(20))
    assert is_heard(buffer, 3) == "x.."
    buffer.push(loud(20))
    assert is_heard(buffer, 1) == "x"
    assert buffer.gaps == 1


def test_after_a_pause_of_more_than_five_ticks_sound_is_held_back_again() -> None:
    buffer = JitterBuffer(40)
    buffer.push(loud(20))
    assert is_heard(buffer, 9) == "..x......"
    buffer.push(loud(20))
    assert is_heard(buffer, 4) == "..x."
    assert buffer.gaps == 0


def test_ten_seconds_in_one_burst_are_played_as_ten_seconds() -> None:
    buffer = JitterBuffer(0)
    for _ in range(100):
        buffer.push(loud(100))
    assert is_heard(buffer, 501) == 500 * "x" + "."


def test_an_interruption_drops_what_was_not_played() -> None:
    buffer = JitterBuffer(0)
    buffer.push(loud(10_000, 24000))
    assert is_heard(buffer, 3) == "xxx"
    buffer.drop()
    assert is_heard(buffer, 10) == 10 * "."
    buffer.push(loud(20))
    assert is_heard(buffer, 2) == "x."


def test_a_tail_shorter_than_a_tick_is_played() -> None:
    buffer = JitterBuffer(0)
    buffer.push(loud(25))
    assert is_heard(buffer, 3) == "xx."


@pytest.mark.parametrize(("rate", "channels"), [(8000, 1), (24000, 1), (24000, 2), (48000, 2), (44100, 1)])
def test_a_tone_of_any_rate_stays_one_line_however_it_is_cut(rate: int, channels: int) -> None:
    wave = (np.sin(2 * np.pi * 440 * np.arange(rate) / rate) * 8000).astype("<i2")
    interleaved = np.repeat(wave, channels).reshape(-1, channels)
    buffer = JitterBuffer(0)
    for start in range(0, rate, 777):
        buffer.push(AudioChunk(interleaved[start : start + 777].tobytes(), rate, channels))
    heard = np.frombuffer(b"".join(buffer.pop() for _ in range(50)), dtype="<i2").astype(float)
    middle = heard[1600:14400] * np.hanning(12800)
    spectrum = np.abs(np.fft.rfft(middle)) ** 2
    peak = int(spectrum.argmax())
    assert peak * 16000 / 12800 == pytest.approx(440, abs=1.3)
    assert spectrum.sum() - spectrum[peak - 3 : peak + 4].sum() < 1e-5 * spectrum.sum()


def test_a_rate_may_change_between_frames() -> None:
    buffer = JitterBuffer(0)
    for rate in (24000, 16000, 8000):
        buffer.push(loud(100, rate))
    heard = np.frombuffer(b"".join(buffer.pop() for _ in range(20)), dtype="<i2")
    assert abs(np.count_nonzero(np.abs(heard) > 2500) - 4800) < 20


def test_a_bot_that_sends_silence_as_well_catches_up_in_its_silence() -> None:
    buffer = JitterBuffer(40, skips_silence=True)
    buffer.push(AudioChunk(25 * SILENCE))
    buffer.push(loud(40))
    assert is_heard(buffer, 8) == "...xx..."


def test_a_flood_is_refused() -> None:
    buffer = JitterBuffer(0)
    with pytest.raises(ValueError, match=f"more than {MAX_AHEAD_S} s"):
        for _ in range(MAX_AHEAD_S + 1):
            buffer.push(AudioChunk(bytes(32000)))
