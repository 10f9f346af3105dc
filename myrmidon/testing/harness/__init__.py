"""The cluster of a test.

harness         controllers and an embedded server, in virtual time
live            controllers and a real API server, in real time
cluster         the interface that both implement
reads           its reads, as JSON or typed
recording       a log of all requests
clock           virtual time for asyncio
turns           the turns of its event loop
misuse          slips in a test, answered with their fix
failures        what a failed test prints
generated_role  controllers with exactly the rights of their generated role
readiness       when a test counts an object as ready
unclosed        the end of a cluster, also of one that the test did not close
garbage         fewer garbage collections during many runs
"""
