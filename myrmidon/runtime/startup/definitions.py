"""Definitions: the CRDs of a program, compared with those of the cluster.

A program and its CRDs are deployed separately, and the CRD is easily forgotten.  A field that the
class has and the CRD does not is pruned by the server when a user sets it, and the controller sees
the default for ever.  Therefore the schema that the cluster serves is read from ``/openapi/v3``,
which every account may read, and one warning in the log names the fields that are missing there.
It is never an error: during a roll-out the CRD may be the older or the newer one.  With
``ManagerOptions.install_crds`` the definitions are applied instead (``installation``).

The definitions are data that the caller passes in (``Manager(definitions=...)``), because this
package does not generate them.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from myrmidon.api.clock import Clock
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind
from myrmidon.errors import ApiError, TransportError
from myrmidon.io.client import Client
from myrmidon.runtime.logs import Logger

_SCHEMA_SECONDS, _SCHEMA_LOOKS_MAX = 2.0, 5
_OF_EVERY_OBJECT = ("apiVersion", "kind", "metadata")


async def report_missing_fields(
    client: Client,
    definitions: Iterable[Json],
    declared: Iterable[Kind],
    clock: Clock,
    log: Logger,
) -> None:
    """Log a warning for each declared kind whose served schema lacks fields of the class."""
    wanted = set(declared)
    for kind, schema in schemas_of(definitions):
        if kind not in wanted:
            continue
        served = await _served_schema(client, kind, clock)
        lacking = [] if served is None else list(missing_fields(schema, served))
        if lacking:
            log.warning(
                "the definition in the cluster lacks fields of the class; their values are dropped",
                definition=f"{kind.plural}.{kind.group}",
                version=kind.version,
                fields=lacking,
                fix="apply the output of `myrmidon generate crd`, or run with --install-crds",
            )


async def _served_schema(client: Client, kind: Kind, clock: Clock) -> Json | None:
    """Return the schema that the cluster serves, None if it cannot be read.

    The schema of a definition that has just been installed is published a few seconds later.
    """
    for attempt in range(_SCHEMA_LOOKS_MAX):
        if attempt:
            await clock.sleep(_SCHEMA_SECONDS)
        try:
            document = await client.fetch_json(f"/openapi/v3/apis/{kind.group}/{kind.version}")
        except (ApiError, TransportError):
            continue
        served = _schema_in(document, kind)
        if served is not None:
            return served
    return None


def schemas_of(definitions: Iterable[Json]) -> Iterator[tuple[Kind, Json]]:
    """Yield each served version of each definition as a kind, with its schema."""
    for definition in definitions:
        spec = definition["spec"]
        names, namespaced = spec["names"], spec["scope"] == "Namespaced"
        for version in spec["versions"]:
            if version["served"]:
                kind = Kind(
                    spec["group"], version["name"], names["kind"], names["plural"], namespaced
                )
                yield kind, version["schema"]["openAPIV3Schema"]


def missing_fields(
    wanted: Mapping[str, Any], served: Mapping[str, Any], at: str = ""
) -> Iterator[str]:
    """Yield the paths of the fields that a schema has and another lacks: ``spec.size``.

    A schema that preserves unknown fields, or has a schema for all keys, lacks none.
    """
    if served.get("x-kubernetes-preserve-unknown-fields"):
        return
    known, rest = _mapping(served.get("properties")), served.get("additionalProperties")
    for name, schema in _mapping(wanted.get("properties")).items():
        path = f"{at}.{name}" if at else name
        if path in _OF_EVERY_OBJECT:
            continue
        if name in known:
            yield from missing_fields(_mapping(schema), _mapping(known[name]), path)
        elif not rest:
            yield path
    for key, mark in (("items", "[]"), ("additionalProperties", ".*")):
        inner, other = wanted.get(key), served.get(key)
        if isinstance(inner, dict) and isinstance(other, dict):
            yield from missing_fields(inner, other, at + mark)


def _schema_in(document: Json, kind: Kind) -> Json | None:
    """Return the schema of a kind in an OpenAPI document, None if it is not there."""
    wanted = {"group": kind.group, "version": kind.version, "kind": kind.kind}
    components = _mapping(document.get("components"))
    for schema in _mapping(components.get("schemas")).values():
        marks = _mapping(schema).get("x-kubernetes-group-version-kind")
        if isinstance(marks, list) and wanted in marks:
            return dict(schema)
    return None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
