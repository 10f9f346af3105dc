"""Targets on the command line, and the controllers that they select."""

import sys
from pathlib import Path

import pytest

from myrmidon.cli.targets.loading import folder_of, in_the_image, load, program_folder
from myrmidon.errors import DefinitionError, UsageError
from tests.generate.webapp import Watchers, WebApps

MODULE = "tests.generate.webapp"
SOURCE = Path(__file__).parents[1] / "generate/webapp.py"


@pytest.mark.parametrize(
    ("targets", "names"),
    [
        ([MODULE], ["WebApps", "Watchers"]),
        ([f"{MODULE}:Watchers"], ["Watchers"]),
        ([f"{MODULE}:Watchers,WebApps"], ["Watchers", "WebApps"]),
        ([f"{MODULE}:Watchers", "WebApps"], ["Watchers", "WebApps"]),
        ([MODULE, f"{MODULE}:WebApps"], ["WebApps", "Watchers"]),
    ],
    ids=str,
)
def test_modules_and_names(targets: list[str], names: list[str]) -> None:
    """All of a module, or those named; each once."""
    assert load(targets) == [{"WebApps": WebApps, "Watchers": Watchers}[name] for name in names]


def test_a_folder_with_a_controller(tmp_path: Path) -> None:
    """As in the examples; its own imports work."""
    (tmp_path / "parts.py").write_text("NAME = 'parts'\n")
    (tmp_path / "controller.py").write_text(
        "from parts import NAME\n" + SOURCE.read_text().partition('"""\n')[2]
    )

    assert [each.__name__ for each in load([str(tmp_path)])] == ["WebApps", "Watchers"]
    assert [each.__name__ for each in load([f"{tmp_path}:WebApps"])] == ["WebApps"]
    assert [each.__name__ for each in load([str(tmp_path / "controller.py")])] == [
        "WebApps",
        "Watchers",
    ]
    assert folder_of(str(tmp_path)) == tmp_path
    assert folder_of(MODULE) is None


def test_files_of_a_folder_import_each_other_relatively(tmp_path: Path) -> None:
    """The same file works as part of a package in a test; each folder has its own names."""
    code = SOURCE.read_text().partition('"""\n')[2]
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "parts.py").write_text(f"NAME = {name!r}\n")
        (folder / "controller.py").write_text(
            "from . import parts\nfrom .parts import NAME as ME\n" + code
        )

    first, second = (load([f"{tmp_path / name}:WebApps"])[0] for name in ("one", "two"))
    modules = [sys.modules[each.__module__] for each in (first, second)]
    assert [(one.ME, one.parts.NAME) for one in modules] == [("one", "one"), ("two", "two")]


WRONG = {
    "tests.generate.webap": "the module tests.generate.webap does not exist.\n  fix: did you mean tests.generate.webapp?",
    "tests.generat.webapp": "the module tests.generat does not exist.\n  fix: did you mean tests.generate?",
    "nowhere.at.all": "the module nowhere does not exist.\n  fix: run the command in the folder that holds the module, or install it",
    f"{MODULE}:WebAps": f"{MODULE} has no controller WebAps.\n  fix: did you mean WebApps?",
    f"{MODULE}:Xyz": f"{MODULE} has no controller Xyz.\n  fix: it has WebApps, Watchers",
    f"{MODULE}:WebApp": f"WebApp in {MODULE} is not a controller.\n  fix: name one of WebApps, Watchers",
    "tests.api.apps": "tests.api.apps does not define a controller.\n"
    "  fix: name the module with `class ...(Controller[YourResource])` in it",
    "no/such/folder": "the file no/such/folder does not exist.\n"
    "  fix: give a folder with a controller.py, a file, or a module such as pkg.module:WebApps",
}


@pytest.mark.parametrize("target", WRONG)
def test_a_wrong_target_has_a_fix(target: str) -> None:
    """One sentence and a fix, no traceback."""
    with pytest.raises(UsageError) as error:
        load([target])
    assert str(error.value) == WRONG[target]


def test_a_folder_without_a_controller(tmp_path: Path) -> None:
    """The message says what it contains."""
    (tmp_path / "main.py").write_text("")

    with pytest.raises(UsageError) as error:
        load([str(tmp_path)])
    assert str(error.value) == (
        f"{tmp_path} has no controller.py; its Python files: main.py.\n"
        "  fix: give a folder with a controller.py, a file, or a module such as pkg.module:WebApps"
    )


