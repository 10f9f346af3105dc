"""What happens before the first pass.

definitions  the CRDs of the program, compared with the cluster's
installation  applies the CRDs of the program
preflight    checks that every declared kind can be listed
remotes      other clusters that controllers watch, read and write
storage_migration  writes all objects of a kind in its storage version
same_kind    two controllers of one kind
sharding     the member of a process that shares the objects with other replicas
records      the change log and the recorder that the options ask for
clients      connections to the API servers: fence, rate limit, leader election
"""
