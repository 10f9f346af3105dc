"""Admission: steps that may change a write or refuse it, after decoding and before validation.

steps                  runs all steps, in order; a second time if the object was changed
namespace_lifecycle    refuses new objects in a namespace that is missing or being deleted
definitions            refuses new objects of a CustomResourceDefinition that is being deleted
rbac_escalation        refuses roles and bindings that grant rights which the user does not have
limit_ranges           LimitRanges: defaults of containers, and what is outside the limits
mutating_policies      MutatingAdmissionPolicies: apply configurations and JSON patches in CEL
validating_policies    ValidatingAdmissionPolicies: rules in CEL
resource_quota         ResourceQuotas: refuses what would use too much, and charges what is allowed
webhooks               mutating and validating webhooks, called by ``fronts.webhook_client``

What webhooks and policies share::

    matching       rules, selectors, equivalent versions
    conditions     match conditions in CEL
    views          the write in another version, and as variables of CEL
    policy_hooks   policies, bindings and their parameters for a write
    policy_programs  the compiled expressions of a policy
    reinvocation   who is called a second time
    reviews        the question to a webhook, and whether its reply is acceptable
    replies        the HTTP answer of a webhook as a document or an error text
    services       the address of a webhook that is named by its Service
"""

__all__: list[str] = []
