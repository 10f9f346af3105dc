"""How the server refuses a request.

failures  Status responses, raised as exceptions
causes    the causes of a 422, with the messages of the real server
names     the naming rules for objects, labels, annotations and finalizers
"""
