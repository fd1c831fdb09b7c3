"""Did the simulated caller do its part: facts, tools, conduct."""
