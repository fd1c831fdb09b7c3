"""What a line does to sound: each effect measured, and what is random drawn from the key alone."""

import itertools
from typing import Any

import numpy as np
import pytest

from duologue.audio.filters import band_pass, pink_filter
from duologue.audio.line import Channel, Line
from duologue.audio.pcm import Samples, level_dbfs, samples_of
from duologue.records.conditions import CLEAN, ChannelConditions, LineConditions

RATE_HZ, FRAME = 16_000, 320
EVERYTHING = {
    "gain_db": -3,
    "noise": {"level_dbfs": -40},
    "band": {},
    "loss": {"rate": 0.1},
    "delay_ms": 60,
}


def channel(key: str = "key", **conditions: Any) -> Channel:
    return Channel(ChannelConditions.model_validate(conditions), key)


def tone(hz: float, seconds: float, peak: float = 10_000) -> Samples:
    at = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    return np.rint(peak * np.sin(2 * np.pi * hz * at)).astype("<i2")


def speech(frames: int) -> Samples:
    return np.rint(np.random.default_rng(1).standard_normal(frames * FRAME) * 2000).astype("<i2")


def carried(line: Channel, sound: Samples) -> Samples:
    """The whole of ``sound`` through a line, frame by frame."""
    frames = sound.reshape(-1, FRAME)
    return samples_of(b"".join(line.carry(frame.tobytes()) for frame in frames))


def silence(seconds: float) -> Samples:
    return np.zeros(round(seconds * RATE_HZ), dtype="<i2")


def test_clean_channel_returns_the_very_bytes() -> None:
    pcm = speech(1).tobytes()
    assert channel().carry(pcm) is pcm
    assert Line(CLEAN, "key").to_user.carry(pcm) is pcm


@pytest.mark.parametrize(("hz", "is_passed"), [(50, False), (100, False), (1000, True), (2000, True), (6000, False)])
def test_telephone_band_takes_20_db_outside_and_less_than_1_db_inside(hz: float, is_passed: bool) -> None:
    sound = tone(hz, 2.0)
    heard = carried(channel(band={}), sound)[RATE_HZ // 2 :]
    loss_db = level_dbfs(sound.tobytes()) - level_dbfs(heard.tobytes())
    assert abs(loss_db) < 1 if is_passed else loss_db > 20


@pytest.mark.parametrize("hz", [300, 3400])
def test_band_is_3_db_down_at_its_ends(hz: float) -> None:
    heard = carried(channel(band={}), tone(hz, 2.0))[RATE_HZ // 2 :]
    assert level_dbfs(tone(hz, 2.0).tobytes()) - level_dbfs(heard.tobytes()) == pytest.approx(3.01, abs=0.05)


def test_filter_over_frames_is_the_recursion_over_the_whole() -> None:
    """Textbook recursion of the same sections, sample by sample over everything at once."""
    wave = speech(30).astype(np.float64)
    whole = wave.copy()
    for hz, is_high in ((300, True), (3400, False)):
        for q in (0.54119610, 1.30656296):
            omega = 2 * np.pi * hz / RATE_HZ
            cos, alpha = np.cos(omega), np.sin(omega) / (2 * q)
            edge = (1 + cos) / 2 if is_high else (1 - cos) / 2
            b = np.array([edge, -2 * edge if is_high else 2 * edge, edge]) / (1 + alpha)
            a1, a2 = -2 * cos / (1 + alpha), (1 - alpha) / (1 + alpha)
            out = np.zeros_like(whole)
            for n in range(len(whole)):
                past = [whole[n - k] if n >= k else 0.0 for k in range(3)]
                y1, y2 = (out[n - k] if n >= k else 0.0 for k in (1, 2))
                out[n] = b @ past - a1 * y1 - a2 * y2
            whole = out
    frames = [wave[start : start + FRAME] for start in range(0, len(wave), FRAME)]
    filtered = band_pass(300, 3400, RATE_HZ)
    assert np.concatenate([filtered.filter(frame) for frame in frames]) == pytest.approx(whole, abs=1e-6)


@pytest.mark.parametrize("size", [80, 160, 640, 9600])
def test_filters_do_not_depend_on_how_sound_is_cut(size: int) -> None:
    wave = speech(30).astype(np.float64)
    for build in (lambda: band_pass(300, 3400, RATE_HZ), pink_filter):
        whole, cut = build(), build()
        pieces = [cut.filter(wave[start : start + size]) for start in range(0, len(wave), size)]
        assert np.array_equal(np.concatenate(pieces), whole.filter(wave))


@pytest.mark.parametrize("kind", ["white", "pink"])
@pytest.mark.parametrize("level_dbfs_asked", [-60, -40, -25])
def test_noise_has_the_level_that_is_asked(kind: str, level_dbfs_asked: float) -> None:
    heard = carried(channel(noise={"kind": kind, "level_dbfs": level_dbfs_asked}), silence(30))
    assert level_dbfs(heard.tobytes()) == pytest.approx(level_dbfs_asked, abs=0.5)


def octave_levels(sound: Samples) -> list[float]:
    power = np.abs(np.fft.rfft(sound.astype(np.float64))) ** 2
    hz = np.fft.rfftfreq(len(sound), 1 / RATE_HZ)
    octaves = [(low, 2 * low) for low in (125, 250, 500, 1000, 2000)]
    return [10 * np.log10(power[(hz >= low) & (hz < high)].sum()) for low, high in octaves]


def test_pink_noise_has_equal_power_in_every_octave_and_white_noise_3_db_more_in_each() -> None:
    steps = {}
    for kind in ("pink", "white"):
        heard = carried(channel(noise={"kind": kind, "level_dbfs": -30}), silence(30))
        levels = octave_levels(heard)
        steps[kind] = [after - before for before, after in itertools.pairwise(levels)]
    assert steps["pink"] == pytest.approx([0] * 4, abs=0.5)
    assert steps["white"] == pytest.approx([3.01] * 4, abs=0.5)


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "burst_ms"), [(0.02, 60), (0.1, 20), (0.2, 200), (0.6, 100)])
def test_loss_has_the_share_and_the_bursts_that_are_asked(rate: float, burst_ms: float) -> None:
    line, loud = channel(loss={"rate": rate, "burst_ms": burst_ms}), tone(500, 0.02)
    lost = [not any(line.carry(loud.tobytes())) for _ in range(100_000)]
    bursts = [len(list(run)) for is_lost, run in itertools.groupby(lost) if is_lost]
    assert sum(lost) / len(lost) == pytest.approx(rate, rel=0.1)
    assert 20 * sum(bursts) / len(bursts) == pytest.approx(burst_ms, rel=0.1)


