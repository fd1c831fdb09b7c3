from pathlib import Path

import pytest

from duologue.records.scenario import CatalogueOptions
from duologue.testing.agent_doubles import Asked, brain_script

EXAMPLES = Path(__file__).resolve().parents[3] / "shared" / "spec" / "voiceagentbench_examples.jsonl"

pytestmark = pytest.mark.skipif(not EXAMPLES.is_file(), reason="the example records are not there")


def asked(task_id, *messages):
    return Asked("hermes", task_id, "session", list(messages), ["set_alarm"], {}, "")


@pytest.fixture(scope="module")
def script():
    extra = {"vab-data": str(EXAMPLES), "vab-missing-audio": "speak"}
    return brain_script("voiceagentbench", "reference", CatalogueOptions(extra=extra))


def test_a_scripted_brain_makes_the_calls_of_the_task_that_is_named(script):
    answer = script(asked("vab-ex-single-01", {"role": "user", "content": "Set an alarm."}))
    assert [(name, arguments["time"]) for name, arguments in answer.calls] == [("set_alarm", "06:45")]


def test_an_unknown_task_is_refused(script):
    answer = script(asked("nobody-knows", {"role": "user", "content": "Hello."}))
    assert (answer.status, "no task 'nobody-knows'" in (answer.raw or "")) == (404, True)
