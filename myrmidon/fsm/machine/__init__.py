"""The state machine that a controller class declares.

states           the decorator ``@state``
declared_states  the states of a class and its base classes
results          what a state returns: ``Done``, ``Wait``, ``Failed``
graph            the declared edges, and what is wrong with them
forks            branches that are independent of each other
next_pass        what results say about the next pass: rechecks, failures, schedules
raised           an exception of a state, with the user's line
"""
