"""Which parent an object belongs to: owner references, adoption, release, pruning."""
