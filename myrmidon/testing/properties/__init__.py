"""Property tests for users' controllers and kinds.

strategies   Hypothesis strategies for resources, edits and faults
convergence  a property test of controllers: the end depends on the specs alone
apply_laws   property tests of apply semantics for a kind
conversions  property tests of the conversions between the versions of a kind
end_states   the objects of a controller without what differs between any two runs
"""
