"""Every recorded scenario, through both fronts of the server."""

import asyncio

import pytest

from tests.apiserver.conformance.replaying import new_server, replay, transport_of
from tests.apiserver.conformance.scenarios import Scenario, all_scenarios


@pytest.mark.parametrize("http", [False, True], ids=["local", "http"])
@pytest.mark.parametrize("scenario", all_scenarios(), ids=str)
def test_the_server_answers_like_the_real_one(scenario: Scenario, http: bool) -> None:
    """The responses of kube-apiserver are the specification."""

    async def run() -> dict[str, list[str]]:
        async with transport_of(new_server(), http=http) as transport:
            return await replay(transport, scenario)

    differences = {step: found for step, found in asyncio.run(run()).items() if found}
    assert not differences
