"""The values inside JSON documents and what they mean; one module per rule, for all packages.

cel_names          names of fields in CEL expressions
durations          1h30m: read, write
fnv                the 64-bit hash by which Kubernetes divides objects into shards
equality           whether two JSON values are equal, to a client and to the server
merge_differences  the merge patch from one document to another
json_values        Python values as JSON, or an error that names the path
quantities         500m, 2Gi, 1e3: read, write, compare
texts              text for conditions, Events and logs: encodable and bounded
timestamps         RFC 3339 times: read, write
"""

__all__: list[str] = []
