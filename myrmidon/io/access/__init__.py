"""How a client finds the API server and authenticates.

kubeconfig        from a context of a kubeconfig, or from the files of a pod, to an endpoint
kubeconfig_files  kubeconfig files, read and merged
credentials       tokens, token files, and the base class of credentials that expire
exec_plugin       credentials from an exec plugin
oidc              credentials from an OpenID Connect provider; imports aiohttp
certificates      the TLS context, renewed when its files are replaced
tls_context       how server certificates are verified
addresses         host and port of the server and of its proxy
"""

__all__: list[str] = []
