import io
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from duologue.cli.progress import LiveProgress, PlainProgress, attempt_name, print_final, results_table
from duologue.records.action import Side
from duologue.records.conditions import LineConditions
from duologue.records.event import BotSpeaking, SpokenText, ToolCalled
from duologue.records.outcome import Cause, Outcome, OutcomeKind
from duologue.records.result import ScenarioResult
from duologue.records.scenario import Scenario, SideSpec, SignalName


class FakeClock:
    now = 0.0

    def monotonic(self) -> float:
        return self.now

    def utc_now(self) -> datetime:
        return datetime(2025, 2, 25, tzinfo=UTC)

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


def scenario(name: str = "shop__x") -> Scenario:
    side = SideSpec(prompt="Say hello.")
    return Scenario(
        name=name, domain="shop", task_id=name, user=side, agent=side, success_signals=(SignalName.CLEAN_EXIT,)
    )


def result(name: str = "shop__x", outcome: Outcome | None = None) -> ScenarioResult:
    return ScenarioResult(
        run_id="r",
        attempt=1,
        seed=0,
        scenario=name,
        domain="shop",
        prefix="shop",
        family="",
        profile="default",
        scored_as="duologue",
        outcome=outcome or Outcome(kind=OutcomeKind.PASSED),
        media_ms=61_000,
    )


def speak(progress: PlainProgress | LiveProgress) -> None:
    progress.event_written(BotSpeaking(side=Side.AGENT, speaking=True, t_ms=2000))
    progress.event_written(SpokenText(side=Side.AGENT, text="[bold]Hello.", t_ms=2100))
    progress.event_written(BotSpeaking(side=Side.AGENT, speaking=False, t_ms=3000))
    progress.event_written(ToolCalled(side=Side.USER, call_id="1", name="look", t_ms=4000))


def plain(verbosity: int) -> list[str]:
    out, clock = io.StringIO(), FakeClock()
    progress = PlainProgress(Console(file=out, width=160), clock, verbosity)
    progress.run_started(Path("runs/eval_1"), 2)
    progress.scenario_started(1, scenario())
    speak(progress)
    clock.now = 9.0
    progress.scenario_finished(result(), Path("runs/eval_1/shop__x"))
    return out.getvalue().splitlines()


def test_plain_output_has_one_line_at_the_start_and_one_at_the_end() -> None:
    assert plain(0) == [
        "2 scenarios → runs/eval_1",
        "[1/2] shop__x",
        "[1/2] shop__x passed · 1 turns, 1:01 in 9 s · 1 of 1 passed",
    ]


def test_line_is_named_beside_the_scenario_unless_it_is_clean() -> None:
    street = LineConditions.model_validate({"name": "street", "both": {"delay_ms": 20}})
    out = io.StringIO()
    progress = PlainProgress(Console(file=out, width=160), FakeClock(), 0)
    progress.run_started(Path("runs/eval_1"), 1)
    progress.scenario_started(1, scenario().model_copy(update={"line": street}))
    assert out.getvalue().splitlines()[1] == "[1/1] shop__x (line street)"
    assert attempt_name(result().model_copy(update={"line": street, "attempt": 2})) == "shop__x (line street, trial 2)"
    assert attempt_name(result()) == "shop__x"


def test_verbose_output_adds_utterances_and_tools_as_they_are() -> None:
    assert plain(1)[2:4] == ["  0:03 agent: [bold]Hello.", "  0:04 user: look()"]


def test_live_panel_shows_time_speed_words_tool_and_score() -> None:
    out, clock = io.StringIO(), FakeClock()
    console = Console(file=out, width=100, force_terminal=True, color_system=None)
    with LiveProgress(console, clock) as progress:
        progress.run_started(Path("runs/eval_1"), 3)
        progress.scenario_started(2, scenario())
        speak(progress)
        clock.now = 4.0
        progress.ticked(40_000)
    panel = out.getvalue()
    for words in ("2/3", "shop__x", "0:40 · 10.0× real time · turn 1", "[bold]Hello.", "user: look()", "0 of 0 passed"):
        assert words in panel


def test_end_names_table_score_directory_and_recordings(tmp_path: Path) -> None:
    folder = tmp_path / "shop__x"
    folder.mkdir()
    (folder / "conversation_log.wav").touch()
    lost = Outcome(kind=OutcomeKind.NOT_EVALUABLE, cause=Cause.TRANSPORT, detail="the agent bot is gone")
    out = io.StringIO()
    print_final(
        Console(file=out, width=160), tmp_path, [result(), result("shop__y", lost)], [folder, tmp_path / "shop__y"]
    )
    text = out.getvalue()
    assert "not evaluable (transport)" in text
    assert "the agent bot is gone" in text
    assert text.splitlines()[-4:] == [
        "1 of 1 passed, 1 not evaluable",
        f"run directory: {tmp_path}",
        f"summary: {tmp_path / 'all_summary.txt'}",
        f"recording: {folder / 'conversation_log.wav'}",
    ]


def test_a_narrow_terminal_gets_reasons_below_the_table(tmp_path: Path) -> None:
    lost = Outcome(kind=OutcomeKind.NOT_EVALUABLE, cause=Cause.TRANSPORT, detail="the agent bot is gone, " * 9)
    out = io.StringIO()
    print_final(Console(file=out, width=80), tmp_path, [result("shop__y", lost)], [tmp_path])
    table, below = out.getvalue().split("\nshop__y: ")
    assert "why" not in table and all(len(line) <= 80 for line in table.splitlines())
    assert below.startswith("the agent bot is gone, the agent bot is gone,")


def test_words_of_a_bot_never_reach_the_terminal_as_commands() -> None:
    hostile = "a\x1b[2J\x1b]0;title\x07\x9b31m\u202e[bold]b\nc"
    out = io.StringIO()
    console = Console(file=out, width=160, color_system=None, force_terminal=True)
    progress = PlainProgress(console, FakeClock(), 1)
    for event in (
        BotSpeaking(side=Side.AGENT, speaking=True),
        SpokenText(side=Side.AGENT, text=hostile),
        BotSpeaking(side=Side.AGENT, speaking=False),
        ToolCalled(side=Side.AGENT, call_id="1", name=hostile, arguments={hostile: hostile}),
    ):
        progress.event_written(event)
    broken = result(outcome=Outcome(kind=OutcomeKind.NOT_EVALUABLE, cause=Cause.HARNESS, detail=hostile))
    progress.scenario_finished(broken, Path("folder"))
    console.print(results_table([broken]))
    assert not set(out.getvalue()) & set("\x1b\x07\x9b\u202e")
    assert "\\x1b[2J" in out.getvalue()
