"""Facts about sharded lists and watches (KEP-5866), seen on kube-apiserver v1.36.4.

Each check runs against the embedded server (``test_shard_selectors.py``) and against the real one with
and without its feature gate (``tests/cluster/test_sharded_lists.py``), so what is written down here is
what a real server does:

- A server without the gate ignores the parameter, whatever it says: it filters nothing and refuses nothing.
- Ranges hold the objects for which FNV-1a of the field is in [start, end); a cluster-scoped object has the
  namespace ``""``.  uid and namespace never change, so no event moves an object between shards.
- ``shardInfo`` is in the metadata of plain lists of built-in kinds.  It is missing for custom resources,
  for tables and for partial objects, although these are filtered as well.
- ``shardInfo`` prints the ranges anew: other quotes and brackets are not repeated.
- A malformed selector is a 500 without a reason, after the checks of the other parameters.
- ``remainingItemCount`` counts the objects of all shards that are not on the page.
- A continue token does not name a shard: a page may continue with another one, or with none.
- Bookmarks are sent to every shard, also for changes of other shards.
- GET of one object ignores the parameter; DELETE of a collection deletes the objects of the shard.
"""

import json
from typing import Any, NamedTuple, Protocol

from myrmidon.api.values.fnv import fnv1a_64

LOW = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')"
HIGH = "shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000')"
SPACES = [
    "shardRange(object.metadata.namespace, '0x0000000000000000', '0x8000000000000000')",
    "shardRange(object.metadata.namespace, '0x8000000000000000', '0x10000000000000000')",
]
HALF = 2**63
PREFIX = "invalid shard selector: "
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
_STARTS = "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
_EXPECTED_KIND = "; expected shardRange() call or || operator"


def bounds(start: str, end: str, field: str = "uid") -> str:
    """Return a selector with these texts as bounds."""
    return f"shardRange(object.metadata.{field}, {start}, {end})"


REFUSED = {
    " ": "empty shard selector is not allowed; omit the parameter for unfiltered lists",
    "foo": f"unexpected expression kind 3{_EXPECTED_KIND}",
    "1": f"unexpected expression kind 5{_EXPECTED_KIND}",
    "a.b": f"unexpected expression kind 7{_EXPECTED_KIND}",
    "[1]": f"unexpected expression kind 4{_EXPECTED_KIND}",
    "{}": f"unexpected expression kind 6{_EXPECTED_KIND}",
    "Foo{a:1}": f"unexpected expression kind 8{_EXPECTED_KIND}",
    "a[1]": 'unsupported function "_[_]"; only shardRange() and || are allowed',
    "has(a.b)": 'unsupported function "has"; only shardRange() and || are allowed',
    "a ? b : c": 'unsupported function "_?_:_"; only shardRange() and || are allowed',
    f"{LOW} && {HIGH}": 'unsupported function "_&&_"; only shardRange() and || are allowed',
    f"!{LOW}": 'unsupported function "!_"; only shardRange() and || are allowed',
    "shardRange(object.metadata.uid)": "shardRange() requires exactly 3 arguments, got 1",
    bounds("'0x0000000000000000'", "'0x8000000000000000'", "name"): (
        'unsupported field path "object.metadata.name"; '
        "supported: object.metadata.uid, object.metadata.namespace"
    ),
    "shardRange('a', '0x0000000000000000', '0x8000000000000000')": (
        "shardRange() first argument: expected field path (e.g. object.metadata.uid), "
        "got expression kind 5"
    ),
    "shardRange(object['metadata'].uid, '0x0000000000000000', '0x8000000000000000')": (
        "shardRange() first argument: expected field path (e.g. object.metadata.uid), "
        "got expression kind 1"
    ),
    bounds("'0x0'", "'0x8'"): (
        'hexStart must be a 0x-prefixed 16-digit hex value, got "0x0" '
        '(did you mean "0x0000000000000000"?)'
    ),
    bounds("'0x8000000000000000'", "'0x8000000000000000'"): (
        "shard range start 0x8000000000000000 must be less than end 0x8000000000000000"
    ),
    bounds("'0X8000000000000000'", "'0x9000000000000000'"): (
        "hexStart must have '0x' prefix, got \"0X8000000000000000\""
    ),
    bounds("'0x800000000000000G'", "'0x9000000000000000'"): (
        'hexStart: invalid hex character "G" in "0x800000000000000G"'
    ),
    bounds("'0x00000000000000ü0'", "'0x8000000000000000'"): (
        'hexStart: invalid hex character "ü" in "0x00000000000000ü0"'
    ),
    bounds("'0x'", "'0x9000000000000000'"): "hexStart: hex value is required after '0x'",
    bounds("'0x8000000000000000'", "'0x20000000000000000'"): (
        "hexEnd: 17-digit hex value must be '0x10000000000000000' (2^64), "
        'got "0x20000000000000000"'
    ),
    bounds("'0x100000000000000001'", "'0x2'"): (
        'hexStart: hex value too long (18 chars, max 17): "100000000000000001"'
    ),
    bounds("x", "'0x8000000000000000'"): (
        "hexStart must be a string literal (e.g. '0xff'), got expression kind 3"
    ),
    bounds("1", "2"): "hexStart must be a string literal, got int64",
    bounds("1u", "2"): "hexStart must be a string literal, got uint64",
    bounds("1.0", "2"): "hexStart must be a string literal, got float64",
    bounds("true", "2"): "hexStart must be a string literal, got bool",
    bounds("null", "2"): "hexStart must be a string literal, got structpb.NullValue",
    bounds("b'0x0000000000000000'", "2"): "hexStart must be a string literal, got []uint8",
    f"{LOW} || {SPACES[0]}": (
        "all shard ranges must use the same field, "
        'got "object.metadata.uid" and "object.metadata.namespace"'
    ),
    "shardRange(": (
        "CEL parse error: Syntax error: mismatched input '<EOF>' expecting "
        f"{{'[', '{{', '(', ')', '.', '-', '!', {_STARTS}"
    ),
    f"{LOW} ||": (
        "CEL parse error: Syntax error: mismatched input '<EOF>' expecting "
        f"{{'[', '{{', '(', '.', '-', '!', {_STARTS}"
    ),
}
"""Selectors that the server refuses, and why."""

