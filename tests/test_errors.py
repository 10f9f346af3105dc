"""The hierarchy of errors, and the errors for responses of a server."""

import inspect
import re
from typing import Any

import pytest

from myrmidon import errors
from myrmidon.errors import ApiError, StateResultError, api_error, retry_seconds

CLASSES = {
    name: value
    for name, value in vars(errors).items()
    if inspect.isclass(value) and issubclass(value, Exception)
}


def test_the_tree_on_top_of_the_file_is_the_tree() -> None:
    """Every class is drawn, below the class that it derives from."""
    drawn: dict[str, str] = {}
    path: list[str] = []
    for indent, name in re.findall(r"^( *)(\w+Error)\b", errors.__doc__ or "", re.MULTILINE):
        path[len(indent) // 2 :] = [name]
        drawn[name] = path[-2] if len(path) > 1 else "Exception"

    assert drawn == {name: found.__bases__[0].__name__ for name, found in CLASSES.items()}


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (400, {"reason": "BadRequest"}, errors.BadRequestError),
        (401, None, errors.UnauthorizedError),
        (403, {"reason": "Forbidden"}, errors.ForbiddenError),
        (403, {"details": {"causes": [{"reason": "NamespaceTerminating"}]}},
         errors.NamespaceTerminatingError),
        (403, {"message": "pods is forbidden: exceeded quota: q"}, errors.QuotaExceededError),
        (403, {"message": 'admission webhook "a.b.c" denied the request: no'},
         errors.AdmissionDeniedError),
        (400, {"message": 'admission webhook "a.b.c" denied the request without explanation'},
         errors.AdmissionDeniedError),
        (403, {"message": "x is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no"},
         errors.AdmissionDeniedError),
        (404, {"reason": "NotFound"}, errors.NotFoundError),
        (409, {"reason": "Conflict"}, errors.ConflictError),
        (409, {"reason": "AlreadyExists"}, errors.AlreadyExistsError),
        (409, {"details": {"causes": [{"reason": "FieldManagerConflict"}]}},
         errors.FieldConflictError),
        (400, {"message": "x: strict decoding error: unknown field"}, errors.UnknownFieldError),
        (422, {"message": "x: strict decoding error: unknown field"}, errors.UnknownFieldError),
        (500, {"message": "failed to create typed patch object: .a: field not declared in schema"},
         errors.UnknownFieldError),
        (500, {"message": "failed to create typed patch object: .a: expected map"},
         errors.InvalidError),
        (410, {}, errors.ExpiredError),
        (413, {}, errors.TooLargeError),
        (415, {}, ApiError),
        (422, {"details": None}, errors.InvalidError),
        (403, {"details": ["no", "mapping"]}, errors.ForbiddenError),
        (429, {}, errors.TooManyRequestsError),
        (500, {}, errors.ServerError),
        (504, {}, errors.ServerError),
    ],
)  # fmt: skip
def test_a8_refusals_have_their_own_classes(
    status: int, body: Any, expected: type[ApiError]
) -> None:
    """By status, and by reason or cause if one status has several meanings."""
    assert type(api_error(status, body)) is expected


def test_a14_an_unknown_field_is_reported_without_the_object_around_it() -> None:
    """The server prints the whole object before it."""
    text = 'patch: Invalid value: "{...}": strict decoding error: unknown field "dta"'
    error = api_error(422, {"message": text})
    assert isinstance(error, errors.UnknownFieldError)
    assert error.fields == 'unknown field "dta"'


def test_a_child_that_is_deleted_each_time_says_what_to_look_for() -> None:
    """A16: the reason is that of a stall, and the message names who may delete it."""
    error = errors.DeletedAgainError("ConfigMap ns/a", 60.0)
    assert isinstance(error, errors.StalledError)
    assert (error.ref, error.seconds) == ("ConfigMap ns/a", 60.0)
    assert str(error).startswith("ConfigMap ns/a was deleted by another client each time")
    assert "\n  fix: find what deletes it" in str(error)


def test_a15_a_stall_names_both_writers_as_far_as_they_are_known() -> None:
    """The second one may be unknown."""
    known = errors.StalledError("ConfigMap ns/a", "data.a", "things", '"rival"', 60.0)
    unknown = errors.StalledError("ConfigMap ns/a", "data.a", "things", None, 60.0)
    fix = (
        "  fix: declare the field in one place only: leave it out of this output, or stop the "
        "other writer; until then it is written at most once in 1 to 10 minutes"
    )
    said = 'ConfigMap ns/a: data.a is written by "things" and changed back each time'
    assert str(known) == f'{said}, by "rival".\n{fix}'
    assert str(unknown) == f"{said}.\n{fix}"


def test_a_status_object_becomes_attributes() -> None:
    """Code never parses the text."""
    causes = [{"field": "spec.x", "reason": "FieldValueInvalid"}]
    body = {
        "reason": "Invalid",
        "message": "no",
        "details": {"causes": causes, "retryAfterSeconds": 2},
    }
    error = api_error(422, body)

    assert str(error) == "422 Invalid: no"
    assert error.causes == causes
    assert error.retry_after == 2.0
    assert api_error(429, body, retry_after=7.0).retry_after == 7.0


def test_a_response_that_is_not_a_status_keeps_its_text() -> None:
    """Proxies respond in plain text."""
    error = api_error(502, None, text="bad gateway\n")

    assert str(error) == "502: bad gateway"
    assert error.causes == []
    assert error.retry_after is None


