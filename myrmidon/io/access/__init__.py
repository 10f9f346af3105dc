"""How a client finds the API server and authenticates.

kubeconfig      kubeconfig and in-cluster files; imports kubernetes-asyncio when used
credentials     tokens, token files, and the base class of credentials that expire
exec_plugin     credentials from an exec plugin
oidc            credentials from an OpenID Connect provider; imports aiohttp
certificates    the TLS context, renewed when its files are replaced
tls_context     how server certificates are verified
addresses       host and port of the server and of its proxy
"""

__all__: list[str] = []
