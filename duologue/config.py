"""Settings of bots, bridge and runs: models, loader, order of precedence."""
