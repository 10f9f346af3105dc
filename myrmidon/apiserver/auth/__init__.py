"""Who makes a request, and whether they may.

users            tokens, users and groups; what authorizers are asked
rbac             roles and bindings as the authorizer
impersonation    requests on behalf of another user
"""

__all__: list[str] = []
