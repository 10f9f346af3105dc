"""The status that a pass leaves on its object, and how it is written."""
