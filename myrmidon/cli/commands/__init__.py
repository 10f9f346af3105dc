"""One module for each command of `myrmidon`."""
