"""The bot process: the only place that imports Pipecat."""
