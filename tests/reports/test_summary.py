from pathlib import Path

from rich.console import Console
from rich.table import Table

from duologue.records.outcome import StopReason
from duologue.records.result import ScenarioResult
from duologue.reports.summary import render_rates, render_table, render_text
from duologue.scoring.aggregate import aggregate_results
from duologue.scoring.score import score_trace
from duologue.testing.builders import TraceBuilder
from tests.reports.conftest import WriteCall
from tests.scoring.shop import shop_scenario


def drawn(table: Table) -> str:
    console = Console(width=200)
    with console.capture() as captured:
        console.print(table)
    return captured.get()


def lost() -> ScenarioResult:
    return score_trace(TraceBuilder(shop_scenario(name="shop__[bold]")).end(StopReason.BOT_LOST).build(), None)


def test_table_has_a_row_for_each_attempt_and_shows_names_as_they_are(tmp_path: Path, write_call: WriteCall) -> None:
    text = drawn(render_table([write_call(tmp_path), lost()]))
    for part in ("shop__price", "passed", "500 ms", "shop__[bold]", "not evaluable (transport)"):
        assert part in text


def test_rates_show_their_interval(tmp_path: Path, write_call: WriteCall) -> None:
    aggregate = aggregate_results([write_call(tmp_path), lost()])
    assert "1/1 = 100.0% [20.7%, 100.0%]" in drawn(render_rates(aggregate))


def test_text_lists_totals_causes_and_reasons(tmp_path: Path, write_call: WriteCall) -> None:
    results = [write_call(tmp_path), write_call(tmp_path / "b", done=False), lost()]
    text = render_text(results, aggregate_results(results))
    assert "attempts    3" in text
    assert "cause transport 1" in text
    assert "db_state_assertion failed: not as asserted: price_is, has_paid" in text
    assert "successful          1/2 = 50.0%" in text
    assert "is_action_match    failed (does not gate)" in text
