"""Measures the cost of reading a typed resource during a pass.

Processor time, so that a busy machine does not count.  The goal is at most 30 µs for a resource of 20 fields.  Run: python -m benchmarks.resource_cost
"""

from datetime import datetime
from time import process_time
from timeit import repeat
from typing import Any

from pydantic import Field, create_model

from myrmidon.api import Model, Quantity, Resource, Status, status_patch


class Port(Model):
    """A nested model."""

    name: str
    number: int = Field(ge=1, le=65535)


class MixedSpec(Model):
    """Twenty fields of the types that real specs have."""

    image: str = Field(min_length=1)
    replicas: int = Field(default=1, ge=0, le=50)
    hosts: list[str] = Field(default_factory=list)
    ports: list[Port] = Field(default_factory=list)
    labels: dict[str, str] = Field(default_factory=dict)
    memory: Quantity | None = None
    since: datetime | None = None
    text_a: str = ""
    text_b: str = ""
    text_c: str = ""
    text_d: str = Field(default="a", pattern="^[a-z]*$")
    number_a: int = 0
    number_b: int = 0
    number_c: float = 0.0
    flag_a: bool = False
    flag_b: bool = False
    flag_c: bool | None = None
    extra_a: str | None = None
    extra_b: str | None = None
    extra_c: int | None = None


MIXED: dict[str, Any] = {
    "image": "nginx:1", "replicas": 3, "hosts": ["a.example.com", "b.example.com"],
    "ports": [{"name": "http", "number": 80}], "labels": {"a": "b", "c": "d"}, "memory": "1Gi",
    "since": "2030-01-01T00:00:00Z", "textA": "a", "textB": "b", "textC": "c", "textD": "d",
    "numberA": 1, "numberB": 2, "numberC": 0.5, "flagA": True, "flagB": False, "flagC": True,
    "extraA": "a", "extraB": "b", "extraC": 3,
}  # fmt: skip

FLAT_FIELDS: dict[str, Any] = {f"field_{n}": (str if n % 2 else int, ...) for n in range(20)}
FlatSpec = create_model("FlatSpec", __base__=Model, **FLAT_FIELDS)
FLAT = {f"field{n}": "text" if n % 2 else n for n in range(20)}


class Flat(Resource[FlatSpec, Status], group="bench.myrmidon.dev", version="v1"):
    """Twenty scalars."""


class Mixed(Resource[MixedSpec, Status], group="bench.myrmidon.dev", version="v1"):
    """Twenty fields, some of them nested."""


def manifest(spec: dict[str, Any]) -> dict[str, Any]:
    """Build an object as a server sends it."""
    condition = {
        "type": "Ready", "status": "True", "reason": "Done", "message": "", "observedGeneration": 1,
        "lastTransitionTime": "2030-01-01T00:00:00Z",
    }  # fmt: skip
    return {
        "metadata": {
            "name": "a",
            "namespace": "b",
            "uid": "u",
            "generation": 1,
            "labels": {"x": "y"},
        },
        "spec": spec,
        "status": {"conditions": [condition], "observedGeneration": 1},
    }


def main() -> None:
    """Print the table."""
    flat, mixed = manifest(FLAT), manifest(MIXED)
    read = Mixed.from_json(mixed)
    cases = {
        "from_json, 20 scalars": lambda: Flat.from_json(flat),
        "from_json, 20 fields, nested": lambda: Mixed.from_json(mixed),
        "status_patch, nothing changed": lambda: status_patch(read),
        "to_json of what was read": read.to_json,
        "spec.to_wire()": read.spec.to_wire,
    }
    print(f"{'operation':<32} {'µs':>8}")
    for name, case in cases.items():
        best = min(repeat(case, timer=process_time, number=1000, repeat=9)) / 1000 * 1e6
        print(f"{name:<32} {best:>8.1f}")


if __name__ == "__main__":
    main()