def test_errors_of_objects_name_them() -> None:
    """The facts are attributes, too."""
    unfit = errors.UnfitObjectError("Thing a", ["spec.x: missing", "spec.y: too long"])

    assert str(unfit) == "Thing a does not fit its model: spec.x: missing; spec.y: too long"
    assert unfit.problems == ("spec.x: missing", "spec.y: too long")
    assert (
        str(errors.TerminatingError("Thing a"))
        == "Thing a is being deleted; it is created again when it is gone"
    )
    read = errors.UndeclaredReadError("Things", "made", "Secret (v1)")
    assert str(read) == (
        "Things.made read a Secret (v1), which Things lists neither in manages nor in reads.\n"
        "  Without it there is no cache to read from and the generated role cannot read it.\n"
        "  fix: add it to Things.reads, then run `myrmidon generate rbac`"
    )


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [
        (2, 2.0),
        ("7", 7.0),
        (0, 0.0),
        (86400, 60.0),
        ("1e300", 60.0),
        (10**400, None),
        ("inf", 60.0),
        (float("nan"), None),
        (-1, 0.0),
        ("soon", None),
        (None, None),
        ([], None),
    ],
)
def test_k8_the_retry_after_of_a_server_is_bounded(asked: Any, seconds: float | None) -> None:
    """No value of it raises, and none makes us wait for longer than a minute."""
    assert api_error(429, {"details": {"retryAfterSeconds": asked}}).retry_after == seconds
    assert retry_seconds(asked) == seconds


@pytest.mark.parametrize(
    "asked", [1e300, float("inf"), "86400", 10**400, -1, float("nan"), None, [], {}, "x"]
)
def test_the_time_to_wait_is_bounded_wherever_it_comes_from(asked: Any) -> None:
    """A header, the details of a Status, or a caller."""
    for error in (
        api_error(429, {"details": {"retryAfterSeconds": asked}}),
        ApiError(503, "", "", retry_after=asked),
    ):
        assert error.retry_after is None or 0.0 <= error.retry_after <= 60.0


@pytest.mark.parametrize(
    "details", [None, [], "x", 7, {"causes": None}, {"causes": ["x", None, 7]}]
)
def test_a_status_of_another_shape_is_still_an_error(details: Any) -> None:
    """K7: a proxy may respond with JSON of its own."""
    error = api_error(403, {"reason": None, "message": 7, "details": details})
    assert (type(error).__name__, error.causes) == ("ForbiddenError", [])


class Unreadable:
    """A value whose repr raises."""

    def __repr__(self) -> str:
        raise ValueError


def test_a_wrong_result_is_reported_briefly() -> None:
    """Whatever a state returned."""
    assert "made returned a Unreadable, which is not a result" in str(
        StateResultError("Things", "made", Unreadable())
    )
    assert len(str(StateResultError("Things", "made", "x" * 10**6))) < 500


def test_misplaced_outputs_say_where_and_how_to_fix_it() -> None:
    """O8 and W7: refused before anything is written."""
    own = errors.SelfOutputError("Things", "made", "Thing default/it")
    assert str(own) == (
        "Things.made applies Thing default/it, the object of the pass itself, "
        "which cannot be its own child.\n"
        "  fix: set its status through obj.status, its labels and annotations through "
        "out.label_self and out.annotate_self; leave its spec to its author"
    )
    assert str(errors.SelfDeletionError("Things", "made")) == (
        "Things.made deletes an object of the kind that Things reconciles.\n"
        "  fix: delete the object of the pass with out.delete_self(); to delete others of its kind, "
        "add the kind to Things.manages"
    )
    far = errors.UnwatchedNamespaceError("Things", "made", "Secret far/a", "far", ("a", "b"))
    assert str(far) == (
        "Things.made writes Secret far/a, but watches only the namespaces a, b.\n"
        "  fix: add 'far' to ControllerOptions.namespaces or to --namespace"
    )
    assert (own.reason, far.reason) == ("InvalidOutput", "NamespaceNotWatched")
    bare = errors.UnselectedOutputError("Things", "made", "Secret far/a", "app=shop")
    assert str(bare) == (
        "Things.made writes Secret far/a without the labels 'app=shop', by which "
        "Things.manages selects this kind; it would never see the object.\n"
        "  fix: add the labels to the output, or change selector in Manages(...)"
    )
    assert bare.reason == "NotSelected"


def test_an_unreadable_object_is_named_with_the_fix() -> None:
    """It exists, so the fix is to inspect it."""
    error = errors.UnreadableObjectError("Thing a", "its labels are a list", uid="u")

    assert str(error) == (
        "Thing a cannot be read: its labels are a list.\n"
        "  fix: look at it with `kubectl get -o json`, and correct or delete it; "
        "it is read again as soon as it changes"
    )
    assert (error.ref, error.problem, error.uid) == ("Thing a", "its labels are a list", "u")


@pytest.mark.parametrize("details", [None, [], "text", {"causes": "many"}, {"causes": [None, 5]}])
def test_details_of_any_shape_are_an_error_without_causes(details: Any) -> None:
    """K7: the details come from the server, too."""
    error = api_error(403, {"message": "no", "details": details})

    assert error.causes == []
    assert type(error) is errors.ForbiddenError


def test_q9_a_task_that_ended_is_named() -> None:
    """The error has the reason, and what to do."""
    error = errors.TaskEndedError("workers of thing", "it returned")

    assert error.task == "workers of thing"
    assert str(error).startswith("the task 'workers of thing' has ended: it returned.\n  fix: ")
