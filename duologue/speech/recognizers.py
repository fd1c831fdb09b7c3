"""The recognizers of one process: the configured model, and what it cannot hear."""

from __future__ import annotations

from duologue.config import SttConfig
from duologue.speech.languages import ENGLISH, base_language
from duologue.speech.whisper import ShortWhisper
from duologue.speech.whisper_models import BUNDLED, BUNDLED_MULTILINGUAL


class Recognizers:
    """Finds the model for a language.

    Beside the bundled English model the bundled multilingual one hears every other language; it is loaded when the
    first scenario asks for it. Any other model hears everything itself.

    Args:
        config: the ``stt`` section.
        main: the configured model.
    """

    def __init__(self, config: SttConfig, main: ShortWhisper) -> None:
        self._config = config
        self._main = main
        self._foreign: ShortWhisper | None = None

    def model_for(self, language: str | None) -> ShortWhisper:
        """Return the model that hears ``language`` (a code or a tag); None takes the configured one.

        Raises:
            ConfigError: no model at hand hears it; the message lists models that can.
        """
        if language is None:
            return self._main
        if base_language(language) == ENGLISH or self._config.model != BUNDLED:
            model = self._main
        else:
            self._foreign = self._foreign or ShortWhisper(
                self._config.model_copy(update={"model": BUNDLED_MULTILINGUAL})
            )
            model = self._foreign
        model.check_language(language)
        return model
