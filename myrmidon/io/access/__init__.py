"""How a client finds the API server and proves who it is.

kubeconfig      kubeconfig and in-cluster files; imports kubernetes-asyncio when used
credentials     tokens and files, and credentials that expire
exec_plugin     credentials from a program
oidc            credentials from an OpenID Connect provider; imports aiohttp
certificates    the TLS context, renewed when its files are replaced
tls_context     how servers are verified
addresses       where the server and its proxy are
"""

__all__: list[str] = []
