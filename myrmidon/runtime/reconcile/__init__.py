"""One pass over one object.

worker               takes due keys, reconciles and requeues them
reconciler           reads the object, runs a pass, logs and counts the result
passes               carries out the actions that ``fsm.engine`` decides on
pass_dependencies    the collaborators that all passes of a controller share
subject              the object of a pass, updated by each write
run_state            runs one state and returns its result or its failure
output_writer        writes the outputs of states, and notes what became of each
context              the ``ctx`` argument of a state: reads, Events, log
external             creates, updates and deletes resources outside the cluster
external_effects     one such call, for the change log
own_deletion         deletes the object itself, ``out.delete_self``
finalizer_edits      adds and removes our finalizer
status_writer        writes the status, against concurrent writers
former_conditions    finds conditions of states that no longer exist
tracked_children     records and deletes children without an owner reference
unrecorded_children  finds children that no status records
unseen_children      reads and deletes recorded children that no cache covers
pruning              deletes children that are no longer emitted
blocked_deletion     messages for an object whose deletion is blocked
write_errors         the state result for each error of a write
dropped_outputs      warns that a state dropped its outputs by returning Wait
error_reports        unexpected exceptions of states, for the log and for error trackers
"""

__all__: list[str] = []
