"""Steps that may change a write or refuse it, after decoding and before validation.

steps                  runs them all, in order
namespace_lifecycle    no new objects in a namespace that is missing or being deleted
definitions            no new objects of a CustomResourceDefinition that is being deleted
rbac_escalation        no role gives rights that its author does not have
webhooks               mutating and validating admission webhooks, called by ``fronts.webhook_client``
"""

__all__: list[str] = []
