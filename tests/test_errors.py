"""The tree of errors, and the errors that a server's answers become."""

import inspect
import re
from typing import Any

import pytest

from myrmidon import errors
from myrmidon.errors import ApiError, api_error

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
        (404, {"reason": "NotFound"}, errors.NotFoundError),
        (409, {"reason": "Conflict"}, errors.ConflictError),
        (409, {"reason": "AlreadyExists"}, errors.AlreadyExistsError),
        (410, {}, errors.ExpiredError),
        (413, {}, errors.TooLargeError),
        (415, {}, ApiError),
        (422, {"details": None}, errors.InvalidError),
        (429, {}, errors.TooManyRequestsError),
        (500, {}, errors.ServerError),
        (504, {}, errors.ServerError),
    ],
)  # fmt: skip
def test_a8_refusals_are_told_apart(status: int, body: Any, expected: type[ApiError]) -> None:
    """By status, and by reason or cause where one status means several things."""
    assert type(api_error(status, body)) is expected


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


def test_an_answer_that_is_no_status_keeps_its_text() -> None:
    """Proxies answer in plain text."""
    error = api_error(502, None, text="bad gateway\n")

    assert str(error) == "502: bad gateway"
    assert error.causes == []
    assert error.retry_after is None


def test_errors_of_objects_say_which() -> None:
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


def test_an_unreadable_object_is_named_with_the_fix() -> None:
    """It exists, so the fix is to look at it."""
    error = errors.UnreadableObjectError("Thing a", "its labels are a list", uid="u")

    assert str(error) == (
        "Thing a cannot be read: its labels are a list.\n"
        "  fix: look at it with `kubectl get -o json`, and correct or delete it; "
        "it is read again as soon as it changes"
    )
    assert (error.ref, error.problem, error.uid) == ("Thing a", "its labels are a list", "u")


@pytest.mark.parametrize("details", [None, [], "text", {"causes": "many"}, {"causes": [None, 5]}])
def test_details_of_any_shape_are_an_error_without_causes(details: Any) -> None:
    """K7: a Status is the server's, too."""
    error = api_error(403, {"message": "no", "details": details})

    assert error.causes == []
    assert type(error) is errors.ForbiddenError


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [(5, 5.0), ("7", 7.0), (1e300, 300.0), (-1, None), ("soon", None), (float("nan"), None)],
)
def test_retry_after_is_a_bounded_number(asked: Any, seconds: float | None) -> None:
    """However the server words it."""
    assert api_error(429, {"details": {"retryAfterSeconds": asked}}).retry_after == seconds
