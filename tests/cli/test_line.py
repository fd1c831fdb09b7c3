"""A run over two lines, from the command line to the figures of each."""

import json
from pathlib import Path
from typing import Any

import pytest

from duologue.audio.decoding import decode_audio
from duologue.cli.evaluate import main
from duologue.turn_agents.turn import AudioMessageTurn, MessageTurn

ROOT = Path(__file__).parents[2]
SCENARIO = "voiceagentbench__single__vab-ex-single-01"
STREET = "name: street\nto_agent: {gain_db: -6, loss: {rate: 0.05}}\n"


class Refuses:
    """A turn agent that refuses everything, and keeps what it heard."""

    heard: list[bytes] = []  # noqa: RUF012

    async def __call__(self, history: list[MessageTurn], tool_manifest: list[dict[str, Any]]) -> MessageTurn:
        turn = history[-1]
        assert isinstance(turn, AudioMessageTurn) and turn.audio_input is not None
        self.heard.append(turn.audio_input)
        return MessageTurn("assistant", "I cannot do that.")


@pytest.fixture(autouse=True)
def at_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.mark.speech
def test_every_scenario_is_run_over_each_line_and_the_figures_are_given_for_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line, out = tmp_path / "street.yaml", tmp_path / "out"
    line.write_text(STREET, encoding="utf-8")
    Refuses.heard = []
    argv = ["--scenarios", SCENARIO, "--line", "clean", "--line", str(line), "--adapter", f"{__name__}:Refuses"]
    assert main([*argv, "--output-dir", str(out), "--quiet"]) == 0
    (run_dir,) = out.glob("eval_*")
    assert {path.name for path in run_dir.iterdir() if path.is_dir()} == {
        SCENARIO,
        f"{SCENARIO}__line_street",
        "line_street",
    }
    results = json.loads((run_dir / "results.json").read_text(encoding="utf-8"))
    assert [outcome.get("line") for outcome in results["outcomes"]] == [None, "street"]
    assert {name: group["attempts"] for name, group in results["aggregates"]["lines"].items()} == {
        "clean": 1,
        "street": 1,
    }
    assert "[line street]" in (run_dir / "all_summary.txt").read_text(encoding="utf-8")
    assert f"{SCENARIO} (line street)" in " ".join(capsys.readouterr().out.split())
    clean, street = (decode_audio(audio, 16_000) for audio in Refuses.heard)
    assert abs(clean).max() > 1.8 * abs(street).max()
    reports = [*run_dir.glob("voiceagentbench_*.json"), *run_dir.glob("line_street/voiceagentbench_*.json")]
    assert [len(json.loads(path.read_text(encoding="utf-8"))["tasks"]) for path in reports] == [1, 1]
    before = {path: path.read_bytes() for path in run_dir.rglob("*.json")}
    assert main(["rescore", str(run_dir)]) == 0
    assert {path: path.read_bytes() for path in before} == before


def test_unreadable_line_stops_the_run_before_it_begins(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line, out = tmp_path / "street.yaml", tmp_path / "out"
    line.write_text("name: street\nboth: {delay: 20}\n", encoding="utf-8")
    assert main(["--scenarios", SCENARIO, "--line", str(line), "--output-dir", str(out)]) == 1
    assert "street.yaml: both.delay: unknown key; did you mean 'delay_ms'?" in capsys.readouterr().err
    assert not out.exists()
