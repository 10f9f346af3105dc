"""HTTP to the API server.

The layers that a request passes through, from the top:

fence           refuses writes while this process is not the leader
unanswered      remembers writes that were sent and got no answer
transport       deadlines, credentials, certificates
pool            chooses the connection for a request
slots           limits the number of requests under way
connections     one HTTP connection: a request, then its answer; imports httptools
streams         an answer that is read while it arrives, such as a watch
tls             TLS on top of a wire
tunnels         CONNECT through a proxy
wires           one TCP connection, on an asyncio transport
dialing         opens a wire: name lookup, proxy, handshake; imports aiohappyeyeballs
"""

__all__: list[str] = []
