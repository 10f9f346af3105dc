"""Scope: the kind, namespace and selectors of one list and watch.

A scope is also the key of a cache: controllers that need the same scope share one cache.  Its two
requests, list and watch, are built here.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from myrmidon.api.objects.accessors import labels_of, name_of, namespace_of
from myrmidon.api.objects.refs import Kind
from myrmidon.api.requests.paths import collection_path
from myrmidon.api.requests.selectors import Selector, parse_selector
from myrmidon.api.requests.transport import JSON, HttpRequest

_METADATA_LIST = f"{JSON};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,{JSON}"
_METADATA = f"{JSON};as=PartialObjectMetadata;g=meta.k8s.io;v=v1,{JSON}"


class Scope(NamedTuple):
    """The objects of a kind in one namespace (``""``: all) that match both selectors.

    ``labels`` and ``fields`` are selectors as in kubectl; ``""`` selects all objects.  With
    ``metadata_only`` the server sends only the metadata (PartialObjectMetadata).
    """

    kind: Kind
    namespace: str = ""
    labels: str = ""
    fields: str = ""
    metadata_only: bool = False

    def list_request(
        self, *, limit: int, continue_token: str = "", shards: str = ""
    ) -> HttpRequest:
        """Return the request for one page.  Without a resourceVersion, the read is consistent.

        ``shards`` is a shardSelector; ``""`` selects all objects.
        """
        query = self._selectors(shards)
        if limit:
            query.append(("limit", str(limit)))
        if continue_token:
            query.append(("continue", continue_token))
        return self._request(query, _METADATA_LIST)

    def watch_request(
        self,
        resource_version: str,
        *,
        timeout_seconds: int,
        initial: bool = False,
        shards: str = "",
    ) -> HttpRequest:
        """Return the request for a watch from a version; with ``initial``, for a streaming list."""
        query = self._selectors(shards)
        query += [("watch", "true"), ("allowWatchBookmarks", "true")]
        if initial:
            query += [("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan")]
        if resource_version:
            query.append(("resourceVersion", resource_version))
        query.append(("timeoutSeconds", str(timeout_seconds)))
        return self._request(query, _METADATA)

    def admits(self, obj: Mapping[str, Any]) -> bool | None:
        """Whether an object is in the scope; None if only the server can tell.

        That is so for field selectors other than metadata.name and metadata.namespace, the two that
        every kind has: which other fields can be selected depends on the kind.
        """
        if self.namespace and namespace_of(obj) != self.namespace:
            return False
        if self.labels and not _parsed(self.labels).matches(labels_of(obj)):
            return False
        if not self.fields:
            return True
        known = {"metadata.name": name_of(obj), "metadata.namespace": namespace_of(obj)}
        wanted = _parsed(self.fields)
        if any(requirement.key not in known for requirement in wanted):
            return None
        return wanted.matches(known)

    def _selectors(self, shards: str) -> list[tuple[str, str]]:
        pairs = (
            ("labelSelector", self.labels),
            ("fieldSelector", self.fields),
            ("shardSelector", shards),
        )
        return [(name, text) for name, text in pairs if text]

    def _request(self, query: list[tuple[str, str]], metadata_accept: str) -> HttpRequest:
        headers = {"accept": metadata_accept if self.metadata_only else JSON}
        return HttpRequest("GET", collection_path(self.kind, self.namespace), tuple(query), headers)

    def __str__(self) -> str:
        where = f" in {self.namespace}" if self.namespace else ""
        which = ",".join(text for text in (self.labels, self.fields) if text)
        return f"{self.kind}{where}{f' ({which})' if which else ''}"


@cache
def _parsed(text: str) -> Selector:
    return parse_selector(text)
