"""Oracles: what must hold in every run, whatever fails.

judging      judges one run by all oracles that need no other run
commits      walks through the changes of the store once, for all oracles that look at each
storms       O2, O7, O13   controllers come to rest, and do not write more than they need to
orphans      O5            what belongs to a deleted object is gone, also outside the cluster
foreign      O6            what others wrote stays
conditions   O8, O9        Ready tells the truth, and observedGeneration never lies
children     O8            a controller that waits for its children is not Ready before them
health       O11, O12, O14 processes do not fail, do not write after their lease; watches are in order
recovery     O1            the end is reached within a bound after all faults
endings      O1, O3, O4    compared with references: the end, and how often objects were made

O10 are the monitors of the scenario.
"""

__all__: list[str] = []
