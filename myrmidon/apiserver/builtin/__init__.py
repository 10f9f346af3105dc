"""The kinds that every Kubernetes server has: decoding, defaults, rules and tables.

resource_types     every built-in resource, as the registry has them
strategy           a built-in kind with owners of fields; base_strategy is what it stands on
definitions        the strategy of CustomResourceDefinitions
decoding           JSON to an object as a Go program would have read, completed and written it
scalars            the scalar types of decoding: quantities, times, int-or-string, bytes
defaults/          what the server fills in
preparing/         what it resets and allocates before validation
validation/        what it refuses
conversion         kinds that two groups serve from one store
field_selectors    which fields can be selected
lookup             what a kind may look up about other objects
tables/            the columns that ``kubectl get`` shows

The recorded types and resources are in the package ``catalog``.
"""

__all__: list[str] = []
