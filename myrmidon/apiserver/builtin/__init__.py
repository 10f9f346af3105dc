"""The kinds that every Kubernetes server has: types, defaults, rules and tables.

files.py        the recorded facts, opened when first asked for
kinds.py        what is served: groups, versions, resources
types.py        the Go types behind the kinds
decoding.py     JSON to an object as a Go program would have read, completed and written it
defaults/       what the server fills in
validation/     what the server refuses
strategies.py   what is particular about a kind: generation, status, preparation
conversion.py   kinds that two groups serve from one store
tables/         the columns that ``kubectl get`` shows
"""

__all__: list[str] = []
