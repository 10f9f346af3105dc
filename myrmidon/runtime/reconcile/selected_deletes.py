"""Turn ``out.delete_all`` into one Delete for each cached object that it stands for."""

from myrmidon.api.objects.refs import ObjectRef
from myrmidon.errors import UnwatchedNamespaceError
from myrmidon.runtime.reconcile.subject import Subject
from myrmidon.sets.outputs.output_set import OutputSet
from myrmidon.sets.outputs.outputs import Delete
from myrmidon.sets.ownership.selection import selected


def selected_deletes(subject: Subject, out: OutputSet, state: str) -> list[Delete]:
    """Return the Deletes; raise if a namespace is not watched, where nothing would be found."""
    objects, found = subject.deps.objects, dict[ObjectRef, Delete]()
    named = [output.ref for output in out]
    for rule in out.collections:
        place = ObjectRef(rule.kind, "*", rule.namespace)
        if rule.namespace and not objects.covers(place):
            name = type(subject.deps.controller).__name__
            raise UnwatchedNamespaceError(
                name, state, str(place), rule.namespace, objects.namespaces_of(rule.kind)
            )
        matching = objects.list(rule.kind, rule.namespace, labels=rule.selector)
        for delete in selected(rule, matching, subject.parent, named):
            found.setdefault(delete.ref, delete)
    return list(found.values())
