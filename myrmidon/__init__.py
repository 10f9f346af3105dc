"""Kubernetes controllers declared as state machines."""
