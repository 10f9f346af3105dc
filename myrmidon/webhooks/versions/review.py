"""Answer a ConversionReview: the request of an API server to convert objects, and the response.

The rules of the API server:

- The response has the uid of the request, and one object for each object of the request, in its order.
- Converted objects keep their kind and their metadata, except labels and annotations.
- A result is a success or a failure as a whole: there is no result for a single object.

The server of Kubernetes 1.36 asks for one object at a time, also while it lists.  If that fails, the whole list
fails.  An object that cannot be converted is therefore answered with a placeholder (``placeholders``), unless the
wanted version is the storage version: then the review fails, with a message that names each object that failed.
"""

from collections.abc import Generator, Iterable, Mapping
from typing import Any, NamedTuple

from myrmidon.api.objects.accessors import Json
from myrmidon.errors import ConversionError
from myrmidon.webhooks.versions.conversion import AnyClass, convert, described, versions_of
from myrmidon.webhooks.versions.placeholders import original_of, placeholder_for

CONVERT_PATH = "/convert"
"""Where the webhook server of a program answers conversion reviews."""
_V1 = "apiextensions.k8s.io/v1"


class Judged(NamedTuple):
    """The answer to a review, and the problems of its objects, also of those with a placeholder."""

    answer: Json
    problems: list[str]


class Converter:
    """Converts objects of all versions of some kinds."""

    def __init__(self, resources: Iterable[AnyClass]) -> None:
        self._classes: dict[tuple[str, str], AnyClass] = {
            (api_version, each.KIND.kind): each
            for resource in resources
            for api_version, each in versions_of(resource).items()
        }

    def review(self, review: Mapping[str, Any]) -> Json:
        """Return the answer to a ConversionReview; each failure is a part of the answer."""
        return self.judge(review).answer

    def judge(self, review: Mapping[str, Any]) -> Judged:
        """Return the answer to a ConversionReview, and the problems of the objects in it."""
        steps = self.judging(review)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                judged: Judged = end.value
                return judged

    def judging(self, review: Mapping[str, Any]) -> Generator[None, None, Judged]:
        """Do the same step by step: yield after each object, return what ``judge`` returns."""
        request = review.get("request")
        request = request if isinstance(request, Mapping) else {}
        response: Json = {"uid": request.get("uid") or "", "convertedObjects": []}
        made: list[Json] = []
        problems: list[str] = []
        for obj in request.get("objects") or ():
            wanted = str(request.get("desiredAPIVersion") or "")
            try:
                made.append(self.convert(obj, wanted))
            except ConversionError as error:
                problems.append(str(error))
                made += self._placeholder(obj, wanted, error)
            yield
        if len(made) == len(request.get("objects") or ()):
            response |= {"convertedObjects": made, "result": {"status": "Success"}}
        else:
            response["result"] = {"status": "Failure", "message": "\n".join(problems)}
        typed = {"apiVersion": review.get("apiVersion") or _V1, "kind": "ConversionReview"}
        return Judged({**typed, "response": response}, problems)

    def convert(self, obj: Json, api_version: str) -> Json:
        """Return an object in another version; raise ``ConversionError`` if that is not possible."""
        kind = str(obj.get("kind") or "")
        source, target = (
            self._class_of(obj.get("apiVersion"), kind),
            self._class_of(api_version, kind),
        )
        if source is None or target is None:
            wrong = obj.get("apiVersion") if source is None else api_version
            known = ", ".join(version for version, its in self._classes if its == kind) or "none"
            problem = (
                f"this program has no class for {wrong}, Kind={kind}; it knows {known}.\n"
                "  fix: import the module of that version, or update the webhook before the definition"
            )
            raise ConversionError(described(obj), api_version, problem)
        original = original_of(obj, source)
        return convert(obj, source, target) if original is None else convert(*original, target)

    def _class_of(self, api_version: Any, kind: str) -> AnyClass | None:
        return self._classes.get((str(api_version or ""), kind))

    def _placeholder(self, obj: Json, api_version: str, error: ConversionError) -> list[Json]:
        target = self._class_of(api_version, str(obj.get("kind") or ""))
        made = placeholder_for(obj, target, error) if target is not None else None
        return [] if made is None else [made]
