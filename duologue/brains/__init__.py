"""Brains without a model: pure decisions from chat messages and facts."""
