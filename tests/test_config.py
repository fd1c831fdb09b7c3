import re
from pathlib import Path

import pytest

from duologue.config import BotConfig, load_bot_config
from duologue.errors import ConfigError
from tests.present import present

SHIPPED = Path(__file__).parents[1] / "server_configs"


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "bot.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_defaults_need_no_file_content(write):
    assert load_bot_config(write(""), env={}).model_dump() == BotConfig().model_dump()


def test_a_flag_beats_the_environment_which_beats_the_file(write):
    path = write("server: {port: 1001, host: localhost}")
    env = {"WEBSOCKET_PORT": "1002", "SERVER_HOST": "::1"}
    assert load_bot_config(path, env={}).server.port == 1001
    assert load_bot_config(path, env=env).server.port == 1002
    assert load_bot_config(path, env=env, overrides={"port": 1003, "host": None}).server.port == 1003
    assert load_bot_config(path, env=env).server.host == "::1"


def test_the_environment_names_the_file(write):
    path = write("server: {name: other}")
    assert load_bot_config(env={"SERVER_CONFIG_PATH": str(path)}).server.name == "other"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("srever: {port: 1}", "bot.yaml: srever: unknown key; did you mean 'server'?"),
        ("llm: {temprature: 1}", "bot.yaml: llm.temprature: unknown key; did you mean 'temperature'?"),
        (
            "tts: {zzz: 1}",
            "bot.yaml: tts.zzz: unknown key; known keys: service, settings, hold, hold_timeout_s, type",
        ),
        ("server: {port: 70000}", "bot.yaml: server.port: Input should be less than or equal to 65535"),
        ("server: {host: 0.0.0.0}", "set server.auth_token or DUOLOGUE_TOKEN"),
        ("server: {auth_token: ''}", "auth_token is empty"),
        ("llm: {type: openai}", "type openai needs llm.model and llm.base_url"),
        ("llm: {type: wrong_action}", "llm.mutation (drop, alter or add) goes with type wrong_action"),
        ("llm: {charge: often}", "bot.yaml: llm.charge:"),
        ("transport: {type: telephone}", "bot.yaml: transport.type: Input should be 'lockstep' or 'websocket'"),
        ("- a", "the top level must be sections"),
        ("a: [", "not YAML"),
        ("llm: {api_key: '${env:NO_SUCH_KEY}'}", "llm.api_key: environment variable NO_SUCH_KEY is not set"),
    ],
)
def test_a_wrong_setting_is_named_with_its_file_and_remedy(write, text, error):
    with pytest.raises(ConfigError, match=re.escape(error)):
        load_bot_config(write(text), env={})


def test_every_wrong_setting_is_named_at_once(write):
    with pytest.raises(ConfigError, match=r"llm\.modle.*; .*tts\.pich"):
        load_bot_config(write("llm: {modle: a}\ntts: {pich: 1}"), env={})


def test_a_missing_file_says_how_to_give_one(tmp_path):
    with pytest.raises(ConfigError, match="--config or SERVER_CONFIG_PATH"):
        load_bot_config(tmp_path / "absent.yaml", env={})


def test_a_port_that_is_no_number_is_refused(write):
    with pytest.raises(ConfigError, match="WEBSOCKET_PORT must be a whole number"):
        load_bot_config(write(""), env={"WEBSOCKET_PORT": "eighty"})


def test_a_token_opens_other_hosts(write):
    config = load_bot_config(write("server: {host: 0.0.0.0}"), env={"DUOLOGUE_TOKEN": "t"})
    assert config.server.host == "0.0.0.0"


def test_a_secret_is_read_from_the_environment_and_never_shown(write):
    text = "llm: {type: openai, model: m, base_url: 'http://h/v1', api_key: '${env:KEY}'}"
    config = load_bot_config(write(text), env={"KEY": "s3cret"})
    assert present(config.llm.api_key).get_secret_value() == "s3cret"
    assert "s3cret" not in repr(config) + config.model_dump_json()


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.yaml")), ids=lambda path: path.name)
def test_the_shipped_configurations_load(path):
    config = load_bot_config(path, env={"AGENT_API_KEY": "a", "USER_API_KEY": "u"})
    assert config.server.port == (8766 if path.name.startswith("user") else 8765)


def test_the_two_sides_have_different_voices():
    agent, user = (load_bot_config(SHIPPED / f"{side}.yaml", env={}) for side in ("agent", "user"))
    assert agent.tts != user.tts


def test_a_websocket_bot_speaks_24_khz_unless_told_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "bot.yaml"
    for text, rate in (("{type: websocket}", 24000), ("{type: websocket, audio_out_sample_rate: 16000}", 16000)):
        path.write_text(f"transport: {text}\n")
        assert load_bot_config(path, env={}).transport.audio_out_sample_rate == rate


def test_the_transport_may_be_named_in_the_server_section(tmp_path: Path) -> None:
    path = tmp_path / "bot.yaml"
    path.write_text("server: {transport: websocket}\n")
    assert load_bot_config(path, env={}).transport.type == "websocket"
    path.write_text("server: {transport: websocket}\ntransport: {type: lockstep}\n")
    with pytest.raises(ConfigError, match="differ"):
        load_bot_config(path, env={})
