"""Validators of models that the API server cannot run, because they are Python.

A constraint (``Field(ge=0)``), a ``Rule`` or ``Immutable`` becomes part of the CRD, and the server
refuses what breaks it.  A validator function of pydantic cannot: an object that it refuses is stored,
and then does not fit its model.  ``generate crd`` names these functions, unless the resource has a
validating webhook, where they run as well.
"""

from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import AfterValidator, BeforeValidator, PlainValidator, WrapValidator

from myrmidon.api.typed.model import Model
from myrmidon.api.typed.resource import Resource
from myrmidon.webhooks.admission.webhooks import webhooks_of

_FUNCTIONS = (AfterValidator, BeforeValidator, PlainValidator, WrapValidator)


def python_only(resource: type[Resource[Any, Any]]) -> list[str]:
    """Return the validators of the spec that only Python runs, such as ``AppSpec.in_order``.

    None if a validating webhook of the resource runs them on every write of a spec.
    """
    for webhook in webhooks_of(resource):
        if webhook.role == "validate" and {"create", "update"} <= set(webhook.operations):
            return []
    return list(dict.fromkeys(_of_model(resource.SPEC, ())))


def _of_model(model: type[Model], inside: tuple[type[Model], ...]) -> Iterator[str]:
    if model in inside:
        return
    declared = model.__pydantic_decorators__
    for group in (declared.field_validators, declared.model_validators):
        yield from (f"{model.__name__}.{name}" for name in group)
    for name, field in model.model_fields.items():
        if any(isinstance(each, _FUNCTIONS) for each in field.metadata):
            yield f"{model.__name__}.{name}"
        for part in _models(field.annotation):
            yield from _of_model(part, (*inside, model))


def _models(annotation: Any) -> Iterator[type[Model]]:
    if isinstance(annotation, type) and issubclass(annotation, Model):
        yield annotation
    elif get_origin(annotation) in (Annotated, Union, UnionType, list, dict, tuple):
        for argument in get_args(annotation):
            yield from _models(argument)
