"""What a pass sees of the caches.

cluster_view  the part of the shared caches that one controller uses
children      which objects an object manages
"""
