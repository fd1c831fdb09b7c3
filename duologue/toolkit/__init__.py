"""What a domain's tools, predicates and sync rules build on."""
