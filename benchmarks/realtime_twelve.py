"""Runs the twelve spoken scenarios over Pipecat's stock WebSocket transport, on the wall clock, one at a time.

    python benchmarks/realtime_twelve.py [--scenarios FILE] [--output-dir DIR]

Both bots run in real time (``transport.type: websocket``), the bridge with ``--bot-protocol realtime``. For every
scenario it prints the outcome, how late the bridge was at worst, and how often a bot's sound had a gap. Takes about as
long as the conversations do: a quarter of an hour.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def read_scenarios(path: Path) -> list[str]:
    """Return the names in a list file: one a line, ``#`` begins a comment."""
    lines = (line.split("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line]


def run(names: list[str], folder: Path) -> Path:
    """Run ``names`` and return the run directory."""
    configs = ROOT / "server_configs"
    command = [sys.executable, str(ROOT / "run_evaluation.py"), "--launch", "--bot-protocol", "realtime", "--quiet"]
    command += ["--agent-config", str(configs / "agent_websocket.yaml")]
    command += ["--user-config", str(configs / "user_websocket.yaml")]
    subprocess.run([*command, "--output-dir", str(folder), "--scenarios", *names], check=False, cwd=ROOT, timeout=7200)
    return max(folder.glob("eval_*"))


def timing(trace: Path) -> dict[str, Any]:
    """Return the ``loop_timed`` event of a trace."""
    events = map(json.loads, trace.read_text(encoding="utf-8").splitlines())
    return next((event for event in events if event["event"] == "loop_timed"), {})


def main() -> int:
    """Print a line for each scenario; return 0 when all have passed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenarios", type=Path, default=ROOT / "data" / "spoken_twelve.txt")
    parser.add_argument("--output-dir", type=Path, help="keep the run here (a temporary folder otherwise)")
    args = parser.parse_args()
    names, passed = read_scenarios(args.scenarios), 0
    with tempfile.TemporaryDirectory() as scratch:
        run_dir = run(names, args.output_dir or Path(scratch))
        for name in names:
            if not (run_dir / name / "result.json").exists():
                print(f"not run: {name}")
                continue
            result = json.loads((run_dir / name / "result.json").read_text(encoding="utf-8"))
            timed = timing(run_dir / name / "trace.jsonl")
            outcome = result["outcome"]
            passed += outcome["kind"] == "passed"
            print(
                f"{outcome['kind']:14} {result['media_ms'] / 1000:6.1f} s  at worst {timed.get('max_lag_ms')} ms late, "
                f"{timed.get('late_ticks')} of {timed.get('ticks')} frames late, gaps {timed.get('gaps')}  {name}"
                + (f"\n  {outcome['detail']}" if outcome["kind"] != "passed" else ""),
                flush=True,
            )
    print(f"{passed} of {len(names)} passed in real time")
    return 0 if passed == len(names) else 1


if __name__ == "__main__":
    raise SystemExit(main())
