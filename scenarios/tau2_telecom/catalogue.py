"""The telecom catalogue: tasks to scenarios, twice, once for each style of the technical support document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from duologue.errors import ConfigError, RegistryError
from duologue.records.action import Side
from duologue.records.record import Record
from duologue.records.scenario import (
    CatalogueOptions,
    Instructions,
    Persona,
    Resources,
    Scenario,
    SideSpec,
    SignalName,
    Task,
)
from duologue.state.fixtures import data_file, read_text
from duologue.toolkit.prompt import render_prompt
from duologue.toolkit.rules import CATALOGUES, RULES_NAME, Catalogue, CatalogueFlag
from duologue.toolkit.tool import END_CALL_TOOL, side_tools
from scenarios.tau2_telecom import prompts
from scenarios.tau2_telecom.composition import TelecomTask, compose_all, load_families, load_record
from scenarios.tau2_telecom.upstream import UpstreamTask, load_upstream

DOMAIN = "tau2_telecom"
VARIANTS = {"tau2_telecom": "manual", "tau2_telecom_workflow": "workflow"}
"""Scenario name prefix to the style of the technical support document (``policy_variant``)."""

SPLITS = ("base", "train", "test", "small", "full")
PROFILES = ("guide", "tau2")
MAX_DURATION_S = 900.0


class BaseSplit(Record):
    """Task ids of the two halves of ``base``."""

    train: frozenset[str]
    test: frozenset[str]

    def half(self, task_id: str) -> str:
        """Return ``train`` or ``test``, or an empty string for a task outside ``base``."""
        return "train" if task_id in self.train else "test" if task_id in self.test else ""


@dataclass(frozen=True, slots=True)
class CallerTexts:
    """The four parts of the caller's prompt."""

    persona: Persona
    task: Task
    actions: Instructions
    resources: Resources


DATA_FLAG = CatalogueFlag(
    "tau2-data", "your own copy of tau2-bench: a checkout, or 'package' if it is installed", metavar="PATH"
)


def load(options: CatalogueOptions) -> Sequence[Scenario]:
    """Return the scenarios of both registrations, each ordered by task id.

    With ``--tau2-data`` tasks and texts come from the user's own copy of upstream data.

    Raises:
        ConfigError: the split or the profile is unknown.
        FixtureError: a data file is missing or malformed.
        RegistryError: the domain's tools are not loaded.
    """
    profile = options.profile or PROFILES[0]
    for kind, value, known in (("split", options.split, SPLITS), ("profile", profile, PROFILES)):
        if value not in known:
            raise ConfigError(f"{DOMAIN} has no {kind} {value!r}; known: {', '.join(known)}")
    listed: Sequence[tuple[TelecomTask, CallerTexts]]
    source = options.extra.get(DATA_FLAG.name)
    if not source:
        listed = [(task, caller_texts(task)) for task in select(options.split)]
        policies = {variant: policy(variant) for variant in VARIANTS.values()}
    else:
        upstream = load_upstream(source, options.split)
        listed = [(entry.task, upstream_caller_texts(entry)) for entry in upstream.tasks]
        policies = upstream.policies
    listed = sorted(listed, key=lambda entry: entry[0].task_id)
    return [
        build_scenario(task, texts, prefix, policies[variant], profile)
        for prefix, variant in VARIANTS.items()
        for task, texts in listed
    ]


@cache
def base_split() -> BaseSplit:
    """Return which tasks belong to ``base``, by half."""
    return load_record("splits.json", BaseSplit)


@cache
def voices() -> dict[str, str]:
    """Return task id to acoustic persona label, for the tasks that have one."""
    labels: dict[str, list[str]] = load_record("voices.json", dict[str, list[str]])
    return {task_id: label for label, task_ids in labels.items() for task_id in task_ids}


def split_label(task: TelecomTask) -> str:
    """Return the narrowest split a task belongs to: ``train``, ``test``, ``small`` or ``full``."""
    return base_split().half(task.task_id) or ("small" if len(task.issues) == 1 else "full")


def select(split: str) -> list[TelecomTask]:
    """Return the composed tasks of one split."""
    wanted = {"base": ("train", "test"), "full": SPLITS}.get(split, (split,))
    return [task for task in compose_all() if split_label(task) in wanted]


def policy(variant: str) -> str:
    """Return the main policy and one technical support document, parted by a horizontal rule."""
    parts = [read_text(data_file(f"{DOMAIN}/{name}.md")) for name in ("main_policy", f"tech_support_{variant}")]
    return "\n\n---\n\n".join(part.strip() for part in parts)


def scenario_name(prefix: str, task: TelecomTask) -> str:
    """Return ``<prefix>__<family>__<issue>__…``, with the persona in lower case at the end unless it is ``None``."""
    persona = [] if task.persona == "None" else [task.persona.lower()]
    return "__".join([prefix, task.family, *task.issues, *persona])