def test_lost_frame_is_digital_silence_and_the_others_are_untouched() -> None:
    line, sound = channel(loss={"rate": 0.3}), speech(200)
    heard = carried(line, sound).reshape(-1, FRAME)
    lost = ~heard.any(axis=1)
    assert 20 < lost.sum() < 120
    assert np.array_equal(heard[~lost], sound.reshape(-1, FRAME)[~lost])


@pytest.mark.parametrize("delay_ms", [20, 100, 1000])
def test_delay_is_exact(delay_ms: int) -> None:
    sound, late = speech(100), delay_ms * RATE_HZ // 1000
    heard = carried(channel(delay_ms=delay_ms), sound)
    assert not heard[:late].any()
    assert np.array_equal(heard[late:], sound[: len(sound) - late])


@pytest.mark.parametrize("gain_db", [-12, 6])
def test_gain_changes_the_level_by_itself(gain_db: float) -> None:
    sound = tone(1000, 1.0, peak=5000)
    heard = carried(channel(gain_db=gain_db), sound)
    assert level_dbfs(heard.tobytes()) - level_dbfs(sound.tobytes()) == pytest.approx(gain_db, abs=0.01)


def test_gain_clips_and_never_wraps_around() -> None:
    sound = tone(1000, 1.0, peak=20_000)
    heard = carried(channel(gain_db=20), sound)
    assert (heard.max(), heard.min()) == (32767, -32768)
    assert np.array_equal(np.sign(heard), np.sign(sound))


def test_noise_goes_through_the_band_and_not_into_lost_frames() -> None:
    noise = {"kind": "white", "level_dbfs": -30}
    through = carried(channel(noise=noise, band={}), silence(10))
    open_line = carried(channel(noise=noise), silence(10))
    assert level_dbfs(open_line.tobytes()) - level_dbfs(through.tobytes()) > 3
    lossy = carried(channel(noise=noise, loss={"rate": 0.5}), silence(10)).reshape(-1, FRAME)
    assert 100 < (~lossy.any(axis=1)).sum() < 400


def test_equal_keys_give_equal_bytes() -> None:
    first, second = (carried(channel("key", **EVERYTHING), speech(300)) for _ in range(2))
    assert np.array_equal(first, second)


def test_every_part_of_the_key_and_every_direction_gives_other_bytes() -> None:
    conditions = LineConditions.model_validate({"name": "all", "both": EVERYTHING})
    found = []
    for key in ("a\n1\n0", "b\n1\n0", "a\n2\n0", "a\n1\n1"):
        line = Line(conditions, key)
        found += [carried(line.to_agent, speech(50)).tobytes(), carried(line.to_user, speech(50)).tobytes()]
    assert len(set(found)) == 8


def test_what_is_lost_does_not_change_the_noise_of_what_arrives() -> None:
    noise: dict[str, Any] = {"noise": {"level_dbfs": -30}}
    open_line = carried(channel(**noise), silence(2)).reshape(-1, FRAME)
    lossy = carried(channel(**noise, loss={"rate": 0.3}), silence(2)).reshape(-1, FRAME)
    arrived = lossy.any(axis=1)
    assert np.array_equal(lossy[arrived], open_line[arrived])


def test_level_of_speech_arrives_with_it_and_knows_no_noise() -> None:
    line, loud = channel(noise={"level_dbfs": -20}, delay_ms=40, gain_db=-6), tone(500, 0.02)
    levels = []
    for sound in (loud, silence(0.02), silence(0.02), silence(0.02)):
        line.carry(sound.tobytes())
        levels.append((line.arrived_dbfs, line.loudest_dbfs))
    said = level_dbfs(loud.tobytes()) - 6
    assert levels == [(-120.0, said), (-120.0, said), (said, said), (-126.0, -126.0)]


def test_speech_in_a_lost_frame_does_not_arrive() -> None:
    line, loud = channel(loss={"rate": 0.5}), tone(500, 0.02).tobytes()
    for _ in range(200):
        is_lost = not any(line.carry(loud))
        assert line.arrived_dbfs == (-120.0 if is_lost else level_dbfs(loud))


def test_other_lengths_than_a_frame_are_refused() -> None:
    with pytest.raises(ValueError, match="a line carries 320 samples at once, not 160"):
        channel(delay_ms=20).carry(bytes(320))
