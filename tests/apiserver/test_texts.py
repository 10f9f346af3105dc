"""Messages for people; the texts are those of a real server."""

from typing import Any

from myrmidon.apiserver.golang import json as go_json
from myrmidon.apiserver.server import ApiServer

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


def deployment(color: str) -> dict[str, Any]:
    """Build a Deployment whose selector has its fields in another order than the type."""
    labels = {"size": "l", "color": color}
    selector = {
        "matchExpressions": [{"key": "size", "operator": "Exists"}],
        "matchLabels": {"color": color},
    }
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    return {"metadata": {"name": "web"}, "spec": {"selector": selector, "template": pod}}


def test_a_struct_is_shown_in_the_order_of_its_declaration() -> None:
    """Maps are sorted, and structs are not."""
    server = ApiServer()
    server.request("POST", DEPLOYMENTS, deployment("red"))
    answer = server.request("PUT", f"{DEPLOYMENTS}/web", deployment("blue"))
    assert go_json.decode(answer.body)["message"] == (
        'Deployment.apps "web" is invalid: spec.selector: Invalid value: '
        '{"matchLabels":{"color":"blue"},"matchExpressions":[{"key":"size","operator":"Exists"}]}: '
        "field is immutable"
    )


def test_a_name_is_quoted_as_go_quotes() -> None:
    """Both the prefix and the problem quote it."""
    answer = ApiServer().request("POST", "/api/v1/namespaces", {"metadata": {"name": 'a"\x01'}})
    message = go_json.decode(answer.body)["message"]
    assert message.startswith(
        r'Namespace "a\"\x01" is invalid: [metadata.name: Invalid value: "a\"\x01": a lowercase'
    )
