"""ConversionReviews are answered as the API server expects it, and one object hides no other."""

from typing import Any

import pytest

from myrmidon.api.objects.accessors import Json
from myrmidon.errors import ConversionError
from myrmidon.webhooks.versions import Converter
from myrmidon.webhooks.versions.placeholders import PREFIX
from tests.versions.apps import GROUP, App, hub, spoke

V1, V1BETA1 = f"{GROUP}/v1", f"{GROUP}/v1beta1"
CONVERTER = Converter([App])


def review(version: str, *objects: Json, **more: Any) -> Json:
    """Return the question of an API server."""
    request = {"uid": "u-1", "desiredAPIVersion": version, "objects": list(objects)}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "ConversionReview",
        "request": request,
        **more,
    }


def test_objects_are_answered_in_their_order() -> None:
    """With the uid of the request; an object that has the wanted version stays as it is."""
    asked = review(V1, spoke("a"), hub("b"), spoke("c", size=3))

    assert CONVERTER.review(asked) == {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "ConversionReview",
        "response": {
            "uid": "u-1",
            "convertedObjects": [hub("a"), hub("b"), hub("c", replicas=3)],
            "result": {"status": "Success"},
        },
    }


@pytest.mark.law("V2")
def test_a_conversion_to_the_storage_version_fails_as_a_whole() -> None:
    """Its result may be stored; the message names each object that failed."""
    bad = [spoke("bad", image="unconvertible"), spoke("worse", size=-1)]

    response = CONVERTER.review(review(V1, spoke("a"), *bad))["response"]

    assert response["convertedObjects"] == []
    assert response["result"]["status"] == "Failure"
    first, second = response["result"]["message"].splitlines()
    assert first.startswith(
        f"App bad ({V1BETA1}) cannot be converted to v1: AppV1Beta1.to_hub raised"
    )
    assert second.startswith(f"App worse ({V1BETA1}) cannot be converted to v1: ")


@pytest.mark.law("V2")
def test_one_object_that_cannot_be_shown_does_not_hide_the_others() -> None:
    """It is a placeholder, with the reason in an annotation; the problem is reported."""
    judged = CONVERTER.judge(review(V1BETA1, hub("a"), hub("bad", image="unconvertible")))

    good, bad = judged.answer["response"]["convertedObjects"]
    assert good == spoke("a")
    assert (bad["apiVersion"], bad["metadata"]["name"], bad["spec"]) == (V1BETA1, "bad", {})
    assert "this image cannot be converted" in bad["metadata"]["annotations"][f"{PREFIX}v1"]
    assert [problem.partition(" cannot")[0] for problem in judged.problems] == [f"App bad ({V1})"]


@pytest.mark.law("V2")
def test_a_placeholder_is_the_object_that_it_stands_for() -> None:
    """Also if its metadata was edited: a finalizer must be removable in any version."""
    original = hub("bad", image="unconvertible", annotations={"a": "b"})
    shown = CONVERTER.review(review(V1BETA1, original))["response"]["convertedObjects"][0]

    assert CONVERTER.convert(shown, V1) == original
    shown["metadata"]["labels"] = {"edited": "yes"}
    edited = CONVERTER.convert(shown, V1)
    assert edited["spec"] == original["spec"]
    assert edited["metadata"]["labels"] == {"edited": "yes"}
    del shown["metadata"]["annotations"]["a"]
    assert "annotations" not in CONVERTER.convert(shown, V1)["metadata"]


@pytest.mark.law("V2")
def test_a_placeholder_cannot_be_edited() -> None:
    """The message says where to edit the object instead."""
    shown = CONVERTER.review(review(V1BETA1, hub("bad", image="unconvertible")))
    placeholder = shown["response"]["convertedObjects"][0]

    with pytest.raises(ConversionError, match=r"fix: edit it as apps.v1.versions.example.com"):
        CONVERTER.convert({**placeholder, "spec": {"image": "new"}}, V1)


def test_an_object_too_large_for_a_placeholder_fails() -> None:
    """Annotations are limited."""
    large = hub("bad", image="unconvertible", owner="x" * 300_000)

    result = CONVERTER.review(review(V1BETA1, large))["response"]["result"]
    assert result["status"] == "Failure"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"content": 1}'])
def test_an_annotation_that_is_not_a_placeholder_is_left_alone(text: str) -> None:
    """A client can write anything there."""
    marked = spoke(annotations={f"{PREFIX}v1": text})

    assert CONVERTER.convert(marked, V1) == hub(annotations={f"{PREFIX}v1": text})


@pytest.mark.parametrize(
    ("obj", "version", "wrong"),
    [
        (spoke() | {"apiVersion": f"{GROUP}/v9"}, V1, f"{GROUP}/v9, Kind=App"),
        (spoke(), f"{GROUP}/v9", f"{GROUP}/v9, Kind=App"),
        ({"kind": "Other"}, V1, "None, Kind=Other"),
    ],
)
def test_a_version_that_the_program_does_not_know_is_told(
    obj: Json, version: str, wrong: str
) -> None:
    """For example by an old replica during a rollout: nothing is guessed."""
    result = CONVERTER.review(review(version, obj))["response"]["result"]

    assert result["status"] == "Failure"
    assert f"this program has no class for {wrong}; it knows " in result["message"]


@pytest.mark.parametrize("request_", [None, "text", {}])
def test_a_malformed_review_is_answered(request_: Any) -> None:
    """Never with an exception."""
    answer = CONVERTER.review({"request": request_})

    assert answer["apiVersion"] == "apiextensions.k8s.io/v1"
    assert answer["response"]["uid"] == ""
