"""The embedded API server on this machine, and the live view of `myrmidon dev`."""