def test_a_module_that_fails_says_where(tmp_path: Path) -> None:
    """The line that raised, not the line that imported; also the second time."""
    file = tmp_path / "controller.py"
    file.write_text("a = 1\nb = a / 0\n")
    for _ in range(2):
        with pytest.raises(UsageError) as error:
            load([str(file)])
        assert str(error.value) == (
            f"{file} cannot be imported: ZeroDivisionError: division by zero ({file}:2).\n"
            f"  fix: make `python {file}` work"
        )
    file.write_text("import nowhere_at_all\n")
    with pytest.raises(UsageError, match="No module named 'nowhere_at_all'"):
        load([str(file)])


def test_an_error_in_a_definition_keeps_its_message(tmp_path: Path) -> None:
    """It already says what to fix."""
    (tmp_path / "controller.py").write_text(
        "from myrmidon.api import Model, Resource, Status\n"
        "class Spec(Model): pass\n"
        "class Bad(Resource[Spec, Status], version='v1'): pass\n"
    )
    with pytest.raises(DefinitionError, match="Bad is a Resource without group"):
        load([str(tmp_path)])


def project(folder: Path, *packages: str) -> Path:
    """Write a project with these packages, each with a controller, and tests of the same shape."""
    code = SOURCE.read_text().partition('"""\n')[2]
    folder.mkdir(parents=True)
    (folder / "pyproject.toml").write_text("")
    for package in (*packages, "tests"):
        (folder / package).mkdir(parents=True)
        (folder / package / "__init__.py").write_text("")
        (folder / package / "controller.py").write_text(code)
    return folder


@pytest.mark.parametrize("package", ["shop_one", "src/shop_two"])
def test_the_folder_of_a_project(package: str, tmp_path: Path) -> None:
    """Its controller is imported under the name that the tests and the image use."""
    folder = project(tmp_path / "shop", package)
    module = f"{Path(package).name}.controller"

    (found,) = load([f"{folder}:WebApps"])
    assert found.__module__ == module
    assert sys.modules[module].WebApps is found
    for same in (folder, folder / package, folder / package / "controller.py"):
        assert in_the_image(f"{same}:WebApps") == f"{module}:WebApps"
        assert program_folder(f"{same}:WebApps") == folder


def test_projects_of_one_name(tmp_path: Path) -> None:
    """The folder decides, also when a package of the same name was imported from another one."""
    one, two = (project(tmp_path / name, "shop_three") for name in ("one", "two"))
    for folder in (one, two, one):
        (found,) = load([f"{folder}:WebApps"])
        assert Path(str(sys.modules[found.__module__].__file__)).is_relative_to(folder)


def test_a_copy_that_cannot_be_imported_is_not_a_second_program(tmp_path: Path) -> None:
    """Such as a folder that was saved as ``shop_kept.orig`` before a change."""
    folder = project(tmp_path / "shops", "shop_kept", "shop_kept.orig", "shop-kept")
    (found,) = load([f"{folder}:WebApps"])
    assert found.__module__ == "shop_kept.controller"


def test_a_project_with_several_controllers(tmp_path: Path) -> None:
    """The folder does not say which one is meant; one in the folder itself comes first."""
    folder = project(tmp_path / "shops", "one", "two")
    with pytest.raises(UsageError) as error:
        load([str(folder)])
    assert str(error.value) == (
        f"{folder} has several packages with a controller.py: one.controller, two.controller.\n"
        "  fix: name the module: one.controller"
    )

    (folder / "controller.py").write_text(SOURCE.read_text().partition('"""\n')[2])
    assert [each.__name__ for each in load([str(folder)])] == ["WebApps", "Watchers"]


def test_what_an_image_gets_as_its_target(tmp_path: Path) -> None:
    """A module as it is; a folder as the working folder, with the names of its controllers."""
    (tmp_path / "controller.py").write_text("")

    assert in_the_image(MODULE) == MODULE
    assert in_the_image(f"{MODULE}:WebApps") == f"{MODULE}:WebApps"
    assert in_the_image(str(tmp_path)) == "."
    assert in_the_image(f"{tmp_path}:WebApps") == ".:WebApps"
    assert in_the_image("tests/generate/webapp.py") == "tests/generate/webapp.py"
    assert program_folder(MODULE) == Path()
    assert program_folder(str(tmp_path)) == tmp_path
