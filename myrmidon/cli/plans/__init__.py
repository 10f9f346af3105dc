"""What ``myrmidon plan`` prints.

planned_writes  the writes of a planned pass in words
external_calls  calls of states that may reach another system
"""
