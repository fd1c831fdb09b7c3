"""SegLST: the transcript as segments, for speech evaluation tools."""

from __future__ import annotations

from duologue.records.result import ScenarioResult

NO_WORDS = "[INTERRUPTED]"
"""The words of a turn in which speech was heard but no text was reported."""


def seglst(result: ScenarioResult) -> list[dict[str, object]]:
    """Return one segment for each turn, sorted by time, in seconds of media time.

    Ends are where the speech ends on the recording; nothing is subtracted from them.
    """
    return [
        {
            "session_id": result.scenario,
            "words": turn.text or NO_WORDS,
            "speaker": turn.side.value,
            "start_time": turn.start_ms / 1000,
            "end_time": turn.end_ms / 1000,
        }
        for turn in result.conversation.turns
    ]
