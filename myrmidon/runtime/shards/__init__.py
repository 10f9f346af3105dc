"""Shards: several replicas work at the same time, each on the objects of its own slices.

slices      the equal parts of the hash space, and the slice of an object
assignment  which member should own which slice
shard_map   the Lease that records the owners
peers       which members live, by their Leases
board       decides which slices are owned, given away, and given to others; no I/O
written_versions  how far caches must have come before a new owner begins
fence       sends the writes of a pass only while its slice is owned
process_parts  what a member tells of its slices: controllers
overview    who owns which slices, for a person
member      the loop that reads and writes the Leases, and opens and closes slices
"""

__all__: list[str] = []
