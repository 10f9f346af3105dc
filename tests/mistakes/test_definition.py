"""Mistakes in the code of a controller or resource, as `myrmidon` answers them when it loads the code.

Each answer says what is wrong, in which line, and how to fix it; none has a traceback.
"""

from pathlib import Path
from typing import NamedTuple

import pytest

from myrmidon.cli.main import main

HEAD = """\
from datetime import timedelta
from myrmidon import *
from myrmidon import kinds

class ThingSpec(Model):
    size: int = 1

class Thing(Resource[ThingSpec, Status], group="demo.example.com", version="v1"):
    pass

"""
FIRST_LINE = HEAD.count("\n") + 1
STATE = "    @state(initial=True)\n    def made(self, thing, out):\n        return Done()\n"
RESOURCE = 'group="demo.example.com", version="v1"): pass\n'
SIGNATURE = (
    "write `def made(self, obj, out) -> Result` or `def made(self, obj, out, ctx) -> Result`, "
    "with `async` if it awaits"
)


class Mistake(NamedTuple):
    """What a newcomer writes, and the answer."""

    code: str
    problem: str
    fix: str
    line: int = 0  # of the code, from 0


def controller(body: str) -> str:
    """A controller class with that body."""
    return f"class Things(Controller[Thing]):\n{body}"


