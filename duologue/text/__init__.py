"""Calls without sound: two brains, the same tools, the same databases, the same trace."""
