"""What a patch makes of an object: pure functions of two JSON values.

merge              merge patches, with the real server's departures from RFC 7386
strategic          strategic merge patches of maps
strategic_lists    and of lists: by merge key, with $patch, $setElementOrder and the like

JSON patches are ``myrmidon.patch.json_patch``; server-side apply is the package ``fields``.
"""

__all__: list[str] = []
