"""Faults that a test injects.

transport          lost answers, refused connections, broken watches, crashes
external_stand_in  a stand-in for an external system, with the same faults
"""
