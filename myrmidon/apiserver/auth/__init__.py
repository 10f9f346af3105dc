"""Authentication and authorization.

users            tokens, users and groups; the attributes that authorizers decide on
rbac             the authorizer that uses Roles and bindings
impersonation    requests on behalf of another user
"""

__all__: list[str] = []
