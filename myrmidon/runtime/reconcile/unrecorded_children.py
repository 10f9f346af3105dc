"""Find the children of an object that its status does not record.

``status.resourceRefs`` is written at the end of a pass, after the children, so that a pass needs
one status write.  A pass that is cut off in between (by a crash, a refused or conflicting status
write, an edit of the object) leaves children that no status records.  Pruning, deletion and
``ctx.children()`` must see them all the same.  They are looked up in two places:

- the cache index of children by the uid of their parent (``ClusterView.children``);
- ``PassDependencies.unsure``: outputs whose write got no clear answer.  The caches may not show
  them yet, so they are read live, which puts them into the caches and the index.

A child that is found by its owner reference alone may belong to another writer: if the object is of
a kind that another project defines, that project's controller creates children of it, too.  Such a
child is ours only if it carries our fingerprint or our field manager (``makers``); the live read
for that is made once per child.  During a deletion a controller that does not share its kind sees all
of them: the garbage collector would delete them, too.  A child that is ours becomes part of ``Managed.found`` and is
recorded with the next status write, so later passes find it in the record.  A controller that keeps
no record of children with owner references remembers their uids instead
(``PassDependencies.acknowledged``).

Not handled: an unrecorded child of a kind that ``manages`` no longer lists.  No cache holds it; if
it has an owner reference, the garbage collector deletes it with its parent.
"""

from collections.abc import Sequence

from myrmidon.api.objects.accessors import is_deleting, uid_of
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.runtime.reconcile.makers import is_ours, made_by_us
from myrmidon.runtime.reconcile.subject import Subject


async def settle_unsure(subject: Subject, recorded: Sequence[ObjectRef] = ()) -> None:
    """Read live every output of this object whose write got no clear answer."""
    deps = subject.deps
    for ref in (*recorded, *deps.unsure.get(subject.ref, ())):
        if ref not in subject.managed.applied and deps.applicator.is_unknown(ref):
            await deps.applicator.read(ref)
    deps.unsure.pop(subject.ref, None)


async def find_unrecorded(subject: Subject) -> None:
    """Add to ``managed.found`` the children that exist and are ours, but that no status records."""
    deps, managed = subject.deps, subject.managed
    is_own = is_ours if is_deleting(subject.obj) else made_by_us
    known = {*managed.by_now(subject.obj), *managed.gone}
    unknown = [ref for ref in subject.children() if ref not in known]
    before, now = deps.acknowledged.get(subject.ref, {}), dict[str, None]()
    for ref in unknown:
        child = deps.objects.get(ref)
        uid = "" if child is None else uid_of(child)
        if uid in before or await is_own(subject, ref, child):
            managed.found[ref] = now[uid] = None
    if now:
        deps.acknowledged[subject.ref] = now
    elif before:
        del deps.acknowledged[subject.ref]
