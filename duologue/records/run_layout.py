"""The names of everything in a run directory, once. Those that other programs read are part of their contract.

::

    eval_results/                 parent of runs, with the caches beside them
      eval_<time>/                one run
        run_args.json, evaluation_log.txt, all_…, results.json, judge_agreement.json
        bot_logs/<side>.log       what launched bots print
        <scenario>[__trial_<n>]/  one attempt
          trace.jsonl, conversation_log.wav, said_log.wav, bridge_log.txt
          judge_result.json, judgement.json
          result.json, metrics.json, …, scenario_config/, bot_logs_<side>/
"""

from __future__ import annotations

from datetime import datetime

from duologue.records.action import Side

RUNS = "eval_results"
"""The parent of runs, unless another one is named."""

SPEECH_CACHE = "speech_cache"
"""Beside the runs: spoken utterances."""

JUDGE_CACHE = "judge_cache"
"""Beside the runs: valid replies of judges."""

RUN_ARGS = "run_args.json"
"""How the run was started."""

EVALUATION_LOG = "evaluation_log.txt"
ALL_METRICS = "all_metrics.json"
ALL_LATENCIES = "all_latencies.csv"
ALL_SUMMARY = "all_summary.txt"
RESULTS = "results.json"
JUDGE_AGREEMENT = "judge_agreement.json"

BOT_LOGS = "bot_logs"
"""Folder of a run: the output of launched bots."""

TRACE = "trace.jsonl"
"""All evidence of an attempt beside its recording; everything else is made from the two, and from what judges said."""

RECORDING = "conversation_log.wav"
SAID_RECORDING = "said_log.wav"
"""Beside the recording of what was heard, where the line changed it: what was said."""

BRIDGE_LOG = "bridge_log.txt"

JUDGE_RESULT = "judge_result.json"
"""What a judge said of an attempt."""

JUDGEMENT = "judgement.json"
"""What a judge answered to the questions of checks."""

RESULT = "result.json"
"""Our own complete record of the scored attempt; aggregates are rebuilt from it."""

METRICS = "metrics.json"
FINAL_RESPONSE = "final_agent_response.json"
DB_HASHES = "final_scenario_db_hash.txt"
CONVERSATION_LOG = "conversation_log.txt"
SEGLST = "conversation_log.seglst.json"

LLM_CONTEXT = "llm_context.json"
"""In the folder of a side's logs: what its model was told."""

SCENARIO_CONFIG = "scenario_config"
"""Folder of an attempt: what was played, in the contract's files."""

METADATA = "metadata.json"
REFERENCE_ANSWER = "reference_answer.json"

MOVED_ASIDE = ".killed."
"""What stands in the name of a folder that is no attempt any more."""


def run_name(started: datetime, number: int = 1) -> str:
    """Return the name of a run's directory: the time in UTC, and a number when that is taken."""
    stem = f"eval_{started:%Y%m%d_%H%M%S}"
    return stem if number == 1 else f"{stem}_{number}"


def trial_folder(folder: str, trial: int) -> str:
    """Return the folder of a repetition: that of the scenario itself for trial 1."""
    return folder if trial == 1 else f"{folder}__trial_{trial}"


def bot_log(side: Side) -> str:
    """Return the name of a launched bot's output, in the folder of bot logs."""
    return f"{side.value}.log"


def side_logs(side: Side) -> str:
    """Return the folder of an attempt with what a side's bot told."""
    return f"bot_logs_{side.value}"


def side_prompt(side: Side) -> str:
    """Return the name of a side's prompt, in the folder of the scenario."""
    return f"{side.value}_prompt.txt"


def side_tools(side: Side) -> str:
    """Return the name of a side's tool settings, in the folder of the scenario."""
    return f"{side.value}_tools.json"


def judge_replies(name: str) -> str:
    """Return the file beside ``judge_result.json`` for the replies of the judge ``name``."""
    stem, suffix = JUDGE_RESULT.split(".")
    return f"{stem}.{name}.{suffix}"
