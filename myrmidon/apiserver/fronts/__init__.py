"""How requests reach the server and wait for what cannot be answered at once: the only asyncio here.

http              the server over sockets, for kubectl and every other client
http_parser       HTTP/1.1, from bytes to requests, without I/O
local             the server as a ``Transport`` in the same process
waiting           waits for revisions, webhooks and the lines of a watch
webhook_client    asks a webhook over HTTPS
"""

__all__: list[str] = []
