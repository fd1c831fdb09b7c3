import json
from pathlib import Path

import pytest

from duologue.audio.decoding import decode_audio
from duologue.errors import FixtureError
from duologue.records.scenario import CatalogueOptions
from duologue.toolkit.dual_state import replay_reference
from duologue.toolkit.rules import CATALOGUES, RULES_NAME
from scenarios.voiceagentbench.axes import Call, score_task
from scenarios.voiceagentbench.extras import accepted_match
from scenarios.voiceagentbench.upstream import LANGUAGES, load_copy, main
from tests.scenarios.voiceagentbench_copy import CATEGORIES, tone, write_copy

COUNTS = {(category, "english"): 3 for category in CATEGORIES} | {(category, "hindi"): 2 for category in CATEGORIES}

roots = pytest.mark.parametrize("data", [True, False], ids=["data", "bare"])


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_copy(tmp_path_factory.mktemp("copy"), data=True, counts=COUNTS)


def scenarios(place: Path, **flags: str):
    extra = {"vab-data": str(place), **{name.replace("_", "-"): value for name, value in flags.items()}}
    return CATALOGUES.get("voiceagentbench", RULES_NAME).load(CatalogueOptions(extra=extra))


@roots
def test_compat_reads_five_english_files_and_one_hindi(tmp_path: Path, data: bool) -> None:
    found = load_copy(write_copy(tmp_path, data=data, counts=COUNTS), "compat")
    assert len(found.records) == 5 * 3 + 2
    assert list(found.counts.values()) == [3, 3, 3, 3, 3, 2]
    assert found.empty == [] and found.silent == []
    assert [record.language for record in found.records if record.suite == "multilingual"] == ["hi", "hi"]


@roots
def test_full_reads_every_category_and_language_and_reports_empty_cells(tmp_path: Path, data: bool) -> None:
    found = load_copy(write_copy(tmp_path, data=data, counts=COUNTS), "full")
    assert len(found.records) == 6 * (3 + 2)
    assert len(found.empty) == 6 * (len(LANGUAGES) - 2)
    assert len({record.task_id for record in found.records}) == 30
    assert "no file for safety in tamil" in found.report()
    assert "30 records in 12 files, mapping full" in found.report()


def test_missing_files_are_empty_cells(tmp_path: Path) -> None:
    found = load_copy(write_copy(tmp_path, data=True, counts={("safety", "english"): 1}), "compat")
    assert len(found.records) == 1
    assert ("single_tool", "hindi") in found.empty and len(found.empty) == 5


def test_compat_keeps_the_first_value_as_text_and_the_rest_exact(copy: Path) -> None:
    record = load_copy(copy, "compat").records[0]
    expected = record.expected_tool_calls[0]
    assert record.task_id == "single_tool_0"
    assert expected.substring_params == {"place": "Pune", "zoom": "5", "raw": ""}
    assert expected.required_params == {"layer": []}
    assert expected.order == 0


def test_compat_marks_a_typed_number_wrong_and_the_extra_figure_does_not(copy: Path) -> None:
    record = load_copy(copy, "compat").records[0]
    calls = [Call("location.get_coordinates", {"place": "poona ", "zoom": 5.0, "layer": []})]
    axes = score_task(record, calls, "", user_turns=1, judge_score=None, error=None)
    assert axes.parameter_match == 0.25
    assert accepted_match(record, calls) == 1.0


def test_full_keeps_all_values_user_info_and_scripted_replies(copy: Path) -> None:
    records = {record.task_id: record for record in load_copy(copy, "full").records}
    single = records["single_tool/hindi/single_tool_1"]
    assert single.expected_tool_calls[0].accepted_params["place"] == ["Pune", "Poona"]
    assert single.expected_tool_calls[0].order is None
    assert records["seqdep_tool/english/seqdep_tool_0"].user_info == "user id 77"
    dialogue = records["multi_turn/english/multi_turn_0"]
    assert [query.transcript for query in dialogue.queries] == ["Where is it?", "Pune."]
    assert dialogue.scripted_replies == ["Which place?"]


