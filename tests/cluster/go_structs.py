"""Facts of the Go structs of the built-in types that OpenAPI lacks.

Two facts decide how an object looks once a Go program has read and written it: whether a field is
a pointer (then an explicit zero is kept), and whether its tag says ``omitempty`` or ``omitzero``
(then a zero is left out).  Both are read from the sources from which the API server of the test
cluster is built.
"""

import re
from pathlib import Path
from typing import NamedTuple

_STRUCT = re.compile(r"^type (\w+) struct \{$(.*?)^\}$", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^\t(?:(\w+)\s+)?(\S.*?)\s+`([^`]*)`", re.MULTILINE)
_JSON_TAG = re.compile(r'json:"([^"]*)"')


class Field(NamedTuple):
    """One field: its Go type and the options of its JSON tag."""

    type: str
    options: frozenset[str]


class GoStructs:
    """The structs below a module cache, found by the names of their OpenAPI definitions."""

    def __init__(self, module_cache: Path, release: str) -> None:
        self._roots = {
            f"io.k8s.{module}.": module_cache / f"k8s.io/{module}@{release}"
            for module in ("api", "apimachinery", "apiextensions-apiserver", "kube-aggregator")
        }
        self._packages: dict[Path, dict[str, str]] = {}

    def fields(self, definition: str) -> dict[str, Field]:
        """The JSON fields of a definition, those of embedded structs included."""
        package, _, name = definition.rpartition(".")
        folder = self._folder(package + ".")
        return self._struct(folder, name) if folder else {}

    def _folder(self, package: str) -> Path | None:
        for prefix, root in self._roots.items():
            if package.startswith(prefix):
                return root.joinpath(*package.removeprefix(prefix).split(".")[:-1])
        return None

    def _struct(self, folder: Path, name: str) -> dict[str, Field]:
        fields: dict[str, Field] = {}
        for field_name, go_type, tag in _FIELD.findall(self._package(folder).get(name, "")):
            found = _JSON_TAG.search(tag)
            if found is None:
                continue
            json_name, *options = found.group(1).split(",")
            if "inline" in options or (not json_name and not field_name):
                fields |= self._embedded(folder, go_type or field_name)
            elif json_name != "-":
                fields[json_name] = Field(go_type, frozenset(options))
        return fields

    def _embedded(self, folder: Path, go_type: str) -> dict[str, Field]:
        # Only metav1 and corev1 types are embedded across packages; the first brings TypeMeta
        # and ListMeta, whose fields are strings that are left out when empty.
        alias, _, name = go_type.lstrip("*").rpartition(".")
        if alias:
            text = Field("string", frozenset({"omitempty"}))
            return {"apiVersion": text, "kind": text} if name == "TypeMeta" else {}
        return self._struct(folder, name)

    def _package(self, folder: Path) -> dict[str, str]:
        if folder not in self._packages:
            self._packages[folder] = {
                name: body
                for path in sorted(folder.glob("*.go"))
                if not path.name.startswith("zz_") and not path.name.endswith("_test.go")
                for name, body in _STRUCT.findall(path.read_text())
            }
        return self._packages[folder]
