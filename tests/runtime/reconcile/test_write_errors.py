"""A8: the reason and the message for each kind of refused write."""

from datetime import timedelta

import pytest

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.errors import (
    AlreadyOwnedError,
    AmbiguousError,
    LeadershipLostError,
    MissingLockError,
    NotAdoptedError,
    TerminatingError,
    UnreachableError,
    api_error,
)
from myrmidon.fsm import Failed, Wait
from myrmidon.runtime.reconcile.write_errors import is_overtaken, refusal

REF = ObjectRef(kinds.CONFIG_MAP, "a", "ns")
QUOTA = 'configmaps "a" is forbidden: exceeded quota: q, requested: 1, used: 1, limited: 1'


def answer(status: int, reason: str, message: str, **details: object) -> Exception:
    """Return the error for a response of the server."""
    body: Json = {"reason": reason, "message": message, "details": details}
    return api_error(status, body)


UNKNOWN = (
    "  fix: correct the name of the field, or update the CRD; "
    'field_validation="Warn" lets the server drop it'
)
FIELD = {"field": "data", "message": "may not be changed", "reason": "FieldValueForbidden"}
ENDING = {"reason": "NamespaceTerminating", "message": "namespace ns is being terminated"}
CASES: list[tuple[str, Exception, Wait | Failed]] = [
    (
        "conflict",
        answer(409, "Conflict", "the object has been modified; version 7"),
        Wait(
            "ApplyOutputsConflict",
            "ConfigMap ns/a was changed by another writer; it is read again and retried",
        ),
    ),
    (
        "field-conflict",
        answer(
            409,
            "Conflict",
            "Apply failed with 1 conflict",
            causes=[
                {
                    "reason": "FieldManagerConflict",
                    "field": ".spec.replicas",
                    "message": 'conflict with "hpa" using apps/v1',
                }
            ],
        ),
        Failed(
            "FieldConflict",
            'ConfigMap ns/a was not applied: .spec.replicas: conflict with "hpa" using apps/v1.\n'
            "  fix: apply it with force=True to take these fields, stop declaring them, "
            "or let the other field manager give them up",
        ),
    ),
    (
        "unknown-field",
        answer(400, "BadRequest", 'cannot be handled: strict decoding error: unknown field "dta"'),
        Failed("UnknownField", f'ConfigMap ns/a was not written: unknown field "dta".\n{UNKNOWN}'),
    ),
    (
        "unknown-field-in-a-patch",
        answer(
            422, "Invalid", 'patch: Invalid value: "{}": strict decoding error: unknown field "x"'
        ),
        Failed("UnknownField", f'ConfigMap ns/a was not written: unknown field "x".\n{UNKNOWN}'),
    ),
    (
        "unknown-field-in-an-apply",
        answer(
            500,
            "",
            "failed to create typed patch object (ns/a): .dta: field not declared in schema",
        ),
        Failed(
            "UnknownField",
            "ConfigMap ns/a was not written: (ns/a): .dta: field not declared in schema.\n"
            f"{UNKNOWN}",
        ),
    ),
    (
        "an-apply-that-does-not-fit",
        answer(500, "", "failed to create typed patch object (ns/a): .data: expected map"),
        Failed(
            "Invalid",
            "ConfigMap ns/a: failed to create typed patch object (ns/a): .data: expected map.\n"
            "  fix: correct these fields where the output is built",
        ),
    ),
    (
        "terminating",
        TerminatingError("ConfigMap ns/a"),
        Wait(
            "ObjectTerminating",
            "ConfigMap ns/a is being deleted; it is created again when it is gone",
        ),
    ),
    (
        "namespace",
        answer(403, "Forbidden", "no", causes=[ENDING]),
        Wait("NamespaceTerminating", "ConfigMap ns/a is in a namespace that is being deleted"),
    ),
    (
        "quota",
        answer(403, "Forbidden", QUOTA),
        Failed("QuotaExceeded", f"ConfigMap ns/a: {QUOTA}"),
    ),
    (
        "forbidden",
        answer(403, "Forbidden", "no such right"),
        Failed(
            "Forbidden",
            "ConfigMap ns/a: no such right.\n"
            "  fix: apply the role that `myrmidon generate rbac` writes",
        ),
    ),
    (
        "invalid",
        answer(422, "Invalid", "all of it", causes=[FIELD]),
        Failed(
            "Invalid",
            "ConfigMap ns/a: data: may not be changed.\n"
            "  fix: correct these fields where the output is built",
        ),
    ),
    (
        "invalid-without-causes",
        answer(422, "Invalid", "all of it"),
        Failed(
            "Invalid",
            "ConfigMap ns/a: all of it.\n  fix: correct these fields where the output is built",
        ),
    ),
    (
        "too-large",
        answer(413, "RequestEntityTooLarge", "limit is 3145728"),
        Failed(
            "TooLarge",
            "ConfigMap ns/a: limit is 3145728.\n  fix: spread the content over several objects",
        ),
    ),
    (
        "not-found",
        answer(404, "NotFound", 'namespaces "ns" not found'),
        Failed(
            "NotFound",
            'ConfigMap ns/a: namespaces "ns" not found.\n'
            "  fix: create its namespace, or install its kind, before it",
        ),
    ),
    (
        "throttled",
        answer(429, "TooManyRequests", "later", retryAfterSeconds=7),
        Wait("ApiUnavailable", "ConfigMap ns/a: later", after=timedelta(seconds=7)),
    ),
    ("failed", answer(500, "", "boom"), Failed("ApiUnavailable", "ConfigMap ns/a: boom")),
    (
        "unreachable",
        UnreachableError("connection refused"),
        Failed("ApiUnavailable", "ConfigMap ns/a: connection refused"),
    ),
    (
        "ambiguous",
        AmbiguousError("no answer in 30 s"),
        Failed("ApiUnavailable", "ConfigMap ns/a: no answer in 30 s"),
    ),
    (
        "bad-request",
        answer(400, "BadRequest", "cannot be read"),
        Failed(
            "Refused",
            "ConfigMap ns/a: cannot be read.\n  fix: correct the output as the server's message says",
        ),
    ),
]


