"""Names to objects, one attempt, many attempts."""
