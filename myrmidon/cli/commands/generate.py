"""Write the manifests that follow from controller classes.

  crd      CustomResourceDefinitions of the resources
  rbac     the ServiceAccount and the smallest roles that suffice
  deploy   namespace, Deployment, Service, webhooks; a Dockerfile, unless the program has one
  all      all of them, with a kustomization.yaml
  helm     the same manifests as a Helm chart; needs -o DIR
  bundle   the same manifests as a bundle for the Operator Lifecycle Manager; needs -o DIR

  myrmidon generate crd examples/web_app | kubectl apply -f -
  myrmidon generate all examples/web_app -o deploy --image registry/web-app:1
  myrmidon generate all examples/web_app -o deploy --check

Without -o the manifests are printed. -o DIR writes one file per manifest, -o FILE.yaml writes them all
into that file.  With --check nothing is written, and the command fails if a file is out of date.
"""

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from myrmidon.api.objects import kinds
from myrmidon.api.typed.object_types import is_defined_here
from myrmidon.api.typed.resource import Resource
from myrmidon.cli.arguments.files import write_file
from myrmidon.cli.arguments.parser import count
from myrmidon.cli.progress import doing
from myrmidon.cli.scaffold.requirements import exact_requirement
from myrmidon.cli.targets.loading import (
    in_the_image,
    load,
    load_admissions,
    load_definitions,
    program_folder,
)
from myrmidon.cli.targets.projects import PYPROJECT
from myrmidon.errors import UsageError
from myrmidon.fsm.controller import Controller
from myrmidon.fsm.remote_clusters import clusters_of
from myrmidon.generate import Packaging, chart, files
from myrmidon.generate.manifests.image import ImageSource
from myrmidon.generate.manifests.layout import defined_resources
from myrmidon.generate.manifests.olm import bundle
from myrmidon.generate.schema.definitions import has_conversion
from myrmidon.generate.schema.python_only import python_only
from myrmidon.webhooks.admission.rules import Admission
from myrmidon.webhooks.admission.webhooks import Webhook, declared_subjects, webhooks_of

_SUFFIXES = (".yaml", ".yml")
_CRD_FOLDERS = ("crd", "templates/crd", "manifests")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "what", choices=("crd", "rbac", "deploy", "all", "helm", "bundle"), help="which manifests"
    )
    parser.add_argument(
        "target", nargs="+", help="pkg.module[:Controller], or a folder with a controller.py"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="DIR|FILE", help="write files there, or one file"
    )
    parser.add_argument(
        "--check", action="store_true", help="fail if the files in DIR (default .) are out of date"
    )
    parser.add_argument(
        "--name", help="name of the program (default: the name of its first controller)"
    )
    parser.add_argument("--namespace", help="namespace in which it runs (default: NAME-system)")
    parser.add_argument("--image", help="container image (default: NAME:latest)")
    _add_program_arguments(parser)
    parser.add_argument(
        "--cluster",
        default="",
        metavar="NAME",
        help="with rbac: what the controllers need on this remote cluster, to be applied there",
    )
    parser.add_argument(
        "--bundle-version",
        default="0.1.0",
        metavar="V",
        help="with bundle: the version of the program, such as 1.2.3 (default 0.1.0)",
    )


