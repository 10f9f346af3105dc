"""The parts of Go that a client of the API server can observe and that differ from Python.

json          JSON numbers, limits and escapes
regex         regular expressions in linear time (``regex_parser``, ``regex_automaton``)
budget        a limit on the steps of regular expressions and JSONPaths
times         RFC 3339 times
durations     durations such as ``1h30m``
numbers       integers of any length
text          values as Go prints them in messages
types         the names of Go types in messages
"""

__all__: list[str] = []
