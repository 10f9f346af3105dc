"""Convert an object of one version of a kind to another version, without losing a field.

The author of a spoke writes two functions over models (``api.typed.hubs``).  Around them, this module
takes care of what each such pair would otherwise have to:

1. Metadata is carried over.  Labels and annotations that a function gives are used instead; the server
   lets a conversion change no other metadata.
2. The status is carried over if both versions have the same status class and the function gives none.
3. Defaults of the spec that a function leaves out are filled in: the server sets defaults before a
   conversion, and none after it.
4. Fields that the other version cannot express, and fields that the model does not know, are kept in an
   annotation, ``fields-of.myrmidon.dev/<version>``, named after the version that they belong to.  They are
   put back by the next conversion to that version (``remembered``).

The annotation is made anew by each conversion, from the difference between the object and what comes back
from the other version; entries that an edit has overtaken are left out.  It therefore does not grow from one
conversion to the next, and there is none where nothing is lost.  Annotations are limited to 256 KiB in all;
an object that would need more is not converted, because to convert it would lose data.

The functions do not see these annotations.  A hub carries one for each spoke that has lost fields to it, and
a spoke carries those of the other spokes along.  Two spokes are converted by way of the hub.
"""

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import Any, TypeAlias

from pydantic import ValidationError

from myrmidon.api.objects.accessors import Json
from myrmidon.api.typed.hubs import hub_of
from myrmidon.api.typed.model import Model
from myrmidon.api.typed.resource import Resource
from myrmidon.api.values.texts import text_of
from myrmidon.errors import ConversionError, MyrmidonError
from myrmidon.webhooks.versions.list_keys import FieldsShape, Shape
from myrmidon.webhooks.versions.remembered import put_back, read_memory, remember, write_memory

AnyClass: TypeAlias = type[Resource[Any, Any]]

FIELDS_OF = "fields-of.myrmidon.dev/"
ANNOTATIONS_BYTES_MAX = 256 * 1024  # of the API server, for all annotations of an object
_CHANGEABLE = ("labels", "annotations")
_TYPE_AND_METADATA = frozenset({"apiVersion", "kind", "metadata"})


def versions_of(resource: AnyClass) -> dict[str, AnyClass]:
    """Return the classes of all versions of a kind, by apiVersion; the hub comes first."""
    hub = hub_of(resource)
    spokes = [spoke for spoke in hub.DEFINITION.versions if spoke.DEFINITION.hub is hub]
    return {each.KIND.api_version: each for each in (hub, *spokes)}


def convert(obj: Json, source: AnyClass, target: AnyClass) -> Json:
    """Return an object of the version ``source`` as one of the version ``target``.

    Raise ``ConversionError`` if a function fails, or if the fields to keep do not fit into annotations.
    """
    if source is target:
        return obj
    hub = hub_of(source)
    if source is not hub and target is not hub:
        return convert(convert(obj, source, hub), hub, target)
    converted = _converted(obj, source, target)
    _check_size(converted, obj, target)
    return converted


def _converted(obj: Json, source: AnyClass, target: AnyClass) -> Json:
    there, back = partial(_call, source, target), partial(_call, target, source)
    kept = {key: text for key, text in annotations_of(obj).items() if key.startswith(FIELDS_OF)}
    memory = read_memory(kept.pop(FIELDS_OF + target.KIND.version, ""))
    kept.pop(FIELDS_OF + source.KIND.version, None)  # an object has none of its own version
    plain = _defaulted(_without_kept(obj), source, target)
    made = there(plain)
    if memory is not None:
        made = _join(made, put_back(_content(made), memory))
    lost = remember(_content(back(made)), _content(plain), _shape_of(source))
    if lost is not None:
        kept[FIELDS_OF + source.KIND.version] = write_memory(lost)
    if kept:
        made["metadata"] = {**made["metadata"], "annotations": {**annotations_of(made), **kept}}
    return made


# --------------------------------------------------------------------- the author's functions


def _call(source: AnyClass, target: AnyClass, obj: Json) -> Json:
    """Return the object as the author's function converts it, with metadata and defaults."""
    function: Callable[[Any], Any]
    if target.DEFINITION.hub is None:
        function, name = source.to_hub, f"{source.__name__}.to_hub"  # type: ignore[attr-defined]
    else:
        function, name = target.from_hub, f"{target.__name__}.from_hub"  # type: ignore[attr-defined]
    try:
        made = function(source.from_json(deepcopy(obj)))
    except MyrmidonError as error:
        raise ConversionError(described(obj), target.KIND.version, text_of(error)) from error
    except ValidationError as error:
        problem = f"{name} made a {error.title} that does not fit: {_problems(error)}"
        raise ConversionError(described(obj), target.KIND.version, problem) from error
    except Exception as error:
        problem = f"{name} raised {type(error).__name__}: {text_of(error)}".removesuffix(": ")
        raise ConversionError(described(obj), target.KIND.version, problem) from error
    if not isinstance(made, target):
        problem = f"{name} returned {type(made).__name__}, not {target.__name__}"
        raise ConversionError(described(obj), target.KIND.version, problem)
    return _completed(made, obj, carries_status=source.STATUS is target.STATUS)


