"""From a request to its outcome.

handler    authenticates, authorizes, finds the resource type of the path, and runs the verb
memo       answers a write from memory that was answered before in the same circumstances
read_memo  the same for lists
"""
