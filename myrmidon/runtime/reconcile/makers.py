"""Tell which controller made a child, where several reconcile the same parent.

Children name their parent, not their controller.  A controller must not prune or delete the children
that another controller made for the same object.  A child is ours if it carries our fingerprint or
our field manager (``children.is_made_by``).  Caches do not keep ``managedFields``, so a child without
a fingerprint is read live; a child of another controller only once (``PassDependencies.strangers``).
"""

from myrmidon.api.objects.accessors import Json, uid_of
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.runtime.reconcile.subject import Subject
from myrmidon.runtime.views.children import is_child, is_made_by


async def is_ours(subject: Subject, ref: ObjectRef, child: Json | None) -> bool:
    """Whether this controller made a child; always True if it is the only one for the kind."""
    return not subject.deps.shared or await made_by_us(subject, ref, child)


async def made_by_us(subject: Subject, ref: ObjectRef, child: Json | None) -> bool:
    """Whether this controller made an object that names the object of the pass as its parent."""
    deps = subject.deps
    if child is None or uid_of(child) in deps.strangers.get(subject.ref, {}):
        return False
    if not is_made_by(child, deps.controller.name):
        child = await deps.applicator.read(ref)
    if child is None or not is_child(child, subject.parent.uid):
        return False
    if is_made_by(child, deps.controller.name):
        return True
    deps.strangers.setdefault(subject.ref, {})[uid_of(child)] = None
    return False
