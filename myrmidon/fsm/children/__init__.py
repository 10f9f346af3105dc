"""The children of an object: their names, their readiness, rolling replacement, ready-made states."""