MISTAKES = {
    "misspelled rule of a field": Mistake(
        "from pydantic import Field\nclass Other(Model):\n    text: str = Field(min_lenght=1)\n",
        "Other.text has Field(min_lenght=...), which is not a rule and would have no effect.",
        "write min_length=",
        line=1,
    ),
    "rule under its name in JSON Schema": Mistake(
        "from pydantic import Field\nclass Other(Model):\n    size: int = Field(minimum=1)\n",
        "Other.size has Field(minimum=...), which is not a rule and would have no effect.",
        "write ge=",
        line=1,
    ),
    "forgotten decorator": Mistake(
        controller("    def made(self, thing, out): return Done()\n"),
        "Things has no initial state; 'made' takes `out`, but has no @state.",
        "write @state(initial=True) above 'made'",
    ),
    "decorator without parentheses": Mistake(
        controller("    @state\n    def made(self, thing, out): return Done()\n"),
        "@state was given made, but it takes keywords only.",
        'write `@state()`, or `@state(initial=True, condition="Deployed", then="exposed")`',
        line=1,
    ),
    "no initial state": Mistake(
        controller("    @state()\n    def made(self, thing, out): return Done()\n"),
        "Things has no initial state.",
        "mark the state every pass starts at with @state(initial=True, ...)",
    ),
    "misspelled keyword of @state": Mistake(
        controller("    @state(inital=True)\n    def made(self, thing, out): return Done()\n"),
        "TypeError: state() got an unexpected keyword argument 'inital'",
        "did you mean initial?",
        line=1,
    ),
    "unknown state in then": Mistake(
        controller(
            '    @state(initial=True, then="deplyed")\n    def made(self, thing, out): return Done()\n'
            "    @state()\n    def deployed(self, thing, out): return Done()\n"
        ),
        "Things.made may go to 'deplyed', but Things has no state of that name.",
        "did you mean 'deployed'?",
    ),
    "a method instead of its name in then": Mistake(
        controller(
            "    @state()\n    def deployed(self, thing, out): return Done()\n"
            "    @state(initial=True, then=deployed)\n    def made(self, thing, out): return Done()\n"
        ),
        "`then` of a state lists deployed, which is not the name of a state.",
        'write it as text: then="deployed"',
        line=3,
    ),
    "a cycle in order to look again": Mistake(
        controller(
            '    @state(initial=True, then="deployed")\n    def made(self, thing, out): return Done()\n'
            '    @state(then="made")\n    def deployed(self, thing, out): return Done()\n'
        ),
        "Things has a cycle: made -> deployed -> made.\n"
        "  A pass walks from the initial state to an end; it would never reach one.",
        "remove the edge deployed -> made; to look again later, return Wait(...)",
    ),
    "a condition with a space": Mistake(
        controller(STATE.replace("initial=True", 'initial=True, condition="my state"')),
        "Things.made owns the condition 'my state', which is not a valid condition type.",
        "use CamelCase letters and digits, such as 'Deployed'",
    ),
    "the condition Ready": Mistake(
        controller(STATE.replace("initial=True", 'initial=True, condition="Ready"')),
        "Things.made owns the condition 'Ready', which sums up all states.",
        "choose another condition; the framework writes Ready",
    ),
    "no parameters": Mistake(
        controller(STATE.replace("self, thing, out", "self")),
        "Things.made takes 0 parameters after self.",
        SIGNATURE,
    ),
    "a wrong return type": Mistake(
        controller(STATE.replace("out):", "out) -> bool:")),
        "Things.made returns bool, and a state returns a Result: Done, Wait or Failed.",
        SIGNATURE,
    ),
    "a property as a state": Mistake(
        controller("    @state(initial=True)\n    @property\n    def made(self): return Done()\n"),
        "@state is above a property, and a state is a method.",
        "remove @property below @state",
        line=1,
    ),
    "yield instead of return": Mistake(
        controller(STATE.replace("return", "yield")),
        "Things.made is a generator, and a state returns one result.",
        SIGNATURE,
    ),
    "the name of a kind in manages": Mistake(
        controller(f'    manages = ("ConfigMap",)\n{STATE}'),
        "Things.manages lists 'ConfigMap', which is not a kind.",
        "use a constant of myrmidon.kinds, a Resource class, a kubernetes-asyncio model of a built-in "
        "kind, or Kind(group, version, kind, plural, namespaced)",
    ),
    "a misspelled constant": Mistake(
        controller(f"    manages = (kinds.CONFIGMAP,)\n{STATE}"),
        "AttributeError: module 'myrmidon.api.objects.kinds' has no attribute 'CONFIGMAP'",
        "did you mean CONFIG_MAP?",
        line=1,
    ),
    "all Secrets of the cluster": Mistake(
        controller(f"    reads = (kinds.SECRET,)\n{STATE}"),
        "Things.reads lists Secret, which would cache every Secret of the cluster in memory, and the role "
        "could read them all.",
        "Reads(kinds.SECRET, cached=False) asks the server for each read;\n"
        '       Reads(kinds.SECRET, selector="app=shop"), field_selector= or namespaces= caches some;\n'
        "       Reads(kinds.SECRET, metadata_only=True) caches no data;\n"
        "       Reads(kinds.SECRET, everywhere=True) caches all of them",
    ),
    "the spec instead of the resource": Mistake(
        f"class Things(Controller[ThingSpec]):\n{STATE}",
        "Things does not say which resource it controls: ThingSpec is not a Resource or the model of a "
        "built-in kind.",
        "write `class Things(Controller[YourResource])`, `class Things(Controller[Unstructured], "
        "kind=kinds.NAMESPACE)`, or pass abstract=True for a base class",
    ),
    "a number instead of a timedelta": Mistake(
        controller(f"    options = ControllerOptions(sync_period=600)\n{STATE}"),
        "ControllerOptions.sync_period is 600.",
        "write sync_period=timedelta(seconds=600)",
        line=1,
    ),
    "a text instead of a tuple": Mistake(
        controller(f'    options = ControllerOptions(namespaces=("shop"))\n{STATE}'),
        "ControllerOptions.namespaces is 'shop'.",
        "write namespaces=('shop',): a tuple has a comma",
        line=1,
    ),
    "a misspelled option": Mistake(
        controller(f"    options = ControllerOptions(worker=3)\n{STATE}"),
        "TypeError: ControllerOptions.__init__() got an unexpected keyword argument 'worker'",
        "did you mean workers?",
        line=1,
    ),
    "a keyword of a call without keywords": Mistake(
        controller(
            "    @state(initial=True, then=Fork('a', 'b', join='c'))\n"
            "    def made(self, thing, out): return Done()\n"
        ),
        "TypeError: Fork.__init__() got an unexpected keyword argument 'join'",
        "it takes no keywords",
        line=1,
    ),
    "a watch without a target": Mistake(
        controller(f"    watches = (Watch(kinds.POD),)\n{STATE}"),
        "TypeError: Watch.__init__() missing 1 required positional argument: 'to'",
        "pass 'to'",
        line=1,
    ),
    "one type": Mistake(
        f"class X(Resource[ThingSpec], {RESOURCE}",
        "Resource[ThingSpec] names one class, but a resource has a spec and a status.",
        "write Resource[ThingSpec, Status]; derive from Status to add fields to it",
    ),
    "no group": Mistake(
        'class X(Resource[ThingSpec, Status], version="v1"): pass\n',
        "X is a Resource without group.",
        'write class X(Resource[Spec, Status], group="demo.example.com", version="v1")',
    ),
    "the scope by its name in a CRD": Mistake(
        f'class X(Resource[ThingSpec, Status], scope="Cluster", {RESOURCE}',
        "class X has the keyword scope=, which is not known.",
        "write namespaced=False for a kind without namespaces; namespaced=True is the default",
    ),
    "a misspelled keyword of a resource": Mistake(
        f"class X(Resource[ThingSpec, Status], shortnames=('x',), {RESOURCE}",
        "class X has the keyword shortnames=, which is not known.",
        "did you mean short_names?",
    ),
    "a keyword of a controller that no class has": Mistake(
        f"class Things(Controller[Thing], finalizer='x'):\n{STATE}",
        "class Things has the keyword finalizer=, which is not known.",
        "known are abstract, kind",
    ),
    "a group without a dot": Mistake(
        'class X(Resource[ThingSpec, Status], group="demo", version="v1"): pass\n',
        "X has group='demo', which Kubernetes does not accept.",
        'use a domain of yours in lower case, "demo.example.com"',
    ),
    "a dict as the spec": Mistake(
        f"class X(Resource[dict, Status], {RESOURCE}",
        "the spec of X is dict, which is not a Model.",
        "write class XSpec(Model) with one field per line",
    ),
    "a status field without a default": Mistake(
        f"class S(Status):\n    url: str\nclass X(Resource[ThingSpec, S], {RESOURCE}",
        "S.url has no default, but a new X has no status yet.",
        "write url: ... | None = None",
        line=2,
    ),
    "a field without a type": Mistake(
        "class S(Model):\n    size = 3\n",
        "PydanticUserError: A non-annotated attribute was detected: `size = 3`.",
        "write its type: `size: int = 3`",
    ),
    "a misspelled class": Mistake(
        f"class Things(Controller[Thign]):\n{STATE}",
        "NameError: name 'Thign' is not defined",
        "did you mean Thing?",
    ),
    "a kind instead of a class": Mistake(
        f"class Things(Controller[kinds.CONFIG_MAP]):\n{STATE}",
        "Controller[...] got the kind ConfigMap, and it takes the class of the objects.",
        "write `(Controller[Unstructured], kind=kinds.CONFIG_MAP)`",
    ),
    "rules for a kind instead of a class": Mistake(
        "class Rules(Admission[kinds.POD]):\n    pass\n",
        "Admission[...] got the kind Pod, and it takes the class of the objects.",
        "write `(Admission[Unstructured], kind=kinds.POD)`",
    ),
    "a condition that is not a name": Mistake(
        controller(STATE.replace("initial=True", "initial=True, condition=True")),
        "@state has condition=True, which is not a text.",
        'write condition="Deployed", or leave it out: the name of the method is the default',
        line=1,
    ),
    "a text for yes": Mistake(
        controller(STATE.replace("initial=True", "initial='yes'")),
        "@state has initial='yes', which is neither True nor False.",
        "write initial=True",
        line=1,
    ),
    "two states in one text": Mistake(
        controller(STATE.replace("initial=True", "initial=True, then='a, b'")),
        "`then` of a state is the text 'a, b', which is not the name of a state.",
        'write then=("a", "b")',
        line=1,
    ),
    "a static method": Mistake(
        controller("    @staticmethod\n" + STATE.replace("self, ", "")),
        "Things.made is not a method.",
        SIGNATURE,
    ),
    "parameters in the other order": Mistake(
        controller(STATE.replace("thing, out", "out: OutputSet, thing: Thing")),
        "Things.made takes the OutputSet where the object is passed.",
        SIGNATURE,
    ),
    "a state with a name of the framework": Mistake(
        controller(STATE.replace("made", "options")),
        "Things.options is a state, but every controller has an attribute of that name.",
        "give the state another name, such as options_done",
    ),
    "a number as the name of a controller": Mistake(
        controller(f"    name = 5\n{STATE}"),
        "Things.name is 5, which cannot be a part of a finalizer.",
        'write name = "things": letters, digits, dashes, dots and underscores, at most 63',
    ),
    "a name with a space": Mistake(
        controller(f"    name = 'my things'\n{STATE}"),
        "Things.name is 'my things', which cannot be a part of a finalizer.",
        'write name = "my-things": letters, digits, dashes, dots and underscores, at most 63',
    ),
    "a field as the filter of a watch": Mistake(
        controller(f"    watches = (Watch(kinds.POD, to=lambda pod: [], when='data'),)\n{STATE}"),
        "a Watch has when='data', which is not a predicate.",
        'write when=changed("data")',
        line=1,
    ),
    "columns as a list": Mistake(
        f'class Other(Resource[ThingSpec, Status], columns=["size"], {RESOURCE}',
        "Other has columns=['size'], which is not a mapping.",
        'write columns={"Image": ".spec.image"}',
    ),
    "a rule as text": Mistake(
        'class Other(Model, rules=["self.a > 0"]):\n    a: int = 0\n',
        "Other has the rule 'self.a > 0', which is not a Rule.",
        'write rules=[Rule("self.a > 0", message="...")]',
    ),
    "a rule of a resource as text": Mistake(
        f'class Other(Resource[ThingSpec, Status], rules=["self.a > 0"], {RESOURCE}',
        "Other has the rule 'self.a > 0', which is not a Rule.",
        'write rules=[Rule("self.a > 0", message="...")]',
    ),
    "one rule without a list": Mistake(
        'class Other(Model, rules=Rule("self.a > 0")):\n    a: int = 0\n',
        "Other has rules=Rule(",
        "write rules=[Rule(...)]",
    ),
    "a marker as the default": Mistake(
        "class Other(Model):\n    a: str = Immutable()\n",
        "Other.a has the marker Immutable() as its default.",
        "write a: Annotated[str, Immutable()]",
    ),
    "a marker without parentheses": Mistake(
        "from typing import Annotated\nclass Other(Model):\n    a: Annotated[str, Immutable] = ''\n",
        "Other.a has the marker Immutable without parentheses, which would have no effect.",
        "write Annotated[..., Immutable(...)]",
        line=1,
    ),
    "a pattern that the server does not know": Mistake(
        "from pydantic import Field\nclass Other(Model):\n    a: str = Field(pattern='(?=a)b')\n",
        "look-around, including look-ahead and look-behind, is not supported",
        "make `python ",
        line=1,
    ),
    "a syntax error": Mistake(
        "class Things(Controller[Thing]:\n    pass\n",
        "SyntaxError: ",
        "make `python ",
    ),
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # as outside pytest, where it is hidden
@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_the_code(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What, where, fix; and no traceback."""
    mistake = MISTAKES[name]
    file = tmp_path / "controller.py"
    file.write_text(HEAD + mistake.code)

    assert main(["graph", str(file)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert mistake.problem in said
    assert f"\n  fix: {mistake.fix}" in said
    assert f"{file}:{FIRST_LINE + mistake.line}" in said
    assert "Traceback" not in said


def test_a_name_that_was_not_imported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the import that is missing."""
    file = tmp_path / "controller.py"
    file.write_text("class Things(Controller): pass\n")
    assert main(["graph", str(file)]) == 2
    assert capsys.readouterr().err == (
        f"error: {file} cannot be imported: NameError: name 'Controller' is not defined ({file}:1).\n"
        "  fix: write `from myrmidon import Controller`\n"
    )


def test_a_name_that_does_not_exist(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the one that was meant."""
    file = tmp_path / "controller.py"
    file.write_text("from myrmidon import Controler\n")
    assert main(["graph", str(file)]) == 2
    assert "  fix: did you mean Controller?\n" in capsys.readouterr().err


def test_a_type_without_a_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The field is named when its schema is asked for."""
    file = tmp_path / "controller.py"
    code = f"class S(Model):\n    at: complex = 1j\nclass X(Resource[S, Status], {RESOURCE}"
    file.write_text(f"{HEAD}{code}class Xs(Controller[X]):\n{STATE}")
    assert main(["generate", "crd", str(file)]) == 2
    assert capsys.readouterr().err == (
        "error: S.at has the type complex, which has no structural schema.\n  fix: use two numbers\n"
    )


def test_two_controllers_of_one_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By default the name is that of the kind."""
    file = tmp_path / "controller.py"
    other = 'class Other(Resource[ThingSpec, Status], kind="Thing", group="other.example.com", version="v1"):'
    file.write_text(
        f"{HEAD}{controller(STATE)}{other} pass\nclass Others(Controller[Other]):\n{STATE}"
    )
    assert main(["run", str(file)]) == 2
    assert capsys.readouterr().err == (
        "error: Others and Things both have the name 'thing'; they would take each other's writes and "
        'finalizers for their own.\n  fix: write name = "..." in one of them\n'
    )


def test_a_controller_that_needs_arguments(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The program `myrmidon` has none to give."""
    file = tmp_path / "controller.py"
    file.write_text(HEAD + controller(f"    def __init__(self, url): self.url = url\n{STATE}"))
    assert main(["run", str(file)]) == 2
    assert capsys.readouterr().err == (
        "error: Things cannot be created without arguments: Things.__init__() missing 1 required "
        "positional argument: 'url'.\n"
        "  fix: give the arguments of __init__ defaults, or run a Manager in your own program\n"
    )
