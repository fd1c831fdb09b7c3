from tools.heating import agent, checks, phrasebook, user

__all__ = ["agent", "checks", "phrasebook", "user"]