def test_safety_records_must_refuse_and_get_tools_without_parameters(copy: Path) -> None:
    record = next(item for item in load_copy(copy, "compat").records if item.suite == "safety")
    assert record.safety_verdict == "must_refuse" and record.expected_tool_calls == []
    assert record.tool_manifest == [{"name": "wipe_disk", "description": ""}]


def test_mp3_named_wav_is_decoded_by_content(copy: Path) -> None:
    utterance = scenarios(copy)[0].caller.utterances[0]
    assert utterance.audio is not None and utterance.audio.endswith(".wav")
    sound = Path(utterance.audio).read_bytes()
    assert not sound.startswith(b"RIFF")
    assert 7_000 < len(decode_audio(sound, 16_000)) < 10_000


def test_a_path_with_the_early_prefix_is_found(copy: Path) -> None:
    dialogue = next(item for item in load_copy(copy, "compat").records if item.suite == "multi-turn")
    assert dialogue.queries[1].audio_path == "multi_turn_audio/english/0.wav"


@pytest.mark.parametrize("mapping", ["compat", "full"])
def test_every_record_becomes_a_scenario_that_can_be_solved(copy: Path, mapping: str) -> None:
    found = scenarios(copy, vab_mapping=mapping)
    assert len(found) == {"compat": 17, "full": 30}[mapping]
    assert all("." not in name for scenario in found for name in scenario.agent.resources.tools)
    for scenario in found:
        replay_reference(scenario)


def test_scripted_dialogues_play_only_the_last_turn(copy: Path) -> None:
    found = [s for s in scenarios(copy, vab_mapping="full", vab_dialogue="scripted") if s.family == "multi-turn"]
    assert {len(scenario.caller.utterances) for scenario in found} == {1}
    assert "You: Which place?" in found[0].agent.prompt


def test_missing_sound_files_are_counted_and_left_without_audio(tmp_path: Path) -> None:
    root = write_copy(tmp_path, data=True, counts={("single_tool", "english"): 2}, sound=False)
    found = load_copy(root, "compat")
    assert found.silent == ["single_tool_0", "single_tool_1"]
    utterance = scenarios(root)[0].caller.utterances[0]
    assert utterance.audio is None and utterance.text is None
    assert scenarios(root, vab_missing_audio="speak")[0].caller.utterances[0].text == utterance.transcript


@pytest.mark.parametrize(
    ("category", "change", "message"),
    [
        ("single_tool", {"id": None}, "record 0: id: missing"),
        ("single_tool", {"path": ""}, "record 0: path: missing"),
        ("single_tool", {"path": "../../etc/passwd"}, "must be relative and stay under"),
        ("single_tool", {"query": None}, "query: missing"),
        ("single_tool", {"expected_tool_call": [{"a": 3}]}, r"expected_tool_call\[0\].a: not an object"),
        ("multi_turn", {"chat_history": []}, "chat_history: no user turn"),
    ],
)
def test_malformed_records_are_named(tmp_path: Path, category: str, change: dict, message: str) -> None:
    root = write_copy(tmp_path, data=True, counts={(category, "english"): 1})
    path = root / "data" / f"{category}_data" / "english" / f"{category}_english.json"
    rows = json.loads(path.read_text())
    path.write_text(json.dumps([{**rows[0], **change}]))
    with pytest.raises(FixtureError, match=message) as caught:
        load_copy(root, "compat")
    assert str(path) in str(caught.value)


def test_an_id_that_stands_twice_in_a_file_is_refused(tmp_path: Path) -> None:
    root = write_copy(tmp_path, data=True, counts={("safety", "english"): 1})
    path = root / "data/safety_data/english/safety_english.json"
    path.write_text(json.dumps(json.loads(path.read_text()) * 2))
    with pytest.raises(FixtureError, match="record 1: id: 'safety_0' stands twice"):
        load_copy(root, "compat")


def test_a_folder_without_the_files_is_refused(tmp_path: Path) -> None:
    tone(tmp_path / "x.wav")
    with pytest.raises(FixtureError, match="no copy of the data set"):
        load_copy(tmp_path, "full")
    assert main([str(tmp_path)]) == 1


def test_counts_are_printed(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(copy), "--mapping", "compat"]) == 0
    assert "data/single_tool_data/hindi/single_tool_hindi.json: 2 records" in capsys.readouterr().out
