"""The fronts: how requests reach the server, and how they wait.  The only asyncio code here.

http              the server over sockets, for kubectl and every other client
http_parser       HTTP/1.1, from bytes to requests, without I/O
http_responses    HTTP/1.1, from responses to bytes, with audit ids and compression
local             the server as a ``Transport`` in the same process
waiting           waits for revisions, webhooks and watch events
webhook_client    calls a webhook over HTTPS
"""

__all__: list[str] = []