def caller_texts(task: TelecomTask) -> CallerTexts:
    """Return our own words for the caller of a task."""
    return CallerTexts(
        prompts.load_persona(task.persona),
        prompts.caller_task(task.family),
        prompts.caller_actions(task.family),
        Resources(tools=_caller_tools(), information=prompts.caller_information(task)),
    )


def upstream_caller_texts(entry: UpstreamTask) -> CallerTexts:
    """Return upstream's words for the caller, with our script for a telephone call around them."""
    return CallerTexts(
        Persona(background=entry.persona),
        Task(goal=entry.reason_for_call),
        prompts.telephone_actions(),
        Resources(tools=_caller_tools(), info_sections=entry.sections),
    )


def caller_facts(task: TelecomTask) -> dict[str, Any]:
    """Return what the caller knows, in structured form; nothing of the repair."""
    families = load_families()
    caller, family = families.caller, families.families[task.family].caller
    is_told = "location" in family.user_knows
    country = caller.abroad if task.is_abroad else caller.home
    return {
        "name": caller.name,
        "phone_number": caller.phone_number,
        "location": country if is_told else None,
        "abroad": task.is_abroad,
        "family": task.family,
        "persona": task.persona,
        **family.model_dump(mode="json", exclude={"complaint", "wish"}),
    }


def agent_facts(task: TelecomTask) -> dict[str, Any]:
    """Return what an agent that already knows the solution needs besides it."""
    families = load_families()
    return {
        "family": task.family,
        "customer_id": families.caller.customer_id,
        "line_id": families.caller.line_id,
        "done_when": families.families[task.family].caller.done_when,
    }


def signals(task: TelecomTask) -> tuple[SignalName, ...]:
    """Return what gates the verdict: the final state, the actions where they alone tell, claims if any, the exit."""
    gates = [SignalName.DB_STATE_ASSERTION]
    if "ACTION" in task.reward_basis:
        gates.append(SignalName.ACTION_MATCH)
    if task.nl_assertions:
        gates.append(SignalName.NL_ASSERTION)
    return (*gates, SignalName.CLEAN_EXIT)


def build_scenario(task: TelecomTask, texts: CallerTexts, prefix: str, policy_text: str, profile: str) -> Scenario:
    """Return one task as a scenario of the registration ``prefix``."""
    user = SideSpec(
        prompt=render_prompt(texts.persona, texts.task, texts.actions, texts.resources),
        persona=texts.persona,
        task=texts.task,
        actions=texts.actions,
        resources=texts.resources,
        facts=caller_facts(task),
        shared_state={"db_path": f"{DOMAIN}/user_db", "profile": profile},
    )
    agent = SideSpec(
        prompt=f"{policy_text}\n\n{prompts.agent_notes()}",
        persona=Persona(role="Customer service agent of a mobile carrier"),
        resources=Resources(tools={**_tool_names(Side.AGENT), END_CALL_TOOL: {}}),
        facts=agent_facts(task),
        shared_state={"db_path": f"{DOMAIN}/db", "profile": profile},
    )
    return Scenario(
        name=scenario_name(prefix, task),
        domain=DOMAIN,
        task_id=task.task_id,
        family=task.family,
        description=f"{task.family.replace('_', ' ')}, caused by: {', '.join(task.issues).replace('_', ' ')}",
        max_duration_s=MAX_DURATION_S,
        profile=profile,
        user=user,
        agent=agent,
        has_user_state=True,
        user_needs_tools=True,
        initialization_actions=task.initialization_actions,
        reference_actions=task.reference_actions,
        db_state_assertions=task.assertions,
        nl_assertions=task.nl_assertions,
        success_signals=signals(task),
        labels=_labels(task, prefix),
    )


def _labels(task: TelecomTask, prefix: str) -> dict[str, str]:
    return {
        "persona": task.persona,
        "voice_persona": voices().get(task.task_id, ""),
        "split": split_label(task),
        "reward_basis": ",".join(task.reward_basis),
        "policy_variant": VARIANTS[prefix],
    }


def _caller_tools() -> dict[str, dict[str, Any]]:
    return {**_tool_names(Side.USER), END_CALL_TOOL: {}}


def _tool_names(side: Side) -> dict[str, dict[str, Any]]:
    names: dict[str, dict[str, Any]] = {name: {} for name in side_tools(DOMAIN, side)}
    if not names:
        raise RegistryError(f"the {side} tools of {DOMAIN} are not loaded; call load_domain({DOMAIN!r}) first")
    return names


CATALOGUES.register(
    DOMAIN,
    RULES_NAME,
    Catalogue(load=load, prefixes=tuple(VARIANTS), splits=SPLITS, profiles=PROFILES, flags=(DATA_FLAG,)),
    owner=__name__,
)
