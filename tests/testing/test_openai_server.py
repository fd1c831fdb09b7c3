import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from duologue.registry import load_domain
from duologue.runner.build import build_scenarios
from duologue.runner.settings import Selection
from duologue.testing.model_brains import BrainModels, scripts_by_epoch, with_wrong_number
from duologue.testing.model_script import FaultKind, ModelCall, ModelFault, ModelReply, parse_fault, scripted
from duologue.testing.openai_server import ModelServer

pytestmark = pytest.mark.socket
NAME = "tau2_telecom__service_issue__airplane_mode_on__unseat_sim_card"
CALL = ModelReply("Wait.", (ModelCall("f", '{"a": 1}', "x"),))


def ask(server: ModelServer, *, epoch: str = "", **body: Any) -> bytes:
    asked = {"model": "m", "messages": [{"role": "user", "content": "Hello"}], **body}
    request = urllib.request.Request(f"{server.url}/chat/completions", json.dumps(asked).encode())
    request.add_header("Content-Type", "application/json")
    request.add_header("X-Duologue-Epoch", epoch)
    with urllib.request.urlopen(request, timeout=10) as response:
        data: bytes = response.read()
    return data


def test_whole_reply_holds_words_calls_and_usage() -> None:
    with ModelServer(scripted([CALL])) as server:
        reply = json.loads(ask(server))
    message = reply["choices"][0]["message"]
    assert (message["content"], message["tool_calls"][0]["function"]["arguments"]) == ("Wait.", '{"a": 1}')
    assert reply["choices"][0]["finish_reason"] == "tool_calls"
    assert reply["usage"]["completion_tokens"] == 4


def test_stream_is_cut_into_chunks_and_ends_with_usage() -> None:
    with ModelServer(scripted([CALL]), chunk_chars=3) as server:
        lines = ask(server, stream=True, stream_options={"include_usage": True}).decode().split("\n\n")
    events = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: {")]
    deltas = [choice["delta"] for event in events for choice in event["choices"]]
    assert [delta["content"] for delta in deltas if delta.get("content")] == ["Wai", "t."]
    assert events[-1]["usage"]["completion_tokens"] == 4
    assert lines[-2] == "data: [DONE]"


def test_fault_is_written_in_one_word() -> None:
    assert parse_fault("429=0.1@3x2/reference") == ModelFault(FaultKind.TOO_MANY, 3, 2, 0.1, "reference")
    assert parse_fault("hang@1") == ModelFault(FaultKind.HANG, 1)
    with pytest.raises(ValueError, match="KIND"):
        parse_fault("broken@1")


def test_fault_strikes_its_requests_only() -> None:
    with ModelServer(scripted([CALL, CALL]), [ModelFault(FaultKind.TOO_MANY, 2, seconds=1.5)]) as server:
        ask(server)
        with pytest.raises(urllib.error.HTTPError) as refused:
            ask(server)
        ask(server)
    refused.value.close()
    assert (refused.value.code, refused.value.headers["Retry-After"]) == (429, "1.5")


def test_models_of_an_attempt_play_both_sides_of_it() -> None:
    load_domain("tau2_telecom")
    scripts = scripts_by_epoch(build_scenarios(Selection(names=(NAME,))), attempts=2)
    with ModelServer(BrainModels(scripts)) as server:
        replies = {
            model: json.loads(ask(server, epoch=list(scripts)[1], model=model))["choices"][0]["message"]["content"]
            for model in ("reference", "scripted_user")
        }
        with pytest.raises(urllib.error.HTTPError) as unknown:
            ask(server, epoch="another", model="reference")
    unknown.value.close()
    assert "help" in replies["reference"] and "phone" in replies["scripted_user"].lower()
    assert unknown.value.code == 400


def test_wrong_number_differs_in_its_last_digit() -> None:
    assert with_wrong_number({"phone_number": "555-123-2009"})["phone_number"] == "555-123-2000"
