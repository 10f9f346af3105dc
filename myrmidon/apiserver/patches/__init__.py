"""Merge patches, as pure functions of two JSON values.

merge              merge patches, with the real server's deviations from RFC 7386
strategic          strategic merge patches of maps
strategic_lists    and of lists: merge keys, $patch, $setElementOrder and the like

JSON patches are in ``myrmidon.patch.json_patch``; server-side apply is the package ``fields``.
"""

__all__: list[str] = []