def _problems(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors(include_url=False)
    )


def _completed(made: Resource[Any, Any], obj: Json, *, carries_status: bool) -> Json:
    said = made.to_json()
    metadata = dict(obj.get("metadata") or {})
    for part in _CHANGEABLE:
        if part in said["metadata"]:
            metadata[part] = said["metadata"][part]
    found: Json = {**said, "metadata": metadata}
    if "spec" in said:
        found["spec"] = _filled(said["spec"], _full(made.spec))
    if not said.get("status"):
        found.pop("status", None)
        if carries_status and "status" in obj:
            found["status"] = deepcopy(obj["status"])
    return found


def with_defaults(obj: Json, resource: AnyClass) -> Json:
    """Return the object with the defaults of its spec, which the server has set if it is current.

    Raise ``UnfitObjectError`` if the object does not fit its model.
    """
    spec = resource.from_json(obj).spec
    return {**obj, "spec": _filled(obj["spec"], _full(spec))} if "spec" in obj else obj


def _defaulted(obj: Json, source: AnyClass, target: AnyClass) -> Json:
    try:
        return with_defaults(obj, source)
    except MyrmidonError as error:
        raise ConversionError(described(obj), target.KIND.version, text_of(error)) from error


def _full(model: Model) -> Json:
    full: Json = model.__pydantic_serializer__.to_python(model, mode="json", by_alias=True)
    return full


def _filled(said: Any, full: Any) -> Any:
    """Return what was said, with the fields of ``full`` that were not, except those that are None."""
    if isinstance(said, dict):
        more = {key: _given(full[key]) for key in full if key not in said}
        told = {key: _filled(value, full.get(key)) for key, value in said.items()}
        return {**told, **{key: value for key, value in more.items() if value is not None}}
    if isinstance(said, list):
        return [_filled(one, other) for one, other in zip(said, full, strict=True)]
    return said


def _given(value: Any) -> Any:
    """Return a default without the fields that are None."""
    match value:
        case dict():
            return {key: _given(item) for key, item in value.items() if item is not None}
        case list():
            return [_given(item) for item in value]
        case _:
            return value


# ------------------------------------------------------------------------- parts of objects


def described(obj: Json) -> str:
    """Return an object's kind, version, namespace and name for an error message."""
    metadata = obj.get("metadata") or {}
    where = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
    return f"{obj.get('kind')} {where}{metadata.get('name', '')} ({obj.get('apiVersion')})"


def _content(obj: Json) -> Json:
    """Return the parts of an object that a conversion may change."""
    content = {key: value for key, value in obj.items() if key not in _TYPE_AND_METADATA}
    metadata = obj.get("metadata") or {}
    content["metadata"] = {part: metadata[part] for part in _CHANGEABLE if metadata.get(part)}
    return content


def _join(obj: Json, content: Json) -> Json:
    """Return the object with other content."""
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _CHANGEABLE}
    return {
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
        **content,
        "metadata": {**metadata, **content["metadata"]},
    }


def _shape_of(resource: AnyClass) -> Shape:
    return FieldsShape({"spec": resource.SPEC, "status": resource.STATUS})


def annotations_of(obj: Json) -> dict[str, str]:
    """Return the annotations of an object."""
    found: dict[str, str] = (obj.get("metadata") or {}).get("annotations") or {}
    return found


def _without_kept(obj: Json) -> Json:
    """Return the object without the annotations that hold fields of other versions."""
    metadata = dict(obj.get("metadata") or {})
    others = {
        key: text for key, text in annotations_of(obj).items() if not key.startswith(FIELDS_OF)
    }
    metadata.pop("annotations", None)
    return {**obj, "metadata": {**metadata, "annotations": others} if others else metadata}


def _check_size(made: Json, obj: Json, target: AnyClass) -> None:
    annotations = annotations_of(made)
    size = sum(len(key.encode()) + len(text.encode()) for key, text in annotations.items())
    kept = sum(len(text.encode()) for key, text in annotations.items() if key.startswith(FIELDS_OF))
    if kept and size > ANNOTATIONS_BYTES_MAX:
        problem = (
            f"{kept:,} bytes of fields that {target.KIND.version} cannot express would have to be kept in "
            f"annotations, which would then have {size:,} bytes; the server allows {ANNOTATIONS_BYTES_MAX:,}.\n"
            f"  fix: let to_hub and from_hub convert the large fields"
        )
        raise ConversionError(described(obj), target.KIND.version, problem)
