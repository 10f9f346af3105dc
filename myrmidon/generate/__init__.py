"""From declarations to manifests, as values.  Only the command line writes files.

schema/     CustomResourceDefinitions and their schemas
manifests/  roles, deployments, the Helm chart, and the files that they are written to
diagram     the picture of a state graph
"""

from myrmidon.generate.manifests.helm import chart
from myrmidon.generate.manifests.layout import What, files
from myrmidon.generate.manifests.packaging import Packaging
from myrmidon.generate.manifests.rbac import lease_role, rights_of, roles
from myrmidon.generate.manifests.yaml import to_yaml
from myrmidon.generate.schema.definitions import crd, crds
from myrmidon.generate.schema.schema import schema_of_model, schema_of_resource

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
