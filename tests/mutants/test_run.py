import hashlib
from pathlib import Path

import pytest

from tests.mutants.run import ROOT, Fate, Mutation, chosen, copied, load_mutations, main, staleness, try_out

MUTATIONS = load_mutations()

GUARD = "def is_adult(age: int) -> bool:\n    return age >= 18\n"
TESTS = (
    "from guard import is_adult\n\n\ndef test_child() -> None:\n    assert not is_adult(3)\n\n\n"
    "def test_limit() -> None:\n    assert is_adult(18) and not is_adult(17)\n"
)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "guard.py").write_text(GUARD)
    (tmp_path / "test_guard.py").write_text(TESTS)
    return tmp_path


def change(new: str, test: str = "test_limit", old: str = ">= 18") -> Mutation:
    return Mutation("limit", "guard.py", old, new, (f"test_guard.py::{test}",))


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.id)
def test_mutation_fits_the_checkout(mutation: Mutation) -> None:
    assert staleness(mutation, ROOT) == ""


@pytest.mark.slow
def test_drawn_mutations_are_killed() -> None:
    """Another two whenever one of the files changes."""
    fast = [mutation for mutation in MUTATIONS if not mutation.tests[0].startswith("tests/bridge/")]
    files = sorted({mutation.file for mutation in fast})
    seed = hashlib.sha256(b"".join((ROOT / file).read_bytes() for file in files)).hexdigest()
    with copied(ROOT) as copy:
        trials = [try_out(mutation, copy) for mutation in chosen(fast, [], 2, seed)]
    assert [(trial.fate, trial.detail) for trial in trials] == [(Fate.KILLED, "")] * 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mutation", "fate"),
    [
        (change("> 18"), Fate.KILLED),
        (change("> 18", "test_child"), Fate.ALIVE),
        (change(">= 21", old=">= 20"), Fate.STALE),
        (change(">= 21", "test_parent"), Fate.STALE),
        (change(">= ("), Fate.BROKEN),
    ],
)
def test_fate_is_told_and_the_file_put_back(checkout: Path, mutation: Mutation, fate: Fate) -> None:
    trial = try_out(mutation, checkout)
    assert trial.fate is fate and bool(trial.detail) is (fate is not Fate.KILLED)
    assert (checkout / "guard.py").read_text() == GUARD


@pytest.mark.slow
def test_tests_that_hang_have_killed_nothing(checkout: Path) -> None:
    hangs = change("input_of_nobody()", old="age >= 18")
    (checkout / "guard.py").write_text(f"{GUARD}\n\ndef input_of_nobody() -> bool:\n    while True:\n        pass\n")
    assert try_out(hangs, checkout, timeout_s=1.5).fate is Fate.TIMEOUT


@pytest.mark.slow
def test_mutation_that_lives_fails_the_run(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entry = '- {id: %s, file: guard.py, old: ">= 18", new: "> 18", tests: ["test_guard.py::%s"]}\n'
    listed = checkout / "mutations.yaml"
    listed.write_text(entry % ("seen", "test_limit") + entry % ("unseen", "test_child"))
    assert main([], root=checkout, listed=listed) == 1
    told = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in told[:2]] == [["killed", "seen"], ["ALIVE", "unseen"]]
    assert told[-1] == "1 of 2 killed"
    assert main(["--only", "seen"], root=checkout, listed=listed) == 0


def test_sample_is_drawn_by_its_seed() -> None:
    drawn = chosen(MUTATIONS, [], 5, "1")
    assert drawn == chosen(MUTATIONS, [], 5, "1") != chosen(MUTATIONS, [], 5, "2")
    assert len(drawn) == 5 and drawn == [mutation for mutation in MUTATIONS if mutation in drawn]


def test_unknown_id_is_refused() -> None:
    with pytest.raises(ValueError, match="no mutation has the id nobody"):
        chosen(MUTATIONS, ["nobody"], None, "0")


@pytest.mark.parametrize(
    ("second", "words"),
    [("{id: a, file: f, old: x, new: y, tests: [t]}", "an id stands twice"),
     ("{id: b, file: f, old: x, new: x, tests: [t]}", "changes nothing"),
     ("{id: b, file: f, old: x, new: y, tests: []}", "names no test")],
)  # fmt: skip
def test_list_that_says_nothing_is_refused(tmp_path: Path, second: str, words: str) -> None:
    listed = tmp_path / "mutations.yaml"
    listed.write_text(f"- {{id: a, file: f, old: x, new: y, tests: [t]}}\n- {second}\n")
    with pytest.raises(ValueError, match=words):
        load_mutations(listed)
