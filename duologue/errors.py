"""The error tree of Duologue.

::

    DuologueError
    ├── ConfigError            a setting, a flag or a YAML key is wrong
    ├── FixtureError           a data file is missing, malformed or outside the data root
    ├── RegistryError          a name is registered twice, or not at all
    ├── ToolError              raised inside a tool body; becomes a value for the model, never a crash
    │   ├── ToolRefusal        the tool understood and declined
    │   └── InvalidArguments   the arguments do not fit the tool
    ├── MalformedRequest       a message's fields are missing or of the wrong kind
    ├── PreflightFailed        a bot is not there, or its model does not answer; nothing was run
    ├── BotStateError          a bot's own pipeline is not in the state it has to be in
    ├── BotError               one bot, seen from the bridge (has ``side``, ``request_id``, ``retryable``)
    │   ├── BotUnavailable     cannot connect, or the connection ended
    │   │   └── BotBusy        it serves somebody else (WebSocket close code 1013)
    │   ├── BotTimeout         no answer within the bound
    │   └── ProtocolViolation  an answer that the wire contract does not allow
    ├── ScenarioError          one attempt cannot be evaluated
    │   ├── InitializationFailed
    │   ├── LoopTooLate        a call in real time that this machine could not keep up with
    │   └── ReconcileFailed
    ├── ResourceFailed         a domain's resource could not be started, cloned, read or put back (has ``resource``)
    ├── TranscriptionError     an utterance could not be turned into text
    ├── TurnAgentError         a turn agent could not be asked, or gave no usable turn
    │   └── TurnAgentUnavailable
    ├── JudgeError             the judge gave no usable reply (has ``retryable``)
    └── TraceError             a stored run cannot be read
"""

from __future__ import annotations

__all__ = [
    "ConfigError",
    "DuologueError",
    "FixtureError",
    "InvalidArguments",
    "JudgeError",
    "RegistryError",
    "ToolError",
    "ToolRefusal",
]


class DuologueError(Exception):
    """Base of every error that Duologue raises on purpose."""


class ConfigError(DuologueError):
    """A setting is wrong. The message names the file, the key and the remedy."""


class FixtureError(DuologueError):
    """A data file is missing, malformed or outside the data root."""


class RegistryError(DuologueError):
    """A name is registered twice, or is not registered."""


class ToolError(DuologueError):
    """Raised inside a tool body; the caller turns it into a result for the model."""

    error_type = "tool_error"


class ToolRefusal(ToolError):
    """The tool understood the request and declined it."""


class InvalidArguments(ToolError):
    """The arguments do not fit the tool."""

    error_type = "invalid_arguments"


class MalformedRequest(DuologueError):
    """What a message carries does not fit: the text names the message, the field and what it must be."""


class PreflightFailed(DuologueError):
    """A bot that the run needs cannot take part: one line for each, with address and remedy."""


class BotStateError(DuologueError):
    """Inside a bot: its pipeline is not in the state it has to be in."""


class BotError(DuologueError):
    """Something is wrong with one bot, seen from the bridge.

    Args:
        message: what happened, for a person.
        side: ``"agent"`` or ``"user"``.
        request_id: id of the request that was open, if one was.
    """

    retryable = False

    def __init__(self, message: str, *, side: str, request_id: str | None = None) -> None:
        super().__init__(message)
        self.side = side
        self.request_id = request_id


class BotUnavailable(BotError):
    """The bot cannot be reached, or its connection ended."""

    retryable = True


class BotBusy(BotUnavailable):
    """The bot serves another client."""


class BotTimeout(BotError):
    """The bot did not answer within the bound."""

    retryable = True


class ProtocolViolation(BotError):
    """The bot sent something that the wire contract does not allow."""


class ScenarioError(DuologueError):
    """One attempt cannot be evaluated."""


class InitializationFailed(ScenarioError):
    """A side could not be put into the scenario's initial state."""


class LoopTooLate(ScenarioError):
    """The bridge fell behind real time by more than a call may."""


class ReconcileFailed(ScenarioError):
    """The two databases and their shadows could not be kept equal."""


class ResourceFailed(DuologueError):
    """A resource of a domain is not there, or not in order. It says nothing about the agent.

    Args:
        resource: its name.
        problem: what it could not do, for a person.
    """

    def __init__(self, resource: str, problem: str) -> None:
        super().__init__(f"resource {resource}: {problem}")
        self.resource = resource
        self.problem = problem


class TranscriptionError(DuologueError):
    """An utterance could not be turned into text: no audio, no words, or no recognizer for it."""


class TurnAgentError(DuologueError):
    """A turn agent could not be asked, or what it answered is not a turn."""


class TurnAgentUnavailable(TurnAgentError):
    """Nothing accepts connections where a turn agent should be."""


class JudgeError(DuologueError):
    """The judge gave no usable reply."""

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable


class TraceError(DuologueError):
    """A stored run cannot be read."""
