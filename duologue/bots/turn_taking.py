"""When a turn of the other side begins and ends."""

from __future__ import annotations

import importlib.resources

from pipecat.audio.turn.smart_turn.base_smart_turn import BaseSmartTurn, SmartTurnParams
from pipecat.audio.turn.smart_turn.local_smart_turn_v3 import LocalSmartTurnAnalyzerV3
from pipecat.processors.aggregators.llm_response_universal import LLMUserAggregatorParams
from pipecat.turns.user_start import VADUserTurnStartStrategy
from pipecat.turns.user_stop import SpeechTimeoutUserTurnStopStrategy, TurnAnalyzerUserTurnStopStrategy
from pipecat.turns.user_stop.base_user_turn_stop_strategy import BaseUserTurnStopStrategy
from pipecat.turns.user_turn_strategies import ExternalUserTurnStrategies, UserTurnStrategies

from duologue.config import BotConfig

_TURN_AT_LATEST_S = 5.0  # the strategies end a turn well before; this is Pipecat's net below them


def load_smart_turn() -> object:
    """Return the ONNX session of the turn model that Pipecat ships. Takes about 0.2 s."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    path = importlib.resources.files("pipecat.audio.turn.smart_turn.data").joinpath("smart-turn-v3.2-cpu.onnx")
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


class SharedSmartTurn(LocalSmartTurnAnalyzerV3):
    """Pipecat's local turn model with its own audio on a shared ONNX session.

    Args:
        session: what :func:`load_smart_turn` returned.
        longest_pause_s: silence in seconds after which a turn is over, whatever the model hears.
    """

    def __init__(self, session: object, longest_pause_s: float) -> None:
        BaseSmartTurn.__init__(self, params=SmartTurnParams(stop_secs=longest_pause_s))  # the parent would load a model
        self._session = session
        self._log_data = False


def turn_params(config: BotConfig, smart_turn: object | None) -> LLMUserAggregatorParams:
    """Return how the user aggregator finds turns.

    Args:
        config: the bot's settings.
        smart_turn: what :func:`load_smart_turn` returned, when ``turn_taking.type`` asks for it.
    """
    return LLMUserAggregatorParams(
        user_turn_strategies=_strategies(config, smart_turn),
        user_turn_stop_timeout=config.turn_taking.user_speech_timeout_s + _TURN_AT_LATEST_S,
        audio_idle_timeout=0,
        empty_user_turn=None,
    )


def _strategies(config: BotConfig, smart_turn: object | None) -> UserTurnStrategies:
    if config.turn_taking.type == "service":
        return ExternalUserTurnStrategies()
    return UserTurnStrategies(
        start=[VADUserTurnStartStrategy(enable_interruptions=True)], stop=[_stop(config, smart_turn)]
    )


def _stop(config: BotConfig, smart_turn: object | None) -> BaseUserTurnStopStrategy:
    taking = config.turn_taking
    if taking.type == "smart_turn":
        # The model decides at once, so that the words of the turn are still to come.
        analyzer = SharedSmartTurn(smart_turn, taking.longest_pause_s)
        return TurnAnalyzerUserTurnStopStrategy(turn_analyzer=analyzer, wait_for_transcript=config.pipeline != "s2s")
    # A turn without a transcript has to end too: Whisper's words are there in time, except in real time on a busy
    # machine; those of a service may be late.
    is_late = config.stt.service is not None or config.transport.type == "websocket"
    return SpeechTimeoutUserTurnStopStrategy(
        user_speech_timeout=taking.user_speech_timeout_s, wait_for_transcript=is_late and config.pipeline != "s2s"
    )
