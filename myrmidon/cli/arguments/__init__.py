"""Arguments that several commands share, and large groups of one.

parser           short answers to wrong arguments
settings         options from flags, environment and file
clusters         the flags that choose a cluster
replicas         the flags of a process that is one of several replicas
remote_clusters  the flags that name other clusters
named_objects    the arguments that name an object, and how it is found
webhooks         the flags of the webhooks that a process serves
event_loops      asyncio's event loop or uvloop
files            files that a command reads or writes
"""
