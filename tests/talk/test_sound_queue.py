from duologue.protocol.messages import TICK_SAMPLES
from duologue.talk.sound_queue import SILENCE, SoundQueue

LOUD = (b"\x00\x40" * TICK_SAMPLES)[: 2 * TICK_SAMPLES]


def numbered(number: int) -> bytes:
    return LOUD[:-2] + number.to_bytes(2, "little")


def test_sound_begins_once_the_lead_is_there() -> None:
    queue = SoundQueue(lead=2)
    queue.put(numbered(1))
    assert queue.take() == SILENCE
    queue.put(numbered(2))
    assert [queue.take(), queue.take(), queue.take()] == [numbered(1), numbered(2), SILENCE]
    assert queue.ran_dry == 1


def test_words_are_kept_whatever_the_delay() -> None:
    queue = SoundQueue(lead=1, slack=0)
    for number in range(50):
        queue.put(numbered(number))
    assert [queue.take() for _ in range(50)] == [numbered(number) for number in range(50)]


def test_silence_is_left_out_until_the_delay_is_gone() -> None:
    queue = SoundQueue(lead=2, slack=1)
    for _ in range(30):
        queue.put(SILENCE)
    queue.take()
    assert len(queue) == 1


def test_delay_below_the_slack_stays() -> None:
    queue = SoundQueue(lead=2, slack=3)
    for _ in range(5):
        queue.put(SILENCE)
    queue.take()
    assert len(queue) == 4


def test_passing_delay_of_a_patient_queue_stays() -> None:
    queue = SoundQueue(lead=2, slack=0, patience=10)
    for _ in range(30):
        queue.put(SILENCE)
    for _ in range(10):
        queue.take()
    assert len(queue) == 20


def test_standing_delay_of_a_patient_queue_goes() -> None:
    queue = SoundQueue(lead=2, slack=0, patience=10)
    for _ in range(30):
        queue.put(SILENCE)
    for _ in range(25):
        queue.put(SILENCE)
        queue.take()
    assert len(queue) <= 3


def test_oldest_go_beyond_the_limit_and_are_counted() -> None:
    queue = SoundQueue(lead=1, limit=3)
    for number in range(5):
        queue.put(numbered(number))
    assert queue.lost == 2
    assert queue.take() == numbered(2)


def test_cleared_queue_waits_for_its_lead_again() -> None:
    queue = SoundQueue(lead=1)
    queue.put(LOUD)
    queue.clear()
    assert queue.take() == SILENCE
    assert queue.ran_dry == 0
