"""Agents that are asked turn by turn: no bot process, no audio of their own; a callable or an HTTP endpoint."""
