"""What a state declares: the OutputSet, its outputs and their options."""