@pytest.mark.parametrize(("error", "meaning"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_meaning(error: Exception, meaning: Wait | Failed) -> None:
    """Each refusal has a reason of its own, and the text names the object and the field."""
    assert refusal(REF, error) == meaning


def test_o6_adoption_is_refused_with_the_command_that_allows_it() -> None:
    """It is retried, because the annotation may have been added by then."""
    error = NotAdoptedError("ConfigMap ns/a", "Thing ns/it", verb="apply", command="kubectl ...")
    assert refusal(REF, error) == Failed("AdoptionRefused", error)


def test_owner_is_named() -> None:
    """O2: the message names the owner and the fix."""
    error = AlreadyOwnedError("ConfigMap ns/a", "ReplicaSet r (uid 1)")
    said = refusal(REF, error)
    assert isinstance(said, Failed)
    assert (said.reason, said.message) == ("AlreadyOwned", str(error))
    assert "fix:" in said.message


def test_mistakes_of_the_controller_are_not_retried() -> None:
    """D3: the next attempt would fail in the same way."""
    said = refusal(REF, MissingLockError("ConfigMap ns/a"))
    assert isinstance(said, Failed)
    assert (said.reason, said.retry) == ("InvalidOutput", False)


def test_a_lost_lease_is_not_a_result_of_the_object() -> None:
    """Q6: it ends the process, and no condition reports it."""
    with pytest.raises(LeadershipLostError):
        refusal(REF, LeadershipLostError("over"))


def test_a8_a_webhook_that_refuses_a_write_is_named() -> None:
    """Neither a missing role nor a writer that was faster."""
    said = 'admission webhook "a.b.c" denied the request: no'
    result = refusal(REF, api_error(403, {"message": said}))

    assert result.reason == "AdmissionDenied"
    assert "change the output" in result.message
    assert is_overtaken(api_error(422, {"message": "the test failed"}))
    assert not is_overtaken(api_error(422, {"message": said}))
