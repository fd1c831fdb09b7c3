import json

from duologue.protocol import messages


def test_handshake_declares_lockstep_and_barrier() -> None:
    ready = messages.client_ready("client-ready-1", "9.9")
    assert (ready.type, ready.id, ready.data["version"]) == ("client-ready", "client-ready-1", "1.1.0")
    assert ready.data["about"]["capabilities"] == {"lockstep": True, "barrier": True}


def test_request_without_fields_has_no_d() -> None:
    assert messages.reset().message("reset-1").data == {"t": "reset"}
    assert messages.get_context_history().message("x").data == {"t": "get_context_history"}


def test_prompt_update_sends_tools_and_scenario_as_json_text() -> None:
    d = messages.update_system_prompt("P", {"tool": {}}, "shop", {"name": "s"}).d
    assert d is not None
    assert json.loads(d.pop("tools")) == {"tool": {}} and json.loads(d.pop("scenario")) == {"name": "s"}
    assert d == {"prompt": "P", "add_suffix": False, "tool_domain": "shop"}


def test_initialization_sends_state_as_text_and_actions_as_a_list() -> None:
    d = messages.apply_initialization("shop", {"db_path": "x"}, [{"func_name": "f", "arguments": {}}]).d
    assert d == {
        "domain": "shop",
        "shared_state_init": '{"db_path": "x"}',
        "actions": [{"func_name": "f", "arguments": {}}],
    }


def test_delta_carries_its_epoch() -> None:
    assert messages.apply_sync_delta("shop", {"a.b": 1}, "e").d == {"domain": "shop", "delta": {"a.b": 1}, "epoch": "e"}


def test_summary_says_whether_the_database_is_wanted() -> None:
    assert messages.get_scenario_summary(include_db=True).d == {"include_db": True}


def test_release_with_errors_is_no_success() -> None:
    assert messages.release_action("e", 3).d == {"epoch": "e", "seq": 3, "success": True, "errors": []}
    assert messages.release_action("e", 3, ["lost"]).d == {"epoch": "e", "seq": 3, "success": False, "errors": ["lost"]}


def test_kick_off_runs_at_once_and_aloud() -> None:
    sent = messages.send_text("send-text-1", "Hello")
    assert sent.data == {"content": "Hello", "options": {"run_immediately": True, "audio_response": True}}
