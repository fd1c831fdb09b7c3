import numpy as np
import pytest

from duologue.audio.edges import SpeechSegment, activity_threshold, frame_levels, speech_segments

RATE = 16_000


def silence(ms: int) -> np.ndarray:
    return np.zeros(RATE * ms // 1000)


def voice(ms: int, amplitude: float = 6000) -> np.ndarray:
    time = np.arange(RATE * ms // 1000) / RATE
    return amplitude * np.sin(2 * np.pi * 180 * time) * (1 + 0.3 * np.sin(2 * np.pi * 4 * time))


def segments(*parts: np.ndarray, noise: float = 0.0) -> list[tuple[int, int]]:
    track = np.concatenate(parts)
    track = track + np.random.default_rng(1).normal(0, noise, len(track)) if noise else track
    found = speech_segments(np.clip(track, -32768, 32767).astype(np.int16), RATE)
    return [(segment.start_ms, segment.end_ms) for segment in found]


def test_speech_between_digital_silence_has_exact_edges() -> None:
    assert segments(silence(500), voice(700), silence(300)) == [(500, 1200)]


def test_short_pause_does_not_split_and_a_long_one_does() -> None:
    assert segments(voice(300), silence(190), voice(300)) == [(0, 790)]
    assert segments(voice(300), silence(210), voice(300)) == [(0, 300), (510, 810)]


def test_click_is_no_speech_but_one_word_is() -> None:
    assert segments(silence(300), voice(50), silence(300), voice(250), silence(300)) == [(650, 900)]


@pytest.mark.parametrize("noise", [10, 40, 100])
def test_edges_hold_over_room_noise(noise: float) -> None:
    (found,) = segments(silence(1000), voice(1000), silence(1000), noise=noise)
    assert found is not None and found == pytest.approx((1000, 2000), abs=10)


@pytest.mark.parametrize("noise", [1, 30, 150])
def test_room_noise_alone_is_no_speech(noise: float) -> None:
    assert segments(silence(5000), noise=noise) == []


def test_track_that_is_all_speech_is_one_segment() -> None:
    assert segments(voice(2000)) == [(0, 2000)]


def test_empty_track_has_no_segments() -> None:
    assert segments(silence(0)) == [] and segments(silence(5)) == []


def test_threshold_stays_within_its_bounds() -> None:
    assert activity_threshold(np.full(100, -120.0)) == -50.0
    assert activity_threshold(np.full(100, -10.0)) == -32.0
    assert activity_threshold(np.full(100, -55.0)) == -43.0


def test_level_of_digital_silence_is_finite() -> None:
    assert frame_levels(np.zeros(320, dtype=np.int16), RATE).tolist() == [-120.0, -120.0]


def test_segment_knows_its_length() -> None:
    assert SpeechSegment(100, 350).duration_ms == 250
