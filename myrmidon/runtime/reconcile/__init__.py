"""One pass over one object.

reconciler         reads the object, runs a pass, reports how it went
passes             the match over the actions of ``fsm.engine``
dependencies       what all passes of a controller share
subject            the object of a pass, as the server has it
run_state          runs one state: its result or its failure
context            what a state may ask for
finalizer_edits    adds and removes our finalizer
status_writer      the status write
former_conditions  conditions of states that no longer exist
tracked_children   children without an owner reference
unseen_children    children that no cache shows
pruning            deletes children that are no longer wanted
blocked_deletion   what an object says whose deletion is blocked
write_errors       what a refused write means for the state that wanted it
"""

__all__: list[str] = []
