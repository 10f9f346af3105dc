"""One request in progress, and its possible outcomes.

call         the request, and the Core that all requests share
routing      the path of a request: verb, resource, namespace, name and subresource
environment  the clock, uids and random name suffixes, which are passed in
outcomes     a response, a watch, or a reason to wait
watches      an open watch, a cursor over the history of a resource
"""
