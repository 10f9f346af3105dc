"""HTTP to the API server.

The way of a request, from the top:

fence           refuses writes of a process that does not lead
unanswered      remembers writes whose answer never came
transport       deadlines, credentials, certificates
pool            which connection a request is sent on
slots           how many requests may be under way
connections     one HTTP connection: a request, then its answer; imports httptools
streams         an answer that is read while it arrives, such as a watch
tls             TLS on a wire
tunnels         CONNECT through a proxy
wires           one TCP connection, on an asyncio transport
dialing         opens it: addresses, proxy, handshake; imports aiohappyeyeballs
"""

__all__: list[str] = []
