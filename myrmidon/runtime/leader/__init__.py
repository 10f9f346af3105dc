"""Leader election: only one of several replicas runs passes.

lease_record  the Lease object: lenient reading, default name
election    decides when to lead, follow, renew and resign; no I/O
elector     the loop that reads and writes the Lease
"""

from myrmidon.runtime.leader.election import Terms

__all__ = ["Terms"]
