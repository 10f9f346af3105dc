"""Mistakes in the use of a controller that Python would let through.

instances         a controller class where an object is needed, or the reverse
forgotten_awaits  reads of a context without ``await``
"""
