"""What a running process tells about itself.

trace, snapshot  the last pass of each object, for ``myrmidon explain`` and ``myrmidon dev``
change_log       a record of each write that changed an object
tracing          OpenTelemetry spans of passes, states and requests
causal_links     which earlier write or request caused a pass, for the links of its span
"""
