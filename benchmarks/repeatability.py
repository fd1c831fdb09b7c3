"""Runs spoken scenarios several times and with agents that must fail, and compares the recordings byte by byte.

    python benchmarks/repeatability.py [--runs 3] [--scenarios FILE] [--only reference]

For every agent it prints how many scenarios passed; for repeated runs also how many recordings and event
lines were identical, and how much faster than real time the calls ran.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
BASELINES: dict[str, dict[str, Any]] = {
    "do_nothing": {"type": "do_nothing"},
    "wrong_action drop": {"type": "wrong_action", "mutation": "drop"},
    "wrong_action alter": {"type": "wrong_action", "mutation": "alter"},
    "wrong_action add": {"type": "wrong_action", "mutation": "add"},
}
WALL_FIELDS = ("utc_started", "wall_ms", "run_id")


@dataclass(frozen=True)
class StoredAttempt:
    """What one stored scenario folder holds. Digests are hex SHA-256; ``media_s`` is the call's length in seconds."""

    outcome: str
    recording: str
    events: str
    media_s: float


def read_scenarios(path: Path) -> list[str]:
    """Return the names in a list file: one a line, ``#`` begins a comment."""
    lines = (line.split("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line]


def events_digest(trace: Path) -> str:
    """Return the digest of a trace without what is wall time or names the run."""
    digest = hashlib.sha256()
    for line in trace.read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        if event["event"] == "header":
            event.pop("provenance", None)
            event.pop("settings", None)
        for field in WALL_FIELDS:
            event.pop(field, None)
        digest.update(json.dumps(event, sort_keys=True).encode())
    return digest.hexdigest()


def run(names: list[str], llm: dict[str, Any], folder: Path) -> tuple[dict[str, StoredAttempt], float]:
    """Run ``names`` with an agent whose ``llm`` section is given; return attempts by name and wall seconds."""
    config = yaml.safe_load((ROOT / "server_configs" / "agent.yaml").read_text(encoding="utf-8"))
    config["llm"] = llm
    agent = folder / "agent.yaml"
    agent.write_text(yaml.safe_dump(config), encoding="utf-8")
    command = [sys.executable, str(ROOT / "run_evaluation.py"), "--launch", "--quiet", "--agent-config", str(agent)]
    started = time.perf_counter()  # noqa: TID251 - a benchmark reports wall time
    subprocess.run([*command, "--output-dir", str(folder), "--scenarios", *names], check=False, cwd=ROOT, timeout=7200)
    took_s = time.perf_counter() - started  # noqa: TID251
    run_dir = next(folder.glob("eval_*"))
    attempts = {}
    for name in names:
        result = json.loads((run_dir / name / "result.json").read_text(encoding="utf-8"))
        wav = (run_dir / name / "conversation_log.wav").read_bytes()
        attempts[name] = StoredAttempt(
            result["outcome"]["kind"],
            hashlib.sha256(wav).hexdigest(),
            events_digest(run_dir / name / "trace.jsonl"),
            (len(wav) - 44) / 4 / 16000,
        )
    return attempts, took_s


def main() -> int:
    """Print one line per agent and run; return 0 when everything is as it must be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3, help="runs of the reference agent (default 3)")
    parser.add_argument("--scenarios", type=Path, default=ROOT / "data" / "spoken_twelve.txt")
    parser.add_argument("--only", choices=["reference", "baselines"], help="leave out the other half")
    args = parser.parse_args()
    names, is_good = read_scenarios(args.scenarios), True
    with tempfile.TemporaryDirectory() as scratch:
        first: dict[str, StoredAttempt] = {}
        for number in range(args.runs if args.only != "baselines" else 0):
            folder = Path(scratch) / f"reference_{number}"
            folder.mkdir()
            attempts, took_s = run(names, {"type": "reference"}, folder)
            first = first or attempts
            passed = sum(attempt.outcome == "passed" for attempt in attempts.values())
            same = sum(attempts[name].recording == first[name].recording for name in names)
            events = sum(attempts[name].events == first[name].events for name in names)
            media_s = sum(attempt.media_s for attempt in attempts.values())
            is_good = is_good and passed == same == events == len(names)
            print(
                f"reference run {number + 1}: {passed} of {len(names)} passed, {same} recordings and {events} traces "
                f"identical to run 1, {media_s:.0f} s of conversation in {took_s:.0f} s ({media_s / took_s:.1f}x)",
                flush=True,
            )
            for name, attempt in attempts.items():
                if attempt.outcome != "passed":
                    print(f"  {attempt.outcome}: {name}")
        for label, llm in BASELINES.items() if args.only != "reference" else ():
            folder = Path(scratch) / label.replace(" ", "_")
            folder.mkdir()
            attempts, _ = run(names, llm, folder)
            wrong = [name for name, attempt in attempts.items() if attempt.outcome != "failed"]
            is_good = is_good and not wrong
            passed = sum(attempt.outcome == "passed" for attempt in attempts.values())
            print(f"{label}: {passed} of {len(names)} passed, {len(names) - len(wrong)} failed", flush=True)
            for name in wrong:
                print(f"  {attempts[name].outcome}: {name}")
    return 0 if is_good else 1


if __name__ == "__main__":
    raise SystemExit(main())
