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


def test_misplaced_outputs_say_where_and_how_to_fix_it() -> None:
    """O8 and W7: refused before anything is written."""
    own = errors.SelfOutputError("Things", "made", "Thing default/it")
    assert str(own) == (
        "Things.made applies Thing default/it, the object of the pass itself, "
        "which cannot be its own child.\n"
        "  fix: set its status through obj.status; leave its spec and metadata to its author"
    )
    far = errors.UnwatchedNamespaceError("Things", "made", "Secret far/a", "far", ("a", "b"))
    assert str(far) == (
        "Things.made writes Secret far/a, but watches only the namespaces a, b.\n"
        "  fix: add 'far' to ControllerOptions.namespaces or to --namespace"
    )
    assert (own.reason, far.reason) == ("InvalidOutput", "NamespaceNotWatched")
