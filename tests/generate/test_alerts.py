"""The PrometheusRule has the alerts that the documentation lists, in Prometheus' own language."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from prometheus_client import CollectorRegistry

from myrmidon.generate import Packaging
from myrmidon.generate.manifests.alerts import ALERTS, prometheus_rule
from myrmidon.runtime.metrics.families import Metrics

ROOT = Path(__file__).parents[2]
PACKAGING = Packaging(name="shop", namespace="shop-system", image="shop:1", target=("shop",))
PROMTOOL = shutil.which("promtool")


def test_the_alerts_are_those_of_the_documentation() -> None:
    """Each row of the table is an alert, and each alert is a row."""
    page = (ROOT / "docs/how-to/operate.md").read_text()
    table = page.partition("| symptom | query |")[2].partition("\n\n")[0]
    documented = re.findall(r"(?m)^\| [^|]+ \| `([^`]+)`", table)

    assert documented == [
        alert.expression.replace("{%s}", "").replace("{%s,", "{") for alert in ALERTS
    ]


def test_every_alert_asks_for_a_metric_that_exists() -> None:
    """Of this program only."""
    exported = {family.name for family in Metrics(CollectorRegistry()).registry.collect()}
    for rule in prometheus_rule(PACKAGING)["spec"]["groups"][0]["rules"]:
        (metric, labels) = re.findall(r"([a-z_]+)\{([^}]*)\}", rule["expr"])[0]
        assert metric.removesuffix("_bucket").removesuffix("_total") in exported, metric
        assert labels.split(",")[0] == 'job="shop-metrics"'


def test_names_are_unique() -> None:
    """An alert is silenced by its name."""
    assert len({alert.name for alert in ALERTS}) == len(ALERTS)


@pytest.mark.skipif(PROMTOOL is None, reason="promtool (Debian: prometheus) is not on PATH")
def test_prometheus_accepts_the_rules(tmp_path: Path) -> None:
    """The expressions parse; promtool reads the groups without the Kubernetes object around them."""
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(prometheus_rule(PACKAGING)["spec"]))
    checked = subprocess.run(
        [str(PROMTOOL), "check", "rules", "rules.yaml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert checked.returncode == 0, checked.stderr
    assert f"{len(ALERTS)} rules found" in checked.stdout
