import statistics

import pytest

from duologue.bots.charging import charged_s

LOGNORMAL = "seeded:lognormal(mean_ms=600,sigma=0.4)"


@pytest.mark.parametrize(("charge", "cost_s"), [("zero", 0.0), ("fixed:250", 0.25), ("measured", None)])
def test_plain_charges_are_what_they_say(charge: str, cost_s: float | None) -> None:
    assert charged_s(charge, seed="a", number=1) == cost_s


def test_seeded_charge_depends_on_attempt_and_request_alone() -> None:
    assert charged_s(LOGNORMAL, seed="a", number=1) == charged_s(LOGNORMAL, seed="a", number=1)
    assert len({charged_s(LOGNORMAL, seed=seed, number=number) for seed in "ab" for number in (1, 2)}) == 4


def test_lognormal_has_the_mean_that_was_asked_for() -> None:
    costs = [charged_s(LOGNORMAL, seed="a", number=number) or 0 for number in range(4000)]
    assert statistics.mean(costs) == pytest.approx(0.6, rel=0.03)
    assert min(costs) > 0


def test_uniform_stays_in_its_bounds() -> None:
    costs = [charged_s("seeded:uniform(min_ms=300,max_ms=900)", seed="a", number=number) or 0 for number in range(500)]
    assert 0.3 <= min(costs) < 0.35 and 0.85 < max(costs) <= 0.9
