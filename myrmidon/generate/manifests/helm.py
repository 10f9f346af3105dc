"""A Helm chart, made from the manifests of ``generate all``.

There is one source of the manifests (``layout``, ``deploy``, ``rbac``, ``definitions``); nothing about
them is written again here.  A template is made in three steps:

1. Some values of a manifest (image, replicas, resources, namespace, ...) are replaced by placeholders,
   plain words that YAML does not quote.  Their former values become the defaults in values.yaml.
2. The manifest is written as YAML.  ``{{`` in it, for example in the description of a field, is
   escaped, so that Helm prints it as it is.
3. Each line that ends in a placeholder is replaced by the template expression for that value, at the
   indentation of the line.  Files that belong to an option are put inside ``if``.

The chart rendered with its default values is ``generate all``, manifest by manifest, with two
exceptions.  The Namespace is left out (``createNamespace: false``): Helm keeps its release there, so
the namespace must exist before.  The definitions are annotated so that ``helm uninstall`` keeps them
(``keepCRDs: true``): deleting a definition deletes every object of its kind.

The names of the objects do not depend on the name of the release.  Definitions and ClusterRoles are
cluster-wide, so a controller is installed once per cluster.
"""

import re
from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import replace
from inspect import cleandoc
from typing import Any, TypeAlias

from myrmidon.api.objects.accessors import Json
from myrmidon.generate.manifests import deploy, layout
from myrmidon.generate.manifests.layout import Controllers
from myrmidon.generate.manifests.packaging import Packaging
from myrmidon.generate.manifests.yaml import to_yaml

Expand: TypeAlias = Callable[[str, str], str]
"""The indentation of a line and its text before the placeholder, to the lines of the template."""

_NAMESPACE = "helm-release-namespace"
_CRD_FOLDER = "crd/"
_CONDITIONS = {
    layout.NAMESPACE: ".Values.createNamespace",
    layout.METRICS_SERVICE: ".Values.metrics.enabled",
    layout.METRICS_AUTH: ".Values.metrics.auth",
    layout.SERVICE_MONITOR: "and .Values.metrics.enabled .Values.serviceMonitor.enabled",
    layout.PROMETHEUS_RULE: "and .Values.metrics.enabled .Values.prometheusRule.enabled",
}
_IMAGE = re.compile(r"(?P<repository>[^@]+?)(?::(?P<tag>[^:/@]+))?(?:@(?P<digest>.+))?")
_KEEP = "helm.sh/resource-policy"
_MONITOR_COMMENT = """\
A ServiceMonitor, for clusters with the Prometheus operator. With metrics.auth, Prometheus sends the
# token of its own ServiceAccount, or that of the Secret `tokenSecret: {{name: NAME, key: KEY}}`; bind
# the ClusterRole {name}-metrics-reader to the account of the token."""


def chart(controllers: Controllers, packaging: Packaging) -> dict[str, str]:
    """Return the files of the chart, by path."""
    placed = replace(packaging, namespace=_NAMESPACE, metrics_auth=True)
    manifests = layout.manifest_files("all", controllers, placed)
    manifests |= layout.monitoring_files(placed)
    return {
        "Chart.yaml": _chart_yaml(controllers, packaging),
        "values.yaml": _values(packaging),
        **{f"templates/{path}": _template(path, each) for path, each in manifests.items()},
        "templates/NOTES.txt": _notes(controllers, packaging),
    }


# ---------------------------------------------------------------------------- templates


def _template(path: str, manifests: Iterable[Json]) -> str:
    places: dict[str, Expand] = {_NAMESPACE: _inline("{{ .Release.Namespace | quote }}")}
    made = [deepcopy(manifest) for manifest in manifests]
    condition = _CONDITIONS.get(path, "")
    if path == layout.DEPLOYMENT:
        places |= _open_deployment(made[0])
    elif path == layout.SERVICE_MONITOR:
        places |= _open_monitor(made[0])
    elif path == layout.PROMETHEUS_RULE:
        places |= _open_labels(made[0], "prometheusRule")
    elif path.startswith(_CRD_FOLDER):
        places |= _open_definition(made[0])
        condition = ".Values.installCRDs"
    text = _expanded(_literal(to_yaml(made)), places)
    return f"{{{{- if {condition} }}}}\n{text}{{{{- end }}}}\n" if condition else text


def _literal(text: str) -> str:
    """Escape a text so that Helm prints it as it is."""
    return text.replace("{{", '{{ "{{" }}')


