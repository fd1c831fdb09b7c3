"""Digests of code, settings, fixtures and prompts, for the header of every trace."""
