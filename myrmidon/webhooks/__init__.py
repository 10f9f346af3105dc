"""What the webhooks of a program decide, as values: admission, and versions of a kind.

admission/  validators and defaults: AdmissionReview in, AdmissionReview out
versions/   conversion between versions, and the migration of stored objects

``runtime.webhooks`` serves both over HTTPS.
"""
