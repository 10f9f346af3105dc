"""The built-in kinds of Kubernetes: decoding, defaults, validation and tables.

    resource_types     all built-in resources, as entries of the registry
    strategy           the strategy of a built-in kind, with field ownership and tables
    base_strategy      its base: decoding, preparation, validation, deletion
    definitions        the strategy of CustomResourceDefinitions
    decoding           decode JSON into an object, as Go reads, completes and writes it
    scalars            scalar types of decoding: quantities, times, int-or-string, bytes
    defaults/          defaults, by type
    preparing/         fields that are reset or allocated before validation
    quotas/            what objects use of a ResourceQuota; requests and limits of pods
    validation/        validation, by kind
    warnings/          warnings about deprecated fields and probable mistakes
    conversion         kinds that two groups or versions serve from one store
    field_selectors    the fields that field selectors support
    lookup             read access of a strategy to other objects
    tables/            the tables of ``kubectl get``

The recorded types and resources are in the package ``catalog``.
"""

__all__: list[str] = []
