"""Telecom support: a carrier's back office for the agent, a phone for the user."""

from tools.tau2_telecom import (
    agent,
    initialization,
    phrasebook,
    predicates,
    user,
    user_checks,
    vectors,
    view,
    vocabulary,
)

__all__ = [
    "agent",
    "initialization",
    "phrasebook",
    "predicates",
    "user",
    "user_checks",
    "vectors",
    "view",
    "vocabulary",
]
