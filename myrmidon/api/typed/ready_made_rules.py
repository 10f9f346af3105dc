"""Rules that are needed often, without writing their CEL: immutable fields, one-of.

    class Storage(Model, rules=[one_of("disk", "bucket")]):
        disk: Disk | None = None
        bucket: Bucket | None = None
        region: Annotated[str, Immutable()]

The API server checks them on every write.  It compares an update with the stored object (``oldSelf``),
so a rule about changes stands on the model that holds the field, where it also sees a field that was
added or removed.  It cannot see more: if the model itself is in an optional field, removing and adding
that one starts anew, unless it is immutable as well.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo

from myrmidon.api.typed.markers import Rule
from myrmidon.api.values.cel_names import escape
from myrmidon.errors import DefinitionError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Immutable:
    """A field that keeps the value that it got when the object was created.

    On a field that may be absent: absent stays absent, too.  With ``set_once``, it may be set later,
    and keeps its value from then on.  ``Annotated[str, Immutable()]``; in ``Field`` it is written
    ``Field(json_schema_extra={"immutable": True})``.
    """

    set_once: bool = False


def one_of(*fields: str, required: bool = True) -> Rule:
    """Return the rule that exactly one of these fields is set; with ``required=False``, at most one.

    The fields are named as in Python or as in JSON.
    """
    if len(fields) < 2:
        raise DefinitionError(
            f"one_of({', '.join(map(repr, fields))}) names fewer than two fields.\n"
            '  fix: name the fields of which one is set: one_of("disk", "bucket")'
        )
    names = [to_camel(field) for field in fields]
    found = ", ".join(f"has(self.{cel_name(name)})" for name in names)
    if required:
        rule, how_many = f"[{found}].exists_one(given, given)", "exactly one"
    else:
        rule, how_many = f"[{found}].filter(given, given).size() <= 1", "at most one"
    return Rule(rule, message=f"{how_many} of {', '.join(names)} must be set")


def immutable_of(metadata: Iterable[Any], field: FieldInfo) -> Immutable | None:
    """Return the marker of a field, in ``Annotated`` or in ``Field``; None if it may change."""
    for item in metadata:
        if isinstance(item, Immutable):
            return item
    extra = field.json_schema_extra
    return Immutable() if isinstance(extra, dict) and extra.get("immutable") is True else None


def immutable_rule(name: str, marker: Immutable, *, may_be_absent: bool) -> Rule:
    """Return the rule for a field of a model, by its name in JSON.

    A field that is always there may nevertheless be missing in an object that was stored before the
    field was added to the class; then it may be set.
    """
    new, old = f"self.{cel_name(name)}", f"oldSelf.{cel_name(name)}"
    if may_be_absent and not marker.set_once:
        rule = f"has({new}) == has({old}) && (!has({new}) || {new} == {old})"
    else:
        rule = f"!has({old}) || (has({new}) && {new} == {old})"
    path = f".{name}" if _NAME.fullmatch(name) else f"['{name}']"
    return Rule(rule, message=f"{name} is immutable", field_path=path)


def cel_name(name: str) -> str:
    """Return the name of a field as CEL expressions write it."""
    return escape(name) or name
