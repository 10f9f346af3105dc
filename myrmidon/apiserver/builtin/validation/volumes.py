"""Validation of the volumes of pods."""

from collections.abc import Iterator

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.validation.common import label, one_of, only_one
from myrmidon.apiserver.builtin.validation.containers import check_descending
from myrmidon.apiserver.refusals.causes import duplicate, forbidden, invalid, required
from myrmidon.apiserver.refusals.failures import StatusCause

_MODE_MAX = 0o777
_HOST_PATH_TYPES = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
# The required field of a volume source.
_NEEDED = {
    "hostPath": "path",
    "secret": "secretName",
    "configMap": "name",
    "persistentVolumeClaim": "claimName",
    "csi": "driver",
}


def check_volumes(field: str, volumes: list[Json]) -> Iterator[StatusCause]:
    """Check the volumes of a pod: unique names, and one source each."""
    names: set[str] = set()
    for index, volume in enumerate(volumes):
        at = f"{field}[{index}]"
        yield from _check_source(at, volume)
        name = volume.get("name", "")
        if not name:
            yield required(f"{at}.name")
        else:
            yield from label(f"{at}.name", name)
        if name in names:
            yield duplicate(f"{at}.name", name)
        names.add(name)


def _check_source(field: str, volume: Json) -> Iterator[StatusCause]:
    sources = [name for name, source in volume.items() if isinstance(source, dict)]
    yield from only_one(field, sources, "volume type")
    if not sources:
        return
    kind, source = sources[0], volume[sources[0]]
    at = f"{field}.{kind}"
    needed = _NEEDED.get(kind)
    if needed and not source.get(needed):
        yield required(f"{at}.{needed}")
    if kind == "hostPath":
        yield from _check_host_path(at, source)
    if kind in ("secret", "configMap", "projected", "downwardAPI"):
        yield from _check_files(at, source)
    if kind == "emptyDir" and source.get("sizeLimit", "0").startswith("-"):
        yield forbidden(f"{at}.sizeLimit", "SizeLimit field must be a valid resource quantity")


def _check_host_path(field: str, source: Json) -> Iterator[StatusCause]:
    if ".." in source.get("path", "").split("/"):
        yield invalid(f"{field}.path", source["path"], "must not contain '..'")
    if source.get("type"):
        yield from one_of(f"{field}.type", source["type"], _HOST_PATH_TYPES)


def _check_files(field: str, source: Json) -> Iterator[StatusCause]:
    mode = source.get("defaultMode")
    if mode is not None and not 0 <= mode <= _MODE_MAX:
        yield invalid(
            f"{field}.defaultMode",
            mode,
            "must be a number between 0 and 0777 (octal), both inclusive",
        )
    for index, item in enumerate(source.get("items", ())):
        at = f"{field}.items[{index}]"
        if "key" in item and not item["key"]:
            yield required(f"{at}.key")
        if not item.get("path"):
            yield required(f"{at}.path")
        else:
            yield from check_descending(f"{at}.path", item["path"])
