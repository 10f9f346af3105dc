"""All functions that rules can call, as kube-apiserver 1.36 offers them to custom resources.

They are in the order of the libraries of the real server.
"""

from myrmidon.apiserver.cel.declarations import Overload, by_name
from myrmidon.apiserver.cel.functions import (
    authorization,
    calendar,
    conversions,
    formats,
    lists,
    network,
    optionals,
    quantity,
    regex,
    semver,
    standard,
    strings,
    urls,
)

FUNCTIONS: dict[str, tuple[Overload, ...]] = by_name(
    (
        *standard.OVERLOADS,
        *conversions.OVERLOADS,
        *calendar.OVERLOADS,
        *urls.OVERLOADS,
        *regex.OVERLOADS,
        *lists.KUBERNETES,
        *authorization.OVERLOADS,
        *optionals.OVERLOADS,
        *quantity.OVERLOADS,
        *strings.OVERLOADS,
        *lists.SETS,
        *network.IP_OVERLOADS,
        *network.CIDR_OVERLOADS,
        *formats.OVERLOADS,
        *semver.OVERLOADS,
        *lists.EXTENSION,
    )
)
