"""Make a new controller project, which runs and whose tests pass.

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
"""Says hello: a $kind becomes a ConfigMap with its text."""

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
    """What the user asks for."""

    text: str = Field(min_length=1)
    """What to say."""
    copies: int = Field(default=1, ge=1, le=10)
    """How often to say it."""


class ${kind}Status(Status):
    """What is the case."""

    length: int | None = None


class $kind(
    Resource[${kind}Spec, ${kind}Status],
    group="$group",
    version="v1",
    columns={
        "Text": ".spec.text",
        "Ready": ".status.conditions[?(@.type=='Ready')].status",
    },
):
    """A text that is said."""


class ${kind}s(Controller[$kind]):
    """Keeps what every $kind says in a ConfigMap."""

    manages = (kinds.CONFIG_MAP,)

    @state(initial=True, condition="Said", then="heard")
    def said(self, obj: $kind, out: OutputSet) -> Result:
        """The ConfigMap holds the text."""
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

    @state(condition="Heard")
    async def heard(self, obj: $kind, out: OutputSet, ctx: Context) -> Result:
        """Nobody says that nobody listens: the label heard=no."""
        said = await ctx.get(kinds.CONFIG_MAP, obj.name)
        if said["metadata"].get("labels", {}).get("heard") == "no":
            return Wait("NobodyListens", "the label heard is no")
        obj.status.length = len(said["data"]["text"])
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
"""$kind, from its first pass to its last."""

from controller import $kind, ${kind}s, ${kind}Spec

from myrmidon import kinds


def test_the_text_is_said(harness):
    cluster = harness(${kind}s())
    cluster.apply($kind(name="hello", spec=${kind}Spec(text="hi", copies=2)))
    cluster.settle()

    assert cluster.ready($kind, "hello")
    assert cluster.get(kinds.CONFIG_MAP, "hello")["data"] == {"text": "hi\\nhi"}
    assert cluster.get($kind, "hello").status.length == 5
    cluster.at_rest()


def test_it_waits_until_somebody_listens(harness):
    cluster = harness(${kind}s())
    cluster.apply($kind(name="hello", spec=${kind}Spec(text="hi")))
    cluster.settle()

    cluster.patch(kinds.CONFIG_MAP, "hello", {"metadata": {"labels": {"heard": "no"}}})
    cluster.eventually(lambda: not cluster.ready($kind, "hello"))
    assert cluster.condition($kind, "hello", "Heard").reason == "NobodyListens"
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

A Kubernetes controller, made with `myrmidon init`.

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
    parser.add_argument("folder", type=Path, metavar="DIR", help="a new folder, or an empty one")
    parser.add_argument(
        "--group", default="example.com", help="of the kind; by default example.com"
    )


def run(args: argparse.Namespace) -> int:
    """Write the files."""
    folder: Path = args.folder
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is there already, and not empty.\n  fix: name a new folder")
    name = folder.resolve().name
    kind = "".join(part[:1].upper() + part[1:] for part in re.findall(r"[A-Za-z0-9]+", name))
    if not kind or not kind[0].isalpha():
        raise UsageError(
            f"{name!r} gives no name for a kind.\n  fix: begin the folder's name with a letter"
        )
    folder.mkdir(parents=True, exist_ok=True)
    for file, template in _FILES.items():
        (folder / file).write_text(template.substitute(kind=kind, name=name, group=args.group))
        print(f"wrote {folder / file}")
    print(f"\nnow: cd {folder}; myrmidon dev .")
    return 0
