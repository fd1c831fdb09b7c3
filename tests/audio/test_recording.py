import hashlib
from pathlib import Path

import numpy as np
import pytest
import soundfile

from duologue.audio.recording import RecordingWriter, read_recording, recover_recording


def tick(value: int) -> bytes:
    return np.full(320, value, dtype="<i2").tobytes()


def written(path: Path, ticks: int) -> RecordingWriter:
    writer = RecordingWriter(path, 16_000)
    for index in range(ticks):
        writer.append(tick(index), tick(-index))
    return writer


def test_left_is_what_the_agent_heard(tmp_path: Path) -> None:
    info = written(tmp_path / "a.wav", 3).close()
    tracks = read_recording(tmp_path / "a.wav")
    assert (info.samples, tracks.sample_rate_hz) == (960, 16_000)
    assert tracks.agent_heard[::320].tolist() == [0, 1, 2]
    assert tracks.user_heard[::320].tolist() == [0, -1, -2]


def test_file_is_a_plain_wav_and_its_digest_is_of_the_file(tmp_path: Path) -> None:
    info = written(tmp_path / "a.wav", 120).close()
    sound = soundfile.info(tmp_path / "a.wav")
    assert (sound.channels, sound.subtype, sound.frames) == (2, "PCM_16", 120 * 320)
    assert info.sha256 == hashlib.sha256((tmp_path / "a.wav").read_bytes()).hexdigest()


def test_closing_twice_is_harmless(tmp_path: Path) -> None:
    writer = written(tmp_path / "a.wav", 2)
    assert writer.close() == writer.close()


def test_file_that_was_never_closed_opens_up_to_its_last_second(tmp_path: Path) -> None:
    writer = written(tmp_path / "a.wav", 120)
    crashed = tmp_path / "crashed.wav"
    crashed.write_bytes((tmp_path / "a.wav").read_bytes())
    assert len(read_recording(crashed).agent_heard) == 100 * 320
    writer.close()


def test_recovery_brings_back_everything_on_disk(tmp_path: Path) -> None:
    written(tmp_path / "a.wav", 120).close()
    whole = (tmp_path / "a.wav").read_bytes()
    crashed = tmp_path / "crashed.wav"
    crashed.write_bytes(whole[:40] + b"\0\0\0\0" + whole[44:] + b"\1")
    assert recover_recording(crashed) == 120 * 320
    assert crashed.read_bytes() == whole


@pytest.mark.parametrize("content", [b"", b"RIFF", b"x" * 100])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(content)
    for read in (read_recording, recover_recording):
        with pytest.raises(ValueError, match=r"a\.wav"):
            read(path)


def test_stretches_of_different_length_are_refused(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path / "a.wav", 16_000)
    with pytest.raises(ValueError):
        writer.append(tick(0), b"")
    writer.close()


@pytest.mark.parametrize("lost", [1, 2, 3, 5])
def test_file_that_was_cut_within_a_sample_opens_up_to_the_one_before(tmp_path: Path, lost: int) -> None:
    written(tmp_path / "a.wav", 3).close()
    whole = (tmp_path / "a.wav").read_bytes()
    (tmp_path / "a.wav").write_bytes(whole[:-lost])
    assert len(read_recording(tmp_path / "a.wav").agent_heard) == 960 - (lost + 3) // 4


@pytest.mark.parametrize("rate", [0, 1, 2**31 - 1])
def test_rate_that_no_recording_has_is_refused(tmp_path: Path, rate: int) -> None:
    written(tmp_path / "a.wav", 1).close()
    data = bytearray((tmp_path / "a.wav").read_bytes())
    data[24:28] = rate.to_bytes(4, "little")
    (tmp_path / "a.wav").write_bytes(data)
    with pytest.raises(ValueError, match="samples a second"):
        read_recording(tmp_path / "a.wav")
