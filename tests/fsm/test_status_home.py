"""Where conditions and records are kept; permissions; controllers of kinds that exist already."""

from typing import Any

import orjson
import pytest
from kubernetes_asyncio.client import V1Container, V1Namespace

from myrmidon.api import Kind, Model, Resource, Status, Unstructured
from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.typed.object_types import reader_of
from myrmidon.errors import DefinitionError, ForeignStatusError
from myrmidon.fsm import Controller, ControllerOptions, Done, Result, hashed_name, state
from myrmidon.fsm.declaration.permissions import Permission
from myrmidon.fsm.status.status_home import home_of, status_in, statuses_of
from myrmidon.patch.json_patch import JsonPatchError, apply_json_patch
from myrmidon.sets import OutputSet
from tests.fsm.things import Thing

KEY = "status.myrmidon.dev/space"
REF = ObjectRef(kinds.NAMESPACE, "a")


class Spaces(Controller[Unstructured], kind=kinds.NAMESPACE):
    """A controller of namespaces."""

    name = "space"

    @state(initial=True, condition="Held")
    def held(self, _space: Unstructured, _out: OutputSet) -> Result:
        """It holds."""
        return Done()


class Certificate(Resource[Model, Status], of=Kind("a.b", "v1", "Certificate", "certificates")):
    """A kind of another project."""


class Certificates(Controller[Certificate]):
    """A controller of it."""

    @state(initial=True, condition="Held")
    def held(self, _certificate: Certificate, _out: OutputSet) -> Result:
        """It holds."""
        return Done()


class Things(Controller[Thing]):
    """A controller of a kind of ours."""

    @state(initial=True, condition="Held")
    def held(self, _thing: Thing, _out: OutputSet) -> Result:
        """It holds."""
        return Done()


def having(controller: Controller[Any], **options: Any) -> Controller[Any]:
    """Return the controller with other options."""
    setattr(controller, "options", ControllerOptions(**options))  # noqa: B010 - of this object alone
    return controller


@pytest.mark.parametrize(
    ("controller", "options", "where", "records_all"),
    [
        (Things, {}, "status", True),
        (Things, {"conditions": "annotation"}, "annotation", True),
        (Things, {"conditions": "off"}, "off", False),
        (Spaces, {}, "off", False),
        (Certificates, {}, "off", False),
        (Certificates, {"conditions": "status"}, "status", False),
    ],
)
def test_the_default_is_the_status_of_kinds_that_are_defined_here(
    controller: type[Controller[Any]], options: dict[str, Any], where: str, records_all: bool
) -> None:
    """Other kinds keep no conditions, and record only children without an owner reference."""
    home = home_of(having(controller(), **options))
    assert (home.where, home.records_all) == (where, records_all)


def test_a_shared_status_leaves_the_record_to_the_other() -> None:
    """Only the conditions are written there, not the record of children."""
    home = home_of(Things(), shared=True)
    assert not home.records_all
    made = home.fitting({"conditions": [], "observedGeneration": 1}, frozenset())
    assert made == {"conditions": []}


def test_conditions_of_built_in_kinds_have_no_observed_generation() -> None:
    """The server would drop it; conditions of other writers stay as they are."""
    home = home_of(having(Spaces(), conditions="status"))
    ours, theirs = ({"type": kind, "observedGeneration": 1} for kind in ("Held", "Theirs"))
    status: Json = {"conditions": [ours, theirs, "odd"], "observedGeneration": 1}
    made = home.fitting(status, frozenset({"Held"}))
    assert made == {"conditions": [{"type": "Held"}, theirs, "odd"]}


def test_the_status_is_a_place_like_the_annotation() -> None:
    """Status and annotation have the same interface.

    Our own status is read and written as it is.
    """
    home, obj = home_of(Things()), {"metadata": {"uid": "u"}, "status": {"conditions": []}}
    status: Json = {"conditions": [{"type": "Held"}]}
    assert home.is_plain
    assert home.conditions is not None
    assert home.seen(obj) is obj is home.conditions.seen(obj)
    assert home.fitting(status, frozenset()) is status
    for request in (home.conditions.request, home.conditions.edits):
        made = request(REF, obj, status)
        assert made is not None
        assert made.subresource == "status"
    assert home_of(Spaces()).seen(obj)["status"] == {}


def test_a_status_field_that_is_not_ours_is_refused_with_the_fix() -> None:
    """The state sets it; the framework does not write it."""
    said = str(ForeignStatusError("Certificates", "Certificate.a.b"))
    assert said.startswith("a state of Certificates set a field of the status of Certificate.a.b")
    assert 'ControllerOptions(conditions="status")' in said


def test_objects_are_returned_as_what_was_asked_for() -> None:
    """A Kind returns JSON, a class returns an instance."""
    obj: Json = {"metadata": {"name": "a"}}
    assert reader_of(kinds.POD)(obj) is obj
    assert isinstance(reader_of(Certificate)(obj), Certificate)


def edited(obj: Json, status: Json) -> Json | None:
    """Return the object after the request that writes a status; None if there is no request."""
    place = home_of(having(Spaces(), conditions="annotation")).conditions
    assert place is not None
    request = place.request(REF, obj, status)
    assert request == place.edits(REF, obj, status)
    if request is None:
        return None
    made: Json = apply_json_patch(obj, request.body)
    return made


