"""Create a controller project that runs and whose tests pass.

  myrmidon init greeting
  cd greeting
  myrmidon dev .
  pytest

The kind is named after the folder.
"""

import argparse
import re
from pathlib import Path
from string import Template

from myrmidon.errors import UsageError

_CONTROLLER = Template('''\
"""A controller that writes the text of every $kind into a ConfigMap."""

from pydantic import Field

from myrmidon import (
    Context,
    Controller,
    Done,
    Model,
    OutputSet,
    Resource,
    Result,
    Status,
    Wait,
    kinds,
    state,
)


class ${kind}Spec(Model):
    """The desired state, written by the user."""

    text: str = Field(min_length=1)
    """The text that the ConfigMap holds."""
    copies: int = Field(default=1, ge=1, le=10)
    """How many times the text is repeated."""


class ${kind}Status(Status):
    """The observed state, written by the controller."""

    length: int | None = None
    """The length of the text in the ConfigMap."""


class $kind(
    Resource[${kind}Spec, ${kind}Status],
    group="$group",
    version="v1",
    columns={
        "Text": ".spec.text",
        "Ready": ".status.conditions[?(@.type=='Ready')].status",
    },
):
    """A text that is published in a ConfigMap."""


class ${kind}s(Controller[$kind]):
    """Keeps one ConfigMap with the text of each $kind."""

    manages = (kinds.CONFIG_MAP,)

    @state(initial=True, condition="Published", then="accepted")
    def published(self, obj: $kind, out: OutputSet) -> Result:
        """The ConfigMap with the text exists."""
        text = "\\n".join([obj.spec.text] * obj.spec.copies)
        out.apply(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": obj.name},
                "data": {"text": text},
            }
        )
        return Done()

    @state(condition="Accepted")
    async def accepted(self, obj: $kind, out: OutputSet, ctx: Context) -> Result:
        """The ConfigMap is not labelled accepted=no."""
        config_map = await ctx.get(kinds.CONFIG_MAP, obj.name)
        if config_map["metadata"].get("labels", {}).get("accepted") == "no":
            return Wait("Rejected", "the ConfigMap is labelled accepted=no")
        obj.status.length = len(config_map["data"]["text"])
        return Done()
''')

_SAMPLE = Template("""\
apiVersion: $group/v1
kind: $kind
metadata:
  name: hello
spec:
  text: hello, world
  copies: 2
""")

_TEST = Template('''\
"""Tests of the $kind controller, on the embedded API server."""

from controller import $kind, ${kind}s, ${kind}Spec

from myrmidon import kinds


def test_the_text_is_published(harness):
    cluster = harness(${kind}s())
    cluster.apply($kind(name="hello", spec=${kind}Spec(text="hi", copies=2)))
    cluster.settle()

    assert cluster.ready($kind, "hello")
    assert cluster.get(kinds.CONFIG_MAP, "hello")["data"] == {"text": "hi\\nhi"}
    assert cluster.get($kind, "hello").status.length == 5
    cluster.at_rest()


def test_it_waits_while_the_config_map_is_rejected(harness):
    cluster = harness(${kind}s())
    cluster.apply($kind(name="hello", spec=${kind}Spec(text="hi")))
    cluster.settle()

    cluster.patch(kinds.CONFIG_MAP, "hello", {"metadata": {"labels": {"accepted": "no"}}})
    cluster.eventually(lambda: not cluster.ready($kind, "hello"))
    assert cluster.condition($kind, "hello", "Accepted").reason == "Rejected"
''')

_PROJECT = Template("""\
[project]
name = "$name"
version = "0.1.0"
requires-python = ">=3.11"
dependencies = ["myrmidon"]

[project.optional-dependencies]
test = ["myrmidon[test]"]

[tool.pytest.ini_options]
pythonpath = ["."]
""")

_README = Template("""\
# $name

A Kubernetes controller, created by `myrmidon init`.

    myrmidon dev .                                       run it, without a cluster
    pytest                                               test it
    myrmidon graph . -o graph.svg                        draw it
    myrmidon plan . sample.yaml                          see what it would do
    myrmidon generate all . -o deploy                    write its definition, roles and deployment
    kubectl apply -f deploy/crd && myrmidon run .        run it against your cluster
""")

_FILES = {
    "controller.py": _CONTROLLER,
    "sample.yaml": _SAMPLE,
    "test_controller.py": _TEST,
    "pyproject.toml": _PROJECT,
    "README.md": _README,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "folder", type=Path, metavar="DIR", help="the folder to create; it may exist if it is empty"
    )
    parser.add_argument(
        "--group", default="example.com", help="the API group of the kind (default: example.com)"
    )


def run(args: argparse.Namespace) -> int:
    """Write the files."""
    folder: Path = args.folder
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(
            f"the folder {folder} exists and is not empty.\n  fix: choose a new folder"
        )
    name = folder.resolve().name
    kind = "".join(part[:1].upper() + part[1:] for part in re.findall(r"[A-Za-z0-9]+", name))
    if not kind or not kind[0].isalpha():
        raise UsageError(
            f"no kind can be named after the folder {name!r}.\n  fix: choose a folder name that begins with a letter"
        )
    folder.mkdir(parents=True, exist_ok=True)
    for file, template in _FILES.items():
        (folder / file).write_text(template.substitute(kind=kind, name=name, group=args.group))
        print(f"wrote {folder / file}")
    print(f"\nnext: cd {folder} && myrmidon dev .")
    return 0
