"""What a running process tells about itself.

recorder         the last passes of each object and of the whole process, within a memory limit
pass_record      one recorded pass
kept_writes      the writes of a recorded pass
under_way        the pass for which the running code works
trace, snapshot  each object as its last pass left it, for ``myrmidon explain``, ``dev`` and the live page
vitals           the queue, caches, leader and event loop of a process, for the live page
change_log       a record of each write that changed an object
tracing          OpenTelemetry spans of passes, states and requests
causal_links     which earlier write or request caused a pass, for the links of its span
"""
