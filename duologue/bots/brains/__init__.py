"""What sits in the place of the LLM."""
