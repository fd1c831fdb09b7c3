"""Classes that do not fit: what is said, and when."""

import re
import textwrap

import pytest

from duologue.bots.context import ScenarioState
from duologue.bots.processors import build_processors
from duologue.bots.services import Models, build_llm, build_stt, build_tts
from duologue.config import load_bot_config
from duologue.errors import ConfigError
from tests.bots.plug_bots import EXAMPLES, write_config

NOTHING = Models(silero=None)


@pytest.fixture
def refuse(tmp_path):
    """Configure a bot with one edit, build one part of it, and return the error."""

    def built(edit, build):
        path = write_config(tmp_path / "agent.yaml", edit)
        with pytest.raises(ConfigError) as error:
            build(load_bot_config(path, env={}))
        assert str(path) in str(error.value)
        return str(error.value)

    return built


def write_module(folder, name, text):
    (folder / f"{name}.py").write_text(textwrap.dedent(text), encoding="utf-8")


def stt(config):
    return build_stt(config, NOTHING)


def test_a_missing_module_is_named_with_where_it_was_looked_for(refuse, tmp_path):
    error = refuse({"stt": {"service": "no_such_stt:Stt"}}, stt)
    assert "stt.service: there is no module 'no_such_stt'" in error
    assert f"in {tmp_path}, " in error


def test_a_missing_class_is_named_with_those_that_are_there(refuse, tmp_path):
    write_module(tmp_path, "near_stt", "class HttpStt: pass")
    error = refuse({"stt": {"service": "near_stt:HtpStt"}}, stt)
    assert "has no HtpStt; it has: HttpStt" in error


@pytest.mark.parametrize(
    ("edit", "build", "wanted"),
    [
        ({"stt": {"service": "builtins:dict"}}, stt, "pipecat.services.stt_service.STTService"),
        ({"tts": {"service": "builtins:dict"}}, lambda c: build_tts(c, NOTHING), "pipecat.services.tts_service"),
        ({"llm": {"type": "builtins:dict"}}, lambda c: build_llm(c, ScenarioState()), "decide(messages, tools)"),
        (
            {"processors": [{"at": "after_stt", "processor": "builtins:dict"}]},
            build_processors,
            "pipecat.processors.frame_processor.FrameProcessor",
        ),
    ],
)
def test_a_class_of_the_wrong_kind_is_told_what_it_has_to_be(refuse, edit, build, wanted):
    error = refuse(edit, build)
    assert "builtins:dict does not fit: it has to be" in error
    assert wanted in error


def test_refused_settings_are_shown_with_what_the_constructor_takes(refuse, tmp_path):
    write_module(tmp_path, "own_stt_here", (EXAMPLES / "own_stt.py").read_text(encoding="utf-8"))
    error = refuse({"stt": {"service": "own_stt_here:HttpStt", "settings": {"adress": "x"}}}, stt)
    assert "refused its settings: TypeError" in error
    assert "stt.settings are the arguments of HttpStt(url, timeout_s, options)" in error


def test_a_module_that_lacks_a_package_says_which(refuse, tmp_path):
    write_module(tmp_path, "lacking_stt", "import no_such_package_anywhere")
    error = refuse({"stt": {"service": "lacking_stt:Stt"}}, stt)
    assert "importing lacking_stt failed" in error
    assert "no_such_package_anywhere" in error


def test_a_pipecat_service_without_its_extra_names_the_extra(refuse):
    error = refuse({"stt": {"service": "pipecat.services.moonshine.stt:MoonshineSTTService"}}, stt)
    assert "pip install 'pipecat-ai[moonshine]'" in error


def test_secrets_stay_out_of_errors(refuse, tmp_path):
    write_module(
        tmp_path,
        "leaky_stt",
        """
        from pipecat.services.stt_service import STTService

        class Leaky(STTService):
            def __init__(self, *, api_key):
                raise ValueError(f"bad key {api_key}")

            async def run_stt(self, audio):
                yield None
        """,
    )
    error = refuse({"stt": {"service": "leaky_stt:Leaky", "settings": {"api_key": "sk-12345"}}}, stt)
    assert "bad key ***" in error
    assert "sk-12345" not in error


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        ({"stt": {"service": "own_stt"}}, "stt.service: 'own_stt' is not of the form module:Class"),
        ({"stt": {"hold": True}}, "stt: hold goes with a service"),
        ({"stt": {"service": "a:B", "model": "x"}}, "stt: model belongs to the built-in engines"),
        ({"tts": {"type": "hibari", "voices": "x"}}, "tts: voices belongs to tts.type kokoro"),
        ({"tts": {"type": "piper", "voice": "joe"}}, "give tts.model"),
        ({"llm": {"type": "refrence"}}, "llm.type: 'refrence' is not a brain; did you mean 'reference'?"),
        ({"llm": {"type": "openai_realtime"}}, "write pipeline: s2s"),
        ({"llm": {"type": "reference", "settings": {"x": 1}}}, "llm.settings goes with llm.service"),
        ({"turn_taking": {"type": "service"}}, "turn_taking.type service goes with pipeline: s2s"),
        ({"processors": [{"at": "before_dinner", "processor": "a:B"}]}, "processors.0.at: Input should be"),
        ({"processors": [{"at": "after_stt", "processor": "a:B", "setings": {}}]}, "did you mean 'settings'?"),
        ({"pipeline": "s2s"}, "pipeline: s2s lives in real time; write server.transport: websocket"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(tmp_path, edit, problem):
    with pytest.raises(ConfigError, match=re.escape(problem)):
        load_bot_config(write_config(tmp_path / "agent.yaml", edit), env={})
