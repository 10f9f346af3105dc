"""What objects use of a ResourceQuota, and what pods request and may use at most.

amounts          lists of quantities by resource name: sums, maxima, texts
pod_resources    the requests and limits of a pod, over all of its containers
usage            what one object uses, by the names that a quota limits, and the scopes of quotas

Admission (``admission.resource_quota``, ``admission.limit_ranges``) and the quota controller
(``actors.quotas``) stand on these functions.
"""

__all__: list[str] = []
