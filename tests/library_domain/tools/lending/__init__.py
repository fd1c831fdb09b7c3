from tools.lending import agent, caller, checks, desk

__all__ = ["agent", "caller", "checks", "desk"]