EQUAL = [
    f"({LOW})",
    f"   {LOW}  ",
    LOW.replace("'", '"'),
    f"object.{LOW}",
    bounds("r'0x0000000000000000'", "'''0x8000000000000000'''"),
]
"""Other ways to write ``LOW``."""


class Answer(NamedTuple):
    """A status and a body, parsed as JSON if it can be."""

    status: int
    body: Any


class Server(Protocol):
    """One of the two servers."""

    def ask(
        self, method: str, path: str, query: dict[str, str], body: Any = None, accept: str = ""
    ) -> Answer:
        """Send a request; a watch is read until its timeoutSeconds are over."""


class Shards:
    """The checks, with ConfigMaps and Widgets in a namespace of their own."""

    maps = "/api/v1/namespaces/sharded/configmaps"
    widgets = "/apis/shards.example.com/v1/namespaces/sharded/widgets"

    def __init__(self, server: Server, *, gate: bool) -> None:
        self.server, self.gate = server, gate

    def prepare(self) -> None:
        """Create the objects; the definition of Widgets must be served before."""
        self._create("/api/v1/namespaces", {"metadata": {"name": "sharded"}})
        for number in range(12):
            labels = {"odd": str(number % 2)}
            self._create(self.maps, {"metadata": {"name": f"map-{number:02}", "labels": labels}})
        for number in range(6):
            kind = {"apiVersion": "shards.example.com/v1", "kind": "Widget"}
            self._create(self.widgets, kind | {"metadata": {"name": f"widget-{number}"}})

    def _create(self, path: str, body: Any) -> Any:
        made = self.server.ask("POST", path, {}, body)
        assert made.status == 201, made
        return made.body

    def read(self, path: str, selector: str, **query: str) -> Any:
        """Return the list for a selector, which must succeed."""
        found = self.server.ask("GET", path, query | {"shardSelector": selector})
        assert found.status == 200, found
        return found.body

    def wanted(self, path: str, *, high: bool) -> list[str]:
        """Return the names of the objects in the lower or higher half of the hashes of the uids."""
        items = self.server.ask("GET", path, {}).body["items"]
        return [
            item["metadata"]["name"]
            for item in items
            if not self.gate or (fnv1a_64(item["metadata"]["uid"]) >= HALF) is high
        ]

    def check_lists(self) -> None:
        """Lists, in all ways to ask for a revision, and of custom resources."""
        now = self.server.ask("GET", self.maps, {}).body["metadata"]["resourceVersion"]
        for selector, high in ((LOW, False), (HIGH, True)):
            wanted = self.wanted(self.maps, high=high)
            for query in (
                {},
                {"resourceVersion": "0"},
                {"resourceVersion": now, "resourceVersionMatch": "Exact"},
                {"resourceVersion": now, "resourceVersionMatch": "NotOlderThan"},
                {"limit": "100"},
            ):
                page = self.read(self.maps, selector, **query)
                assert names(page) == wanted, (selector, query)
                self._check_info(page, selector)
            page = self.read(self.widgets, selector)
            assert names(page) == self.wanted(self.widgets, high=high)
            assert set(page["metadata"]) == {"continue", "resourceVersion"}
        assert names(self.read(self.maps, f"{LOW} || {HIGH}")) == sorted(
            {*self.wanted(self.maps, high=False), *self.wanted(self.maps, high=True)}
        )
        assert len(names(self.read(self.maps, ""))) == 12

    def _check_info(self, page: Any, selector: str) -> None:
        info = {"selector": selector} if self.gate else None
        assert page["metadata"].get("shardInfo") == info

    def check_namespaces(self) -> None:
        """Ranges of the namespace; a cluster-scoped object has none, which hashes as the empty text."""
        here = fnv1a_64("sharded") >= HALF
        for high, selector in enumerate(SPACES):
            found = names(self.read(self.maps, selector))
            assert len(found) == (12 if here == bool(high) or not self.gate else 0)
            cluster_scoped = names(self.read("/api/v1/namespaces", selector))
            assert bool(cluster_scoped) == (bool(high) or not self.gate)

    def check_labels(self) -> None:
        """Shards and labels are both regarded."""
        odd = {f"map-{number:02}" for number in range(1, 12, 2)}
        found = names(self.read(self.maps, LOW, labelSelector="odd=1"))
        assert found == [name for name in self.wanted(self.maps, high=False) if name in odd]

    def check_pages(self) -> None:
        """Pages: the count of the rest, and tokens that do not name a shard."""
        wanted, other = (self.wanted(self.maps, high=high) for high in (False, True))
        first = self.read(self.maps, LOW, limit="2")
        assert names(first) == wanted[:2]
        assert first["metadata"]["remainingItemCount"] == 10
        self._check_info(first, LOW)
        token = {"continue": first["metadata"]["continue"]}
        assert names(self.read(self.maps, LOW, **token)) == wanted[2:]
        assert names(self.read(self.maps, HIGH, **token)) == [
            name for name in other if name > wanted[1]
        ]
        for selector in (LOW, HIGH):  # one of them begins after objects of the other
            count = self.read(self.maps, selector, limit="1")["metadata"]["remainingItemCount"]
            assert count == 11
        labelled = self.read(self.maps, LOW, limit="1", labelSelector="odd")
        assert "remainingItemCount" not in labelled["metadata"]

    def check_other_forms(self) -> None:
        """Tables and partial objects are filtered, and do not say so."""
        count = len(self.wanted(self.maps, high=False))
        for accept, rows in ((TABLE, "rows"), (PARTIAL, "items")):
            found = self.server.ask("GET", self.maps, {"shardSelector": LOW}, accept=accept).body
            assert len(found[rows]) == count
            assert set(found["metadata"]) == {"resourceVersion"}

    def check_refusals(self) -> None:
        """Malformed selectors, the order of the checks, and other ways to write a range."""
        for selector, problem in REFUSED.items():
            for path in (self.maps, self.widgets):
                for query in ({}, {"watch": "1", "timeoutSeconds": "1", "resourceVersion": "0"}):
                    if not self.gate and query:
                        continue  # a watch would have to be waited for
                    found = self.server.ask("GET", path, query | {"shardSelector": selector})
                    if not self.gate:
                        assert found.status == 200, selector
                        continue
                    assert (found.status, found.body) == (500, _status(problem)), selector
        bad = {"shardSelector": "foo"}
        for query, status in (
            ({"labelSelector": "!!!"}, 400),
            ({"limit": "x"}, 400),
            ({"resourceVersionMatch": "Exact"}, 422),
        ):
            assert self.server.ask("GET", self.maps, bad | query).status == status
        for selector in EQUAL:
            self._check_info(self.read(self.maps, selector), LOW)

    def check_single_objects(self) -> None:
        """GET ignores the parameter; DELETE of a collection deletes what the shard holds."""
        assert self.server.ask("GET", f"{self.maps}/map-00", {"shardSelector": "foo"}).status == 200
        query = {"shardSelector": LOW, "dryRun": "All"}
        found = self.server.ask("DELETE", self.maps, query)
        assert (found.status, names(found.body)) == (200, self.wanted(self.maps, high=False))
        self._check_info(found.body, LOW)

    def check_watches(self) -> None:
        """Initial events, with and without the bookmark that ends them, and later ones."""
        wanted = self.wanted(self.maps, high=False)
        query = {"watch": "1", "timeoutSeconds": "1", "shardSelector": LOW}
        events = self.server.ask("GET", self.maps, query).body
        assert sorted(event["object"]["metadata"]["name"] for event in events) == wanted
        query |= {
            "sendInitialEvents": "true",
            "resourceVersionMatch": "NotOlderThan",
            "allowWatchBookmarks": "true",
        }
        *events, mark = self.server.ask("GET", self.maps, query).body
        assert sorted(event["object"]["metadata"]["name"] for event in events) == wanted
        assert mark["type"] == "BOOKMARK"
        assert mark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
        assert set(mark["object"]["metadata"]) == {"annotations", "resourceVersion"}

    def check_events(self) -> None:
        """An object is created, changed and deleted: only the watch of its shard sees it."""
        before = self.server.ask("GET", self.maps, {}).body["metadata"]["resourceVersion"]
        made = self._create(self.maps, {"metadata": {"name": "passing", "labels": {"odd": "1"}}})
        path = f"{self.maps}/passing"
        changed = {"metadata": {"labels": {"odd": "7"}}}
        assert self.server.ask("PATCH", path, {}, changed).status == 200
        assert self.server.ask("DELETE", path, {}).status == 200
        is_high = fnv1a_64(made["metadata"]["uid"]) >= HALF
        plain, labelled = ["ADDED", "MODIFIED", "DELETED"], ["ADDED", "DELETED"]
        for selector, high in ((LOW, False), (HIGH, True)):
            is_seen = is_high is high or not self.gate
            assert self._types(selector, before) == (plain if is_seen else [])
            assert self._types(selector, before, "odd=1") == (labelled if is_seen else [])

    def _types(self, selector: str, after: str, labels: str = "") -> list[str]:
        query = {"watch": "1", "timeoutSeconds": "1", "resourceVersion": after}
        query |= {"shardSelector": selector, "labelSelector": labels}
        return [event["type"] for event in self.server.ask("GET", self.maps, query).body]


def names(page: Any) -> list[str]:
    """Return the names of the objects of a list."""
    return [item["metadata"]["name"] for item in page["items"] or ()]


def _status(problem: str) -> Any:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": PREFIX + problem,
        "code": 500,
    }


def read_body(text: bytes, *, is_watch: bool) -> Any:
    """Return a body as JSON: a list of events for a watch, else one document."""
    if is_watch and not text.startswith(b'{"kind":"Status"'):
        return [json.loads(line) for line in text.splitlines()]
    return json.loads(text)


CHECKS = [
    Shards.check_lists,
    Shards.check_namespaces,
    Shards.check_labels,
    Shards.check_pages,
    Shards.check_other_forms,
    Shards.check_refusals,
    Shards.check_single_objects,
    Shards.check_watches,
    Shards.check_events,
]
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.shards.example.com"},
    "spec": {
        "group": "shards.example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }
        ],
    },
}