def _open_deployment(made: Json) -> dict[str, Expand]:
    """Put placeholders into the Deployment; return what to write for each of them."""
    pod = made["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    made["spec"]["replicas"] = "helm-replicas"
    container["image"] = "helm-image"
    container["resources"] = "helm-resources"
    container["imagePullPolicy"] = "helm-pull-policy"
    container["env"] = "helm-env"
    for key in ("affinity", "imagePullSecrets", "nodeSelector", "tolerations"):
        pod[key] = f"helm-{key}"
    container["args"] = [_open_argument(one) for one in container["args"]] + ["helm-extra-args"]
    return {
        "helm-replicas": _inline("{{ .Values.replicas }}"),
        "helm-image": _inline(
            '"{{ .Values.image.repository }}{{ with .Values.image.tag }}:{{ . }}{{ end }}'
            '{{ with .Values.image.digest }}@{{ . }}{{ end }}"'
        ),
        "helm-resources": _block("resources"),
        "helm-pull-policy": _unless_empty("image.pullPolicy", inline=True),
        "helm-env": _unless_empty("env"),
        **{
            f"helm-{key}": _unless_empty(key)
            for key in ("affinity", "imagePullSecrets", "nodeSelector", "tolerations")
        },
        "helm-metrics-auth": _if("metrics.auth", "--metrics-auth"),
        "helm-metrics-addr": _inline(
            f"--metrics-addr={{{{ if .Values.metrics.enabled }}}}:{deploy.METRICS_PORT}{{{{ end }}}}"
        ),
        "helm-extra-args": _items("extraArgs"),
    }


def _open_argument(argument: str) -> str:
    if argument == "--metrics-auth":
        return "helm-metrics-auth"
    return "helm-metrics-addr" if argument.startswith("--metrics-addr=") else argument


def _open_monitor(made: Json) -> dict[str, Expand]:
    (endpoint,) = made["spec"]["endpoints"]
    del endpoint["bearerTokenFile"]
    # The key zz is the last one in its map: a line of its own, after the others.
    endpoint |= {"interval": "helm-interval", "zz": "helm-monitor-token"}
    return {
        "helm-interval": _inline("{{ .Values.serviceMonitor.interval | quote }}"),
        "helm-monitor-token": _monitor_token,
        **_open_labels(made, "serviceMonitor"),
    }


def _open_labels(made: Json, values: str) -> dict[str, Expand]:
    """Add the labels of a value, by which the Prometheus operator selects the object."""
    made["metadata"]["labels"]["zz"] = "helm-labels"  # a line of its own, after the labels
    return {"helm-labels": _items(f"{values}.labels")}


def _monitor_token(indent: str, _lead: str) -> str:
    """Write how Prometheus authenticates: with a Secret, or with the token of its own account."""
    return "\n".join(
        f"{indent}{line}"
        for line in (
            "{{- if .Values.metrics.auth }}",
            "{{- with .Values.serviceMonitor.tokenSecret }}",
            "authorization:",
            "  credentials:",
            f"    {{{{- toYaml . | nindent {len(indent) + 4} }}}}",
            "{{- else }}",
            f"bearerTokenFile: {deploy.SERVICE_ACCOUNT_TOKEN}",
            "{{- end }}",
            "{{- end }}",
        )
    )


def _open_definition(made: Json) -> dict[str, Expand]:
    made["metadata"]["annotations"] = "helm-keep"

    def kept(indent: str, lead: str) -> str:
        return (
            f"{indent}{{{{- if .Values.keepCRDs }}}}\n{indent}{lead.rstrip()}\n"
            f"{indent}  {_KEEP}: keep\n{indent}{{{{- end }}}}"
        )

    return {"helm-keep": kept}


# -------------------------------------------------------------------------- expansions


def _expanded(text: str, places: dict[str, Expand]) -> str:
    """Replace the lines that end in a placeholder."""
    lines = []
    for line in text.removesuffix("\n").split("\n"):  # splitlines() also splits inside texts
        lead, _, last = line.rpartition(" ")
        if last in places:
            bare = lead.lstrip(" ")
            line = places[last](lead[: len(lead) - len(bare)], f"{bare} ")  # noqa: PLW2901 - the line of the template
        elif _NAMESPACE in last:  # a part of a name, as in NAME.NAMESPACE.svc
            placed = last.replace(_NAMESPACE, "{{ .Release.Namespace }}")
            line = f'{lead} "{placed}"'  # noqa: PLW2901 - the line of the template
        lines.append(line)
    return "\n".join(lines) + "\n"


def _inline(expression: str) -> Expand:
    """Write the expression where the value was."""
    return lambda indent, lead: f"{indent}{lead}{expression}"


def _block(value: str) -> Expand:
    """Write a value that may be a map or a list below its key."""
    return lambda indent, lead: (
        f"{indent}{lead.rstrip()}\n{indent}  {{{{- toYaml .Values.{value} | nindent {len(indent) + 2} }}}}"
    )


def _unless_empty(value: str, *, inline: bool = False) -> Expand:
    """Write the key and the value, nothing if the value is empty."""

    def expand(indent: str, lead: str) -> str:
        inner = (
            f"{indent}{lead}{{{{ . }}}}"
            if inline
            else f"{indent}{lead.rstrip()}\n{indent}  {{{{- toYaml . | nindent {len(indent) + 2} }}}}"
        )
        return f"{indent}{{{{- with .Values.{value} }}}}\n{inner}\n{indent}{{{{- end }}}}"

    return expand


def _items(value: str) -> Expand:
    """Write further items of the list or map that the placeholder is the last item of."""
    return lambda indent, _lead: (
        f"{indent}{{{{- with .Values.{value} }}}}\n"
        f"{indent}{{{{- toYaml . | nindent {len(indent)} }}}}\n{indent}{{{{- end }}}}"
    )


def _if(value: str, text: str) -> Expand:
    """Write an item of a list if the value is true."""
    return lambda indent, lead: (
        f"{indent}{{{{- if .Values.{value} }}}}\n{indent}{lead}{text}\n{indent}{{{{- end }}}}"
    )


# ------------------------------------------------------------------------- other files


def _chart_yaml(controllers: Controllers, packaging: Packaging) -> str:
    first = cleandoc(controllers[0].__doc__ or "").partition("\n")[0]
    tag = _image(packaging)["tag"]
    made: Json = {
        "apiVersion": "v2",
        "name": packaging.name,
        "description": first or f"The controller {packaging.name}",
        "type": "application",
        "version": "0.1.0",
        "appVersion": tag or "0.1.0",
    }
    return to_yaml(made)


def _values(packaging: Packaging) -> str:
    """Write values.yaml: what the manifests have, and an empty value for each further option."""
    made = deploy.deployment(packaging)
    (container,) = made["spec"]["template"]["spec"]["containers"]
    (endpoint,) = deploy.service_monitor(packaging)["spec"]["endpoints"]
    sections: list[tuple[str, Json]] = [
        ("The image is repository[:tag][@digest].", {"image": _image(packaging)}),
        ("Secrets with which a private registry is read.", {"imagePullSecrets": []}),
        (
            "More than one replica shortens failover; one of them leads.",
            {"replicas": made["spec"]["replicas"]},
        ),
        ("What the container may use.", {"resources": container["resources"]}),
        ("Where the pods run.", {"nodeSelector": {}, "tolerations": [], "affinity": {}}),
        ("Further environment variables of the container.", {"env": []}),
        (
            "Further arguments of `myrmidon run`, for example --log-level=debug.",
            {"extraArgs": []},
        ),
        (
            f"Port {deploy.METRICS_PORT}; with auth, only for bearer tokens that may get /metrics.",
            {"metrics": {"enabled": True, "auth": packaging.metrics_auth}},
        ),
        (
            _MONITOR_COMMENT.format(name=packaging.name),
            {
                "serviceMonitor": {
                    "enabled": False,
                    "interval": endpoint["interval"],
                    "labels": {},
                    "tokenSecret": {},
                }
            },
        ),
        (
            "A PrometheusRule with alerts, for clusters with the Prometheus operator.",
            {"prometheusRule": {"enabled": False, "labels": {}}},
        ),
        ("Install and upgrade the CustomResourceDefinitions.", {"installCRDs": True}),
        (
            "Keep them on `helm uninstall`: deleting one deletes every object of its kind.",
            {"keepCRDs": True},
        ),
        (
            "Only for `helm template`; `helm install` needs a namespace that exists, or --create-namespace.",
            {"createNamespace": False},
        ),
    ]
    return "\n".join(f"# {comment}\n{to_yaml(values)}" for comment, values in sections)


def _image(packaging: Packaging) -> dict[str, Any]:
    found = _IMAGE.fullmatch(packaging.image)
    parts = found.groupdict("") if found else {"repository": packaging.image}
    return {"repository": "", "tag": "", "digest": "", **parts, "pullPolicy": ""}


def _notes(controllers: Controllers, packaging: Packaging) -> str:
    kinds = ", ".join(dict.fromkeys(str(controller.kind()) for controller in controllers))
    return f"""\
{packaging.name} reconciles {kinds}.

It is ready when its Deployment is:

  kubectl --namespace {{{{ .Release.Namespace }}}} rollout status deployment/{packaging.name}

Why an object is not Ready:

  kubectl describe the object, or: myrmidon explain TARGET NAME
{{{{- if and .Values.installCRDs .Values.keepCRDs }}}}

`helm uninstall` keeps the CustomResourceDefinitions, and with them all objects of these kinds.
{{{{- end }}}}
"""
