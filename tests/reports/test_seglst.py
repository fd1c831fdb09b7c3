from pathlib import Path

from duologue.records.result import ConversationFigures, Turn
from duologue.reports.seglst import seglst
from tests.reports.conftest import WriteCall
from tests.scoring.shop import USER


def test_segments_have_the_shape_and_the_unshifted_ends(tmp_path: Path, write_call: WriteCall) -> None:
    segments = seglst(write_call(tmp_path))
    assert segments[0] == {
        "session_id": "shop__price",
        "words": "Hello.",
        "speaker": "agent",
        "start_time": 0.0,
        "end_time": 1.0,
    }
    assert [segment["start_time"] for segment in segments] == [0.0, 2.0, 3.5]


def test_speech_without_words_is_marked(tmp_path: Path, write_call: WriteCall) -> None:
    silent = ConversationFigures(turns=(Turn(side=USER, start_ms=0, end_ms=250),))
    result = write_call(tmp_path).model_copy(update={"conversation": silent})
    assert seglst(result)[0]["words"] == "[INTERRUPTED]"
