"""Runs spoken scenarios with a model behind HTTP on both sides, several times, and compares the runs byte by byte.

    python benchmarks/llm_twelve.py [--runs 2] [--scenarios FILE] [--charge fixed:400] [--fault 429=0.1@5]

The models are scripted: `python -m duologue.testing.openai_server` plays a competent agent and a competent caller.
For each run it prints how many scenarios passed, how many recordings and traces equal those of the first run, the
tokens of each side, and how much faster than real time the calls ran.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml
from repeatability import ROOT, StoredAttempt, events_digest, read_scenarios

from duologue.runner.build import build_scenarios
from duologue.runner.settings import Selection
from duologue.testing.model_brains import BrainModels, scripts_by_epoch
from duologue.testing.model_script import ModelFault, parse_fault
from duologue.testing.openai_server import ModelServer

MODELS = {"agent": "reference", "user": "scripted_user"}
KEYS = {"AGENT_API_KEY": "secret-of-the-agent", "USER_API_KEY": "secret-of-the-user"}


def write_configs(folder: Path, url: str, llm: dict[str, Any]) -> list[str]:
    """Write both bots' YAML files and return the flags that name them."""
    flags = []
    for side, model in MODELS.items():
        path = ROOT / "server_configs" / f"{side}_openai.yaml"
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
        config["llm"] |= {"base_url": url, "model": model, **llm}
        own = folder / path.name
        own.write_text(yaml.safe_dump(config), encoding="utf-8")
        flags += [f"--{side}-config", str(own)]
    return flags


def run(names: list[str], folder: Path, flags: list[str]) -> tuple[dict[str, StoredAttempt], dict[str, Any], float]:
    """Run ``names`` and return attempts by name, summed tokens by side, and wall seconds."""
    command = [sys.executable, str(ROOT / "run_evaluation.py"), "--launch", "--quiet", *flags]
    started = time.perf_counter()  # noqa: TID251 - a benchmark reports wall time
    subprocess.run(
        [*command, "--output-dir", str(folder), "--scenarios", *names],
        check=False,
        cwd=ROOT,
        env={**os.environ, **KEYS},
        timeout=7200,
    )
    took_s = time.perf_counter() - started  # noqa: TID251
    run_dir = next(folder.glob("eval_*"))
    attempts: dict[str, StoredAttempt] = {}
    tokens = {side: {"n_calls": 0, "prompt": 0, "completion": 0} for side in MODELS}
    for name in names:
        result = json.loads((run_dir / name / "result.json").read_text(encoding="utf-8"))
        wav = (run_dir / name / "conversation_log.wav").read_bytes()
        recording = hashlib.sha256(wav).hexdigest()
        events = events_digest(run_dir / name / "trace.jsonl")
        attempts[name] = StoredAttempt(result["outcome"]["kind"], recording, events, (len(wav) - 44) / 4 / 16000)
        for side, use in result["tokens"].items():
            for key in tokens[side]:
                tokens[side][key] += use[key]
    return attempts, tokens, took_s


def leaks(folder: Path) -> list[Path]:
    """Return the files of a run that hold a key."""
    secrets = [secret.encode() for secret in KEYS.values()]
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if any(secret in path.read_bytes() for secret in secrets)]


def main() -> int:
    """Print one line per run; return 0 when everything passed, was repeated exactly, and no key was written."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2, help="how often (default 2)")
    parser.add_argument("--scenarios", type=Path, default=ROOT / "data" / "spoken_twelve.txt")
    parser.add_argument("--charge", default="fixed:400", help="media time of each reply (default %(default)s)")
    parser.add_argument("--fault", action="append", default=[], type=parse_fault)
    args = parser.parse_args()
    names, faults = read_scenarios(args.scenarios), list[ModelFault](args.fault)
    scripts = scripts_by_epoch(build_scenarios(Selection(names=tuple(names))))
    is_good, first = True, dict[str, StoredAttempt]()
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(1, args.runs + 1):
            folder = Path(scratch) / f"run_{number}"
            folder.mkdir()
            with ModelServer(BrainModels(scripts), faults) as server:
                attempts, tokens, took_s = run(
                    names, folder, write_configs(folder, server.url, {"charge": args.charge})
                )
            first = first or attempts
            passed = sum(attempt.outcome == "passed" for attempt in attempts.values())
            same = sum(attempts[name].recording == first[name].recording for name in names)
            events = sum(attempts[name].events == first[name].events for name in names)
            media_s = sum(attempt.media_s for attempt in attempts.values())
            found = leaks(folder)
            is_good = is_good and passed == same == events == len(names) and not found
            print(
                f"run {number}: {passed} of {len(names)} passed, {same} recordings and {events} traces identical to "
                f"run 1, {media_s:.0f} s of conversation in {took_s:.0f} s ({media_s / took_s:.1f}x), "
                f"{len(server.requests)} requests, {len(found)} files hold a key"
            )
            for side, use in tokens.items():
                print(f"  {side}: {use['n_calls']} replies, {use['prompt']} + {use['completion']} tokens", flush=True)
            for name, attempt in attempts.items():
                if attempt.outcome != "passed":
                    print(f"  {attempt.outcome}: {name}")
    return 0 if is_good else 1


if __name__ == "__main__":
    raise SystemExit(main())