def _add_program_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments that decide how the deployed program runs."""
    parser.add_argument(
        "--metrics-auth",
        action="store_true",
        help="serve metrics only to those who may get /metrics, with the roles for that",
    )
    parser.add_argument(
        "--webhook-certs",
        choices=("managed", "cert-manager"),
        default="managed",
        help="who makes the certificate of the webhooks: the program (default), or cert-manager",
    )
    parser.add_argument(
        "--install-crds",
        action="store_true",
        help="let the program install its definitions itself, with the role for that",
    )
    parser.add_argument(
        "--migrate-storage",
        action="store_true",
        help="let the program write all objects in the storage version, with the role for that",
    )
    parser.add_argument(
        "--replicas",
        type=count,
        default=1,
        help="number of replicas, of which one leads (default 1)",
    )
    parser.add_argument(
        "--shards",
        action="store_true",
        help="let all replicas work, each on its share of the objects (run --shards auto)",
    )


def run(args: argparse.Namespace) -> int:
    """Print, write or compare."""
    resources: list[type[Resource[Any, Any]]] = []
    if args.what == "crd":
        controllers, resources = load_definitions(args.target)
    else:
        controllers = load(args.target)
    admissions = load_admissions(args.target)
    doing(f"generating {args.what}")
    name = args.name or (controllers[0].name if controllers else "types")
    webhooks = _webhooks(controllers, admissions, resources)
    converts = any(map(has_conversion, (*defined_resources(controllers), *resources)))
    makes_certificates = bool(webhooks or converts) and args.webhook_certs == "managed"
    packaging = Packaging(
        name=name,
        namespace=args.namespace or f"{name}-system",
        image=args.image or f"{name}:latest",
        target=tuple(map(in_the_image, args.target)),
        replicas=args.replicas,
        shards=args.shards,
        metrics_auth=args.metrics_auth,
        install_crds=args.install_crds,
        migrate_storage=args.migrate_storage,
        cluster=_cluster(args, controllers),
        webhooks=webhooks,
        converts=converts,
        webhook_certificates=args.webhook_certs,
        admissions=tuple(admissions),
        image_source=_image_source(args.target[0], extra="webhooks" * makes_certificates),
    )
    folder: Path | None = args.output
    _check_is_yaml(folder)
    if args.what == "helm":
        _check_is_folder(folder)
        made = chart(controllers, packaging)
    elif args.what == "bundle":
        _check_is_folder(folder)
        _check_version(args.bundle_version)
        # Imported here: the samples are read by the test kit, which the other manifests do not need.
        from myrmidon.cli.targets.samples import samples_of  # noqa: PLC0415

        samples = samples_of(controllers, args.target)
        made = bundle(controllers, packaging, args.bundle_version, samples)
    else:
        made = files(args.what, controllers, packaging, resources)
    if args.what in ("crd", "all", "helm", "bundle"):
        for line in (*_defined_elsewhere(controllers), *_python_only(controllers, resources)):
            print(line, file=sys.stderr)
    if folder is not None and folder.suffix in _SUFFIXES:
        made, folder = {folder.name: _joined(made)} if made else {}, folder.parent
    if args.check:
        return _check(made, folder or Path(), args)
    if folder is None:
        print(_joined(made), end="")
        return 0
    for path, text in made.items():
        _write(folder / path, text)
    return 0


def _check_is_yaml(output: Path | None) -> None:
    if output is not None and output.suffix == ".json":
        raise UsageError(
            f"the manifests are YAML, and -o {output} asks for JSON.\n"
            f"  fix: write -o {output.with_suffix('.yaml')}, or the name of a folder"
        )


def _cluster(args: argparse.Namespace, controllers: Sequence[type[Controller[Any]]]) -> str:
    """The remote cluster of --cluster; raise if no controller uses one of that name."""
    if not args.cluster:
        return ""
    known = sorted({name for one in controllers for name in clusters_of(one)})
    if args.what != "rbac":
        raise UsageError(
            f"--cluster has no effect on {args.what}.\n  fix: `myrmidon generate rbac --cluster ...`"
        )
    if not known:
        raise UsageError(
            f"no controller uses the cluster {args.cluster!r}, nor any other remote cluster.\n"
            "  fix: leave out --cluster"
        )
    if args.cluster not in known:
        listed = ", ".join(known)
        raise UsageError(
            f"no controller uses the cluster {args.cluster!r} (they use: {listed}).\n"
            "  fix: use one of these names"
        )
    return str(args.cluster)


def _image_source(target: str, extra: str = "") -> ImageSource | None:
    """Return what the folder of the program has to build an image from; None if it has a Dockerfile.

    ``extra``: what the program needs of myrmidon beyond the package itself.
    """
    folder = program_folder(target)
    if (folder / "Dockerfile").is_file():
        return None
    return ImageSource(
        is_project=(folder / PYPROJECT).is_file(),
        is_locked=(folder / "requirements.txt").is_file(),
        myrmidon=exact_requirement(extra),
    )


def _check_is_folder(output: Path | None) -> None:
    if output is None or output.suffix in _SUFFIXES:
        raise UsageError(
            "a Helm chart or a bundle is a folder of files, not one text.\n  fix: name the folder: -o charts/NAME"
        )


def _check_version(version: str) -> None:
    if not re.fullmatch(r"\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?", version):
        raise UsageError(
            f"--bundle-version {version!r} is not a version that OLM can compare.\n  fix: write it as 1.2.3"
        )


def _defined_elsewhere(controllers: Sequence[type[Controller[Any]]]) -> list[str]:
    """Return a line for each controlled kind that needs no definition from this program."""
    return [
        f"no definition for {one.kind()}: "
        + ("it is built in" if one.kind() in kinds.ALL else "another project defines it")
        for one in controllers
        if not is_defined_here(one.resource)
    ]


def _webhooks(
    controllers: Sequence[type[Controller[Any]]],
    admissions: Sequence[type[Admission[Any]]],
    resources: Sequence[type[Resource[Any, Any]]],
) -> tuple[Webhook, ...]:
    subjects = [*declared_subjects(controllers), *admissions, *resources]
    return tuple(each for subject in subjects for each in webhooks_of(subject))


def _python_only(
    controllers: Sequence[type[Controller[Any]]], resources: Sequence[type[Resource[Any, Any]]]
) -> list[str]:
    """Return a line for each kind that has validators which the API server cannot run."""
    return [
        f"{resource.__name__}: the server does not run {', '.join(found)}, which is Python only; "
        "write a Rule, or add a method with @validates, whose webhook runs it"
        for resource in (*defined_resources(controllers), *resources)
        if (found := python_only(resource))
    ]


def _joined(made: dict[str, str]) -> str:
    """All manifests as one text."""
    return "---\n".join(text for path, text in made.items() if path.endswith(_SUFFIXES))


def _write(path: Path, text: str) -> None:
    if path.is_file() and path.read_text() == text:
        return
    write_file(path, text)
    print(f"wrote {path}")


def _check(made: dict[str, str], folder: Path, args: argparse.Namespace) -> int:
    outdated = [_difference(folder / path, text) for path, text in made.items()]
    outdated += [f"{path} is not generated any more" for path in _leftover(folder, made)]
    for line in filter(None, outdated):
        print(line, file=sys.stderr)
    if not any(outdated):
        return 0
    command = f"myrmidon generate {args.what} {' '.join(args.target)} -o {args.output or folder}"
    print(f"  fix: run `{command}` and commit what it writes", file=sys.stderr)
    return 1


def _difference(path: Path, text: str) -> str:
    if not path.is_file():
        return f"{path} is missing"
    return "" if path.read_text() == text else f"{path} is out of date"


def _leftover(folder: Path, made: dict[str, str]) -> list[Path]:
    """Return files with definitions of kinds that no longer exist; other files are left alone."""
    return [
        path
        for kept in _CRD_FOLDERS
        if any(each.startswith(f"{kept}/") for each in made)
        for path in sorted((folder / kept).glob("*.yaml"))
        if f"{kept}/{path.name}" not in made and _is_crd(path)
    ]


def _is_crd(path: Path) -> bool:
    return re.search(r"(?m)^kind: CustomResourceDefinition$", path.read_text()) is not None
