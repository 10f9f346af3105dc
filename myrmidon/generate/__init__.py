"""Paperwork: from declarations to manifests, as values.  Only the command line writes files."""

from myrmidon.generate.definitions import crd, crds
from myrmidon.generate.helm import chart
from myrmidon.generate.layout import What, files
from myrmidon.generate.packaging import Packaging
from myrmidon.generate.rbac import lease_role, rights_of, roles
from myrmidon.generate.schema import schema_of_model, schema_of_resource
from myrmidon.generate.yaml import to_yaml

__all__ = [
    "Packaging",
    "What",
    "chart",
    "crd",
    "crds",
    "files",
    "lease_role",
    "rights_of",
    "roles",
    "schema_of_model",
    "schema_of_resource",
    "to_yaml",
]
