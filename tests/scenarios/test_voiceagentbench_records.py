import base64
import json
from pathlib import Path

import pytest
import soundfile

from duologue.audio.decoding import decode_audio
from duologue.errors import FixtureError
from duologue.state.fixtures import data_file
from scenarios.voiceagentbench.catalogue import RECORDS, shipped_records
from scenarios.voiceagentbench.records import Suite, parse_record, read_records, rule_problems, to_json, write_records
from tests.present import present

SHARED = Path(__file__).parents[3] / "shared" / "spec" / "voiceagentbench_examples.jsonl"
LINES = data_file(RECORDS).read_text("utf-8").splitlines()


def record(**changes) -> dict:
    value = {
        "task_id": "t",
        "suite": "single",
        "queries": [{"transcript": "Go."}],
        "expected_tool_calls": [{"tool_name": "go"}],
        "tool_manifest": [{"name": "go"}],
    }
    return {**value, **changes}


def stored(folder: Path, *values, name: str = "records.jsonl") -> Path:
    path = folder / name
    path.write_text("\n".join(v if isinstance(v, str) else json.dumps(v) for v in values) + "\n", encoding="utf-8")
    return path


def test_at_least_ten_records_of_every_suite_are_shipped() -> None:
    records = shipped_records()
    assert len(records) >= 60
    assert all(sum(item.suite is suite for item in records) >= 10 for suite in Suite)
    assert {item.language for item in records if item.suite == "multilingual"} == {"hi", "ta", "es", "de"}


def test_every_shipped_query_has_sound_that_decodes() -> None:
    folder = data_file(RECORDS).parent
    for item in shipped_records():
        for query in item.queries:
            sound = (folder / present(query.audio_path)).read_bytes()
            assert 0.8 < len(decode_audio(sound, 16_000)) / 16_000 < 12, item.task_id


def test_shipped_sound_is_small() -> None:
    folder = data_file(RECORDS).parent / "audio"
    assert sum(path.stat().st_size for path in folder.iterdir()) < 6_000_000


def test_round_trip_keeps_every_field(tmp_path: Path) -> None:
    write_records(tmp_path / "copy.jsonl", shipped_records())
    written = (tmp_path / "copy.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line) for line in written] == [json.loads(line) for line in LINES]


def test_shared_examples_load_and_are_written_back() -> None:
    if not SHARED.is_file():
        pytest.skip("the shared examples are not beside this checkout")
    values = [json.loads(line) for line in SHARED.read_text("utf-8").splitlines() if line.strip()]
    assert [to_json(item) for item in read_records(SHARED)] == values
    assert len(values) == 24


def test_keys_of_the_user_are_kept(tmp_path: Path) -> None:
    write_records(tmp_path / "copy", read_records(stored(tmp_path, record(my_note={"a": 1}))))
    assert json.loads((tmp_path / "copy").read_text())["my_note"] == {"a": 1}


def test_ids_and_substring_values_become_text() -> None:
    expected = [{"tool_name": "go", "substring_params": {"n": 5, "b": True}}]
    parsed = parse_record(record(task_id=7, expected_tool_calls=expected))
    assert parsed.task_id == "7"
    assert parsed.expected_tool_calls[0].substring_params == {"n": "5", "b": "True"}


def test_defaults_are_those_of_the_shape() -> None:
    parsed = parse_record({"task_id": "t", "suite": "single"})
    assert (parsed.queries, parsed.expected_tool_calls, parsed.tool_manifest, parsed.description) == ([], [], [], "")
    assert parse_record(record()).queries[0].language == "en"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("{oops", r"line 17: not JSON"),
        ("[1]", "line 17: not a JSON object"),
        ({"suite": "single"}, "line 17: task_id: missing"),
        (record(suite="retrieval"), "line 17: suite: 'retrieval' is not one of 'single', 'parallel'"),
        (record(safety_verdict="maybe"), "line 17: safety_verdict: 'maybe' is not one of"),
        (record(queries=[{"language": "en"}]), r"line 17: queries\[0\].transcript: missing"),
        (record(expected_tool_calls=[{}]), r"line 17: expected_tool_calls\[0\].tool_name: missing"),
        (record(expected_tool_calls=[{"tool_name": "go", "order": "1"}]), r"expected_tool_calls\[0\].order"),
        (record(expected_tool_call=[]), "expected_tool_call: unknown; did you mean 'expected_tool_calls'"),
        (record(queries=[]), "line 17: queries: empty"),
        (record(safety_verdict="must_refuse"), "a must_refuse record expects no calls"),
        (record(expected_tool_calls=[{"tool_name": "fly"}]), "'fly' is not in the tool_manifest"),
        (record(queries=[{"transcript": "x", "audio_path": "none.wav"}]), r"queries\[0\].audio_path: no file"),
        (record(queries=[{"transcript": "x", "audio_path": "../a.wav"}]), "must be relative and stay under"),
        (record(queries=[{"transcript": "x", "audio_b64": "%%"}]), r"queries\[0\].audio_b64: not base64"),
        (record(queries=[{"transcript": "x", "audio_b64": "AAAA"}]), "audio_b64: not a sound file"),
    ],
)
def test_a_bad_line_17_is_named_with_file_line_and_key(tmp_path: Path, value, message: str) -> None:
    good = [record(task_id=str(number)) for number in range(16)]
    path = stored(tmp_path, *good, value)
    with pytest.raises(FixtureError, match=message) as caught:
        read_records(path)
    assert str(caught.value).startswith(f"{path}: line 17: ")


def test_a_repeated_id_names_both_lines(tmp_path: Path) -> None:
    path = stored(tmp_path, record(), "", record())
    with pytest.raises(FixtureError, match="line 3: task_id: 't' already stands in line 1"):
        read_records(path)


def test_a_missing_or_empty_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FixtureError, match=r"none\.jsonl: cannot be read"):
        read_records(tmp_path / "none.jsonl")
    with pytest.raises(FixtureError, match="holds no records"):
        read_records(stored(tmp_path, ""))


@pytest.mark.parametrize(
    ("orders", "problem"),
    [((0, None), "on some expectations only"), ((1, 1), "the same order"), ((0, -1), "below 0"), ((1, 0), "")],
)
def test_positions_are_set_on_all_or_none_and_distinct(orders, problem: str) -> None:
    expected = [{"tool_name": "go", "order": order} for order in orders]
    found = rule_problems(parse_record(record(suite="sequential", expected_tool_calls=expected)))
    assert problem in "".join(found) and bool(found) == bool(problem)


def test_sound_in_the_record_is_recognised_by_content(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", [0.0] * 4000, 16_000, format="FLAC")
    text = base64.b64encode((tmp_path / "a.wav").read_bytes()).decode()
    path = stored(tmp_path, record(queries=[{"transcript": "x", "audio_b64": text, "audio_path": None}]))
    assert read_records(path)[0].queries[0].audio_b64 == text
