"""Leader election: one of several replicas works.

lease       what any Lease says, however it was edited
election    lead, follow, renew, resign: the decision     no I/O
elector     reads and writes the Lease
"""

from myrmidon.runtime.leader.election import Terms

__all__ = ["Terms"]
