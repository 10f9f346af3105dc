"""Reading the answers to lists and watches.

scope      which objects a list and a watch select; makes their requests
answers    reads a page of a list or a line of a watch
events     the values that a list or a watch yields
scanner    finds the objects in an answer without decoding them
slices     which part of the objects a replica keeps
shapes     checks the metadata of an object that the server sent
"""

__all__: list[str] = []
