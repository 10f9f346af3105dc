"""OutputSet: what one state wants to be written.

A state calls ``out.apply``, ``out.delete`` and the others; nothing is sent then.  The set records one
output per object, or part of an object (``sets.outputs.outputs``), after it has checked that the controller
manages the kind and that the object has a name and a namespace.  When the state has returned, the
framework plans a request for each (``sets.planning``) and sends those that are needed.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Unpack, get_args

from myrmidon.api.objects.accessors import Json, uid_of
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.api.requests.selectors import selector as parsed_selector
from myrmidon.api.typed.object_types import KindLike, kind_of
from myrmidon.errors import OutputError, SelfDeletionError, UndeclaredOutputError
from myrmidon.sets.outputs.edits import combined, edit_body
from myrmidon.sets.outputs.identification import Declarer, Identification, declarer_of
from myrmidon.sets.outputs.manifests import document_of
from myrmidon.sets.outputs.options import DEFAULT, ApplyOptions, ApplyOptionsDict, chosen, removing
from myrmidon.sets.outputs.outputs import (
    Apply,
    Delete,
    DeleteAll,
    Edit,
    Key,
    Output,
    OutputDefaults,
    PatchType,
    Propagation,
    Release,
    describe_output,
    key_of,
)


class OutputSet(Identification):
    """What a state wants to be written, in order.

    There is one entry per object: the last ``apply``, ``delete`` or ``release`` replaces an earlier
    one and its options.  Patches, and writes to a subresource, are entries of their own, and are
    written after the objects.  A namespaced object without a namespace gets the parent's.
    """

    __slots__ = ("_defaults", "_intentions", "_own", "collections", "self_deletion")

    def __init__(
        self,
        kinds: Iterable[Kind] | None = None,
        *,
        namespace: str = "",
        controller: str = "",
        state: str = "",
        class_name: str = "",
        own: ObjectRef | None = None,
        defaults: OutputDefaults | None = None,
        by: Declarer | None = None,
    ) -> None:
        """``by`` stands for ``kinds``, ``controller``, ``state`` and ``class_name``, if it is given."""
        if by is None:
            by = declarer_of(kinds, controller=controller, state=state, class_name=class_name)
        self._by, self._namespace = by, namespace
        self._own, self._defaults = own, defaults
        self._intentions: dict[Key, Output] = {}
        self.collections: tuple[DeleteAll, ...] = ()
        """What ``delete_all`` declared, in order."""
        self.self_deletion: Propagation | None = None
        """What ``delete_self`` declared; None if it was not called."""

    def apply(self, obj: Any, **options: Unpack[ApplyOptionsDict]) -> None:
        """Declare that the object should exist with these fields.

        ``obj`` is a manifest, a Resource or a kubernetes-asyncio model.  The options are those of
        ``ApplyOptions``.  With ``subresource="status"`` the status of an existing child is
        written, and nothing else of ``obj``.
        """
        self._put(obj, chosen(options))

    def apply_all(self, objs: Iterable[Any], **options: Unpack[ApplyOptionsDict]) -> None:
        """Apply several objects with the same options."""
        if isinstance(objs, Mapping):
            raise OutputError(
                "apply_all got one object.\n"
                "  fix: write out.apply(...), or give it a list: out.apply_all([...])"
            )
        same = chosen(options)
        for obj in objs:
            self._put(obj, same)

    def patch(
        self,
        what: Any,
        name: str | None = None,
        body: Any = None,
        *,
        namespace: str | None = None,
        type: PatchType = "merge",  # noqa: A002 - the word of the field
        subresource: str = "",
        cluster: str = "",
    ) -> None:
        """Declare that an existing object should have the values of a patch.

        The object need not be a child: it gets no owner reference and is never pruned or created.
        Nothing is sent while the patch would change nothing.  Two patches of one object and type
        become one.

        - ``what``: an object, an ``ObjectRef``, or a kind together with ``name`` and ``namespace``.
        - ``body``: a map, or a list of operations for a JSON patch.
        - ``type``: ``"merge"`` (RFC 7386), ``"json"`` (RFC 6902) or ``"strategic"``, which only
          built-in kinds have.  A JSON patch must be idempotent; a ``test`` that fails means that
          there is nothing to do, and so does the ``remove`` of a missing key.  Default: merge.
        - ``subresource``: for example ``"status"``.  Default: the object itself.
        - ``cluster``: as for ``delete``.
        """
        ref = self._ref_to(what, name, namespace, cluster)
        self._edit(Edit(ref, edit_body(ref, body, type), type, subresource, author=self._by.author))

    def scale(
        self,
        what: Any,
        name: str | None = None,
        namespace: str | None = None,
        *,
        replicas: int,
        cluster: str = "",
    ) -> None:
        """Declare the number of replicas of an existing object, through its ``scale`` subresource.

        The object need not be a child.  It can be of any kind that has the subresource.
        ``cluster``: as for ``delete``.
        """
        ref = self._ref_to(what, name, namespace, cluster)
        if type(replicas) is not int or replicas < 0:
            raise OutputError(
                f"{ref} cannot be scaled to {replicas!r} replicas.\n  fix: write a number, 0 or more"
            )
        body = {"spec": {"replicas": replicas}}
        self._edit(Edit(ref, body, "merge", "scale", author=self._by.author))

    def label_self(self, labels: Mapping[str, str | None]) -> None:
        """Declare labels of the object of the pass; None removes one.  Other labels stay.

        Later states of the same pass see the object as it was read.
        """
        self._edit_self("labels", labels)

    def annotate_self(self, annotations: Mapping[str, str | None]) -> None:
        """Declare annotations of the object of the pass; None removes one.  Others stay."""
        self._edit_self("annotations", annotations)

    def delete_self(self, *, propagation: Propagation | None = None) -> None:
        """Declare that the object of the pass should be gone, for example when its time is over.

        It is deleted after the other outputs of the state, and only as the pass has read it: if it
        was changed meanwhile, for example because a user prolonged it, the pass is repeated.  The
        pass ends with the delete: no later state runs, and no status is written.  An object with a
        finalizer then gets passes in which it is being deleted, as if a user had deleted it.  Like
        every output it is written if the state returns ``Done()``, or ``Wait(keep_outputs=True)``.

        - ``propagation``: as for ``delete``.  Default: Background.
        """
        self._check_owned()
        self.self_deletion = _propagation(propagation)

    def delete(
        self,
        what: Any,
        name: str | None = None,
        namespace: str | None = None,
        *,
        foreground: bool = False,
        propagation: Propagation | None = None,
        adopt: bool = False,
        cluster: str = "",
    ) -> None:
        """Declare that an object should be gone.

        - ``what``: an object, an ``ObjectRef``, or a kind (a ``Kind``, a Resource class or a
          kubernetes-asyncio model class) together with ``name`` and ``namespace``.
        - ``propagation``: what becomes of the objects that it owns.  ``"Background"``: the garbage
          collector deletes them afterwards.  ``"Foreground"``: the object goes after them.
          ``"Orphan"``: they stay, without an owner.  Default: Background.
        - ``foreground``: True is short for ``propagation="Foreground"``.
        - ``adopt``: delete the object even if it names no parent and this controller did not write
          it.  Default: False, the delete is refused with ``AdoptionRefused``.
        - ``cluster``: the name of the remote cluster of the object.  Default: the controller's own,
          or that of the kind or reference.
        """
        try:
            ref = self._ref_to(what, name, namespace, cluster)
        except UndeclaredOutputError:
            if self._is_of_own_kind(what) and not cluster:
                raise SelfDeletionError(self._by.class_name, self._by.state or "state") from None
            raise
        how = _propagation(propagation, foreground=foreground)
        self._intend(Delete(ref, how, adopt, self._by.author), ref)

    def delete_all(
        self,
        kind: KindLike,
        selector: Mapping[str, str] | str = "",
        namespace: str | None = None,
        *,
        propagation: Propagation | None = None,
        adopt: bool = False,
        cluster: str = "",
    ) -> None:
        """Declare that all children of a kind whose labels match should be gone.

        Objects of other parents are left alone, and so is every object that this state applies,
        deletes or releases by name.  Each object is deleted by a request of its own, with its uid:
        a request that deletes a collection could not tell whose the objects are.

        - ``selector``: labels, or a label selector as kubectl takes it.  Default: all children.
        - ``namespace``: None means that of the parent, ``""`` all namespaces.  Default: None.
        - ``propagation``: as for ``delete``.  Default: Background.
        - ``adopt``: delete matching objects that name no parent as well.  Default: False.
        - ``cluster``: as for ``delete``.
        """
        of = self._kind_named(kind, cluster)
        where = (self._namespace if namespace is None else namespace) if of.namespaced else ""
        how = _propagation(propagation)
        wanted = str(parsed_selector(selector))
        rule = DeleteAll(of, wanted, where, how, adopt, self._by.author)
        self.collections = (*self.collections, rule)

    def release(
        self,
        what: Any,
        name: str | None = None,
        namespace: str | None = None,
        *,
        cluster: str = "",
    ) -> None:
        """Declare that an object should stay, but not as a child of the object of the pass.

        Its owner reference to the parent and the tracking label are removed, so that it is not
        deleted with the parent.  Nothing is sent for an object that is not a child.  ``cluster``:
        as for ``delete``.
        """
        ref = self._ref_to(what, name, namespace, cluster)
        self._intend(Release(ref, self._by.author), ref)

    def __iter__(self) -> Iterator[Output]:
        return iter(self._intentions.values())

    def __len__(self) -> int:
        return len(self._intentions)

    def __contains__(self, ref: object) -> bool:
        return ref in self._intentions

    def declared(self) -> list[Output]:
        """Return every output but those of ``delete_all``, in order."""
        return list(self._intentions.values())

    def applied(self) -> list[Apply]:
        """Return the objects that should exist, in order."""
        return [output for output in self if isinstance(output, Apply)]

    def deleted(self) -> list[Delete]:
        """Return the objects that should be gone, in order."""
        return [output for output in self if isinstance(output, Delete)]

    def __repr__(self) -> str:
        words = (f"{type(output).__name__.lower()} {describe_output(output)}" for output in self)
        return f"OutputSet({', '.join(words)})"

    # ------------------------------------------------------------------------ inside

    def _put(self, obj: Any, options: ApplyOptions) -> None:
        manifest, text = document_of(obj)
        status = manifest.pop("status", None)
        ref = self._ref_of(manifest, options.cluster)
        if options is not DEFAULT and options.subresource:
            self._put_status(ref, status)
            return
        if status:
            if not uid_of(manifest):  # one that was read has the status of its controller
                raise OutputError(
                    f"{ref} is applied with a status, which the API server would drop: it takes the "
                    "status through a subresource.\n"
                    '  fix: drop the status, or write it with out.apply(obj, subresource="status")'
                )
            text = b""  # it has the status, which is not part of the manifest
        if ref.namespace:
            manifest["metadata"]["namespace"] = ref.namespace
        else:  # the server drops it, so the object would never compare as equal
            manifest["metadata"].pop("namespace", None)
        if self._defaults is not None:
            options = self._completed(manifest, options, self._defaults)
        self._intend(Apply(ref, manifest, options, self._by.author, text), ref)

    @staticmethod
    def _completed(manifest: Json, options: ApplyOptions, by: OutputDefaults) -> ApplyOptions:
        """Add the labels that the controller sets; return the options that then hold."""
        if by.labels:
            declared = manifest["metadata"].get("labels") or {}
            manifest["metadata"]["labels"] = {**by.labels, **declared}
        return removing(options) if by.remove_undeclared else options

    def _put_status(self, ref: ObjectRef, status: Any) -> None:
        if not isinstance(status, dict) or not status:
            raise OutputError(
                f'{ref} is applied with subresource="status", but has no status.\n'
                "  fix: set the status fields on the object"
            )
        body = {"status": status}
        edit = Edit(ref, body, "merge", "status", owned=True, author=self._by.author)
        self._intend(edit, key_of(edit))

    def _edit(self, edit: Edit) -> None:
        key = key_of(edit)
        earlier = self._intentions.get(key)
        self._intend(combined(earlier, edit) if isinstance(earlier, Edit) else edit, key)

    def _edit_self(self, field: str, values: Mapping[str, str | None]) -> None:
        given: dict[Any, Any] = dict(values)
        for key, value in given.items():
            if not isinstance(key, str) or not (value is None or isinstance(value, str)):
                raise OutputError(
                    f"{field} of the object itself: {key!r} is {value!r}, which is not a string.\n"
                    "  fix: write a string, or None to remove the key"
                )
        own = self._check_owned()
        if given:
            self._edit(Edit(own, {"metadata": {field: given}}, author=self._by.author))

    def _check_owned(self) -> ObjectRef:
        if self._own is None:
            raise OutputError(
                "this OutputSet belongs to no object.\n  fix: pass own=ObjectRef(...) to OutputSet"
            )
        return self._own

    def _is_of_own_kind(self, what: Any) -> bool:
        """Whether a kind, reference or object is of the kind of the object of the pass."""
        kind = what.kind if isinstance(what, ObjectRef) else kind_of(what)
        return self._own is not None and self._own.kind == (kind or kind_of(type(what)))

    def _intend(self, output: Output, key: Key) -> None:
        # Remove an earlier entry first, so that the new one is also last in the order.
        self._intentions.pop(key, None)
        self._intentions[key] = output


def _propagation(asked: Propagation | None, *, foreground: bool = False) -> Propagation:
    if asked is None:
        return "Foreground" if foreground else "Background"
    if asked not in _PROPAGATIONS:
        raise OutputError(
            f"propagation is {asked!r}, which the API server does not know.\n"
            f"  fix: use one of {', '.join(map(repr, _PROPAGATIONS))}"
        )
    if foreground and asked != "Foreground":
        raise OutputError(
            f"a delete cannot have both foreground=True and propagation={asked!r}.\n"
            "  fix: drop foreground"
        )
    return asked


_PROPAGATIONS = get_args(Propagation)
