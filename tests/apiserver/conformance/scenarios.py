"""Scenarios: their format and their files."""

import json
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

import yaml

DATA = Path(__file__).parent.parent / "golden"

CONTENT_TYPES = {
    "json": "application/json",
    "yaml": "application/yaml",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "json-patch": "application/json-patch+json",
    "apply": "application/apply-patch+yaml",
}
ACCEPTS = {
    "table": "application/json;as=Table;g=meta.k8s.io;v=v1,application/json",
    "partial": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
    "partial-list": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
    "aggregated-discovery": (
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
    ),
    "yaml": "application/yaml",
}


class _Loader(yaml.SafeLoader):
    """YAML in which a time is text."""


_Loader.yaml_implicit_resolvers = {
    letter: [each for each in resolvers if each[0] != "tag:yaml.org,2002:timestamp"]
    for letter, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read_yaml(text: str) -> Any:
    """Read YAML with the types of JSON."""
    return yaml.load(text, Loader=_Loader)


@dataclass(slots=True)
class Step:
    """One request, and how its response is compared."""

    name: str
    method: str = "GET"
    path: str = ""
    query: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    content_type: str | None = None
    accept: str | None = None
    token: str = "admin"
    body: Any = None
    raw: str | None = None
    pad: dict[str, Any] | None = None
    capture: dict[str, str] = field(default_factory=dict)
    expect: str = "full"
    select: list[str] = field(default_factory=list)
    ignore: list[str] = field(default_factory=list)
    unordered: list[str] = field(default_factory=list)
    scrub: list[str] = field(default_factory=list)
    message: str | None = None
    status: int | None = None
    claims: list[dict[str, Any]] = field(default_factory=list)
    retry: dict[str, Any] | None = None
    until: dict[str, Any] | None = None
    bookmarks: str = "ignore"
    background: str | None = None
    collect: str | None = None
    elapsed: list[float] | None = None
    timeout: float = 15.0
    pause: float = 0.0
    managed_fields: bool = False
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Scenario:
    """Steps that build on one another, in a namespace and an API group of their own."""

    category: str
    name: str
    setup: list[Any]
    steps: list[Step]
    variables: dict[str, str]
    answers: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.category}/{self.name}"


_RENAMED = {"content-type": "content_type", "assert": "claims"}
_STEP_FIELDS = frozenset(each.name for each in fields(Step))


def read_step(raw: dict[str, Any], *, managed_fields: bool = False) -> Step:
    """A step of a file."""
    values = {_RENAMED.get(key, key): value for key, value in raw.items() if key != "repeat"}
    own = values.pop("managed-fields", None)
    values["managed_fields"] = managed_fields if own is None else own == "compare"
    unknown = values.keys() - _STEP_FIELDS
    if unknown:
        raise ValueError(f"step {raw.get('name')} has unknown keys {sorted(unknown)}")
    step = Step(**values)
    step.method = step.method.upper()
    return step


def repeated(raw: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the steps that a step with ``repeat`` stands for, in which ``${i}`` counts."""
    if "repeat" not in raw:
        return [raw]
    return [_counted(raw, str(number)) for number in range(1, int(raw["repeat"]) + 1)]


def _counted(node: Any, number: str) -> Any:
    match node:
        case str():
            return node.replace("${i}", number)
        case list():
            return [_counted(item, number) for item in node]
        case dict():
            return {_counted(key, number): _counted(item, number) for key, item in node.items()}
        case _:
            return node


@cache
def all_scenarios() -> tuple[Scenario, ...]:
    """Return every scenario of the folder, in the order of the files."""
    found: list[Scenario] = []
    for path in sorted((DATA / "scenarios").glob("[!_]*.yaml")):
        document = read_yaml(path.read_text())
        answers = json.loads((DATA / "answers" / f"{document['category']}.json").read_text())
        found += [_scenario(document, raw, answers["scenarios"]) for raw in document["scenarios"]]
    return tuple(found)


def _scenario(document: Any, raw: Any, answers: Any) -> Scenario:
    compared = raw.get("managed-fields", document.get("managed-fields")) == "compare"
    steps = [
        read_step(each, managed_fields=compared) for step in raw["steps"] for each in repeated(step)
    ]
    variables = {**document.get("vars", {}), **raw.get("vars", {})}
    return Scenario(
        document["category"],
        raw["name"],
        raw.get("setup", []),
        steps,
        variables,
        answers.get(raw["name"], {}),
    )


@cache
def definitions() -> dict[str, Any]:
    """Return the short forms of CustomResourceDefinitions that scenarios refer to by name."""
    found: dict[str, Any] = read_yaml((DATA / "scenarios" / "_crds.yaml").read_text())
    return found


def whole_definition(short: dict[str, Any]) -> dict[str, Any]:
    """Return a CustomResourceDefinition from its short form."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    parts = {"spec": short.get("spec", anything), "status": short.get("status", anything)}
    root = short.get("schema") or {"type": "object", "properties": parts}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": root}}
    for key, long in (
        ("subresources", "subresources"),
        ("columns", "additionalPrinterColumns"),
        ("selectable", "selectableFields"),
    ):
        if key in short:
            version[long] = short[key]
    kind = short["kind"]
    names = {
        "kind": kind,
        "listKind": f"{kind}List",
        "plural": f"{kind.lower()}s",
        "singular": kind.lower(),
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.lower()}s.${{group}}"},
        "spec": {
            "group": "${group}",
            "scope": short.get("scope", "Namespaced"),
            "names": names | short.get("names", {}),
            "versions": short.get("versions", [version]),
        },
    }
