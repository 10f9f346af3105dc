"""Admission: steps that may change a write or refuse it, after decoding and before validation.

steps                  runs all steps, in order
namespace_lifecycle    refuses new objects in a namespace that is missing or being deleted
definitions            refuses new objects of a CustomResourceDefinition that is being deleted
rbac_escalation        refuses roles and bindings that grant rights which the user does not have
limit_ranges           LimitRanges: defaults of containers, and what is outside the limits
resource_quota         ResourceQuotas: refuses what would use too much, and charges what is allowed
webhooks               mutating and validating webhooks, called by ``fronts.webhook_client``
"""

__all__: list[str] = []
