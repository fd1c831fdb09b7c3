"""Duologue: two voice bots talk, a bridge listens, and what happened in both databases decides the score."""

__version__ = "0.1.0"
