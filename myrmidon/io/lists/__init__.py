"""Lists of objects as the server sends them.

scope      which objects a list and a watch are about
answers    the answer to a list, in pages or as a stream
events     values that a list or a watch yields
scanner    splits an answer into objects without decoding it
shapes     what can be wrong with an object that a server sends
"""

__all__: list[str] = []