def test_an_annotation_is_created_changed_and_removed() -> None:
    """Other annotations stay; nothing is sent if nothing differs."""
    obj: Json = {"metadata": {"name": "a", "uid": "u"}}
    made = edited(obj, {"conditions": [{"type": "Held"}], "resourceRefs": []})
    assert made is not None
    assert status_in(made, KEY) == {"conditions": [{"type": "Held"}]}
    assert edited(made, {"conditions": [{"type": "Held"}]}) is None

    made["metadata"]["annotations"]["other"] = "x"
    other = edited(made, {"conditions": [{"type": "Changed"}]})
    assert other is not None
    assert status_in(other, KEY) == {"conditions": [{"type": "Changed"}]}

    left = edited(other, {"conditions": []})
    assert left is not None
    assert left["metadata"]["annotations"] == {"other": "x"}


def test_an_annotation_that_was_changed_meanwhile_is_not_overwritten() -> None:
    """The patch tests the value that was read; the caller has to read the object again."""
    place = home_of(Spaces()).records
    obj: Json = {"metadata": {"uid": "u", "annotations": {KEY: "{}"}}}
    request = place.request(REF, obj, {"resourceRefs": [{"name": "a"}]})
    assert request is not None
    obj["metadata"]["annotations"][KEY] = '{"resourceRefs":[{"name":"b"}]}'
    with pytest.raises(JsonPatchError):
        apply_json_patch(obj, request.body)


@pytest.mark.parametrize("text", ["", "{", "[]", "1"])
def test_an_annotation_that_is_not_a_status_counts_as_none(text: str) -> None:
    """A person may have edited it."""
    assert status_in({"metadata": {"annotations": {KEY: text}}}, KEY) == {}


def test_every_status_of_an_object_is_found() -> None:
    """The status of the object, and those that controllers keep in annotations."""
    kept = orjson.dumps({"conditions": []}).decode()
    obj: Json = {"metadata": {"annotations": {KEY: kept, "a": "b"}}, "status": {"phase": "Active"}}
    assert statuses_of(obj) == {"": {"phase": "Active"}, "space": {"conditions": []}}


def test_where_conditions_are_kept_is_checked() -> None:
    """The option is checked when the class is defined."""
    with pytest.raises(DefinitionError, match='use "status", "annotation" or "off"'):
        ControllerOptions(conditions="nowhere")  # type: ignore[arg-type]


# ------------------------------------------------------------------------------- definitions


def test_the_kind_of_a_controller_is_that_of_its_type() -> None:
    """A model knows its kind, Unstructured is told; the finalizer never uses a domain of others."""

    class Models(Controller[V1Namespace]):
        @state(initial=True)
        def held(self, _space: V1Namespace, _out: OutputSet) -> Result:
            return Done()

    for controller in (Models, Spaces):
        assert controller.kind() == kinds.NAMESPACE
        assert controller.finalizer() == f"myrmidon.dev/{controller.name}"
    assert Models.name == "namespace"
    assert hashed_name(V1Namespace(metadata={"name": "a"}), 1).startswith("a-")


@pytest.mark.parametrize(
    ("of", "keywords", "said"),
    [
        (Unstructured, {}, "Unstructured objects can be of any kind"),
        (V1Container, {}, "V1Container is not a Resource or the model of a built-in kind"),
        (Thing, {"kind": kinds.POD}, "and the type Thing"),
        (Unstructured, {"kind": "Pod"}, "has kind='Pod' and the type Unstructured"),
    ],
)
def test_d2_a_controller_of_an_unknown_kind_is_refused(
    of: Any, keywords: dict[str, Any], said: str
) -> None:
    """The error shows how to name the kind."""
    with pytest.raises(DefinitionError, match=said):

        class Bad(Controller[of], **keywords):
            pass


def test_d2_a_state_that_takes_another_model_is_refused() -> None:
    """The framework would pass it an object of another class."""
    with pytest.raises(DefinitionError, match="takes a V1Container"):

        class Bad(Controller[V1Namespace]):
            @state(initial=True)
            def held(self, _space: V1Container, _out: OutputSet) -> Result:
                return Done()


# ------------------------------------------------------------------------------- permissions


def test_a_permission_is_for_a_kind_in_any_form() -> None:
    """One verb or several, one name or several."""
    one = Permission(V1Namespace, "get", names=("a",))
    assert (one.kind, one.verbs, one.names) == (kinds.NAMESPACE, ("get",), ("a",))
    assert Permission(kinds.POD, ("get", "list"), "log").verbs == ("get", "list")


@pytest.mark.parametrize(
    ("arguments", "said"), [(("pods", "get"), "which is not a kind"), ((kinds.POD, ()), "no verbs")]
)
def test_d2_a_permission_without_a_kind_or_verbs_is_refused(
    arguments: tuple[Any, ...], said: str
) -> None:
    """The error is raised when the class is defined."""
    with pytest.raises(DefinitionError, match=said):
        Permission(*arguments)
