"""Stalls: an output that another client undoes after each write.

contested_fields   whether a field is written back and forth
vanished_children  whether a child is created and deleted again and again
stall_times        the limits that both have
"""
