"""Authentication and authorization.

users            tokens, users and groups; the attributes that authorizers decide on
account_tokens   tokens of service accounts
signing          RSA signatures for these tokens
rbac             the authorizer that uses Roles and bindings
impersonation    requests on behalf of another user
"""

__all__: list[str] = []
