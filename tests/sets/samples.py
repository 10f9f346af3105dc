"""Objects of the kinds that people apply, and how a real server stored them."""

import json
from pathlib import Path
from typing import Any, Final

import yaml

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.sets import Apply, OutputSet, Parent

HERE = Path(__file__).parent
RECORDED = HERE / "recorded.json"
PARENT = Parent(ObjectRef(kinds.CONFIG_MAP, "parent", "elsewhere"), "parent-uid")
OPTIONS: Final[dict[str, dict[str, Any]]] = {
    "merge": {},
    "update": {"as_update": True},
    "server-side": {"server_side": True},
}

# A change of each kind that the server always refuses.
REFUSED: Final[dict[str, Json]] = {
    "Deployment": {
        "spec": {
            "selector": {"matchLabels": {"app": "other"}},
            "template": {"metadata": {"labels": {"app": "other"}}},
        }
    },
    "StatefulSet": {"spec": {"serviceName": "other"}},
    "Job": {"spec": {"completionMode": "Indexed", "completions": 2}},
    "PersistentVolumeClaim": {"spec": {"accessModes": ["ReadWriteMany"]}},
    # The server gives out addresses from 10.0.0.17 on: never the one that is asked for here.
    "Service": {"spec": {"clusterIP": "10.0.0.10", "clusterIPs": ["10.0.0.10"]}},
    "RoleBinding": {"roleRef": {"name": "other"}},
    "StorageClass": {"provisioner": "other"},
    "PriorityClass": {"value": 5},
    "Pod": {"spec": {"restartPolicy": "Always"}},
    "IngressClass": {"spec": {"controller": "example.com/other"}},
    "Secret": {"type": "example.com/other"},
    "EndpointSlice": {"addressType": "IPv6", "endpoints": [{"addresses": ["fd00::1"]}]},
}


def outputs(namespace: str, **options: Any) -> list[Apply]:
    """Return the samples as the outputs of a state, for one namespace."""
    out = OutputSet(kinds.ALL, namespace=namespace, controller="Samples", state="applied")
    text = (HERE / "samples.yaml").read_text().replace("${namespace}", namespace)
    out.apply_all(yaml.safe_load_all(text), owner_refs=False, **options)
    return out.applied()


def recorded() -> list[Json]:
    """Return the samples as kube-apiserver v1.36.4 stored them, in the same order."""
    answers: list[Json] = json.loads(RECORDED.read_text())
    return answers
