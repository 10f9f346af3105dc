"""Management policies: what a controller may do for one object.

==========  ==================================  ===========================================
policy      children                            when the object is deleted
==========  ==================================  ===========================================
manage      written and deleted                 the finalizer states run
observe     compared, never written             the finalizer is removed, and nothing else
orphan      written and deleted                 children are released: they stay, without an
                                                owner; the finalizer states do not run
==========  ==================================  ===========================================

The policy is an option of the controller (``ControllerOptions.policy``), and the annotation
``myrmidon.dev/policy`` sets another one for one object.  A value that is not a policy is not
guessed: no state runs, and the status says so.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, get_args

from myrmidon.api.objects.accessors import annotations_of, describe
from myrmidon.errors import UnfitObjectError

Policy: TypeAlias = Literal["manage", "observe", "orphan"]

POLICIES: tuple[Policy, ...] = get_args(Policy)
POLICY = "myrmidon.dev/policy"  # annotation: the policy of one object


def policy_of(obj: Mapping[str, Any], default: Policy = "manage") -> Policy:
    """Return the policy for an object; raise ``UnfitObjectError`` if its annotation names none."""
    asked = annotations_of(obj).get(POLICY)
    if asked is None:
        return default
    for policy in POLICIES:
        if asked == policy:
            return policy
    raise UnfitObjectError(
        describe(obj),
        [f"the annotation {POLICY} is {asked!r}, which is not one of {', '.join(POLICIES)}"],
    )
