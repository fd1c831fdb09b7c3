"""From (trace, scenario) to verdicts, without bots."""
