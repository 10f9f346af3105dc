"""To whom an object belongs: owner references, adoption, release, pruning."""
