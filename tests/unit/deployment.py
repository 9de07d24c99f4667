"""The compose file and the Kubernetes objects as the tests read them."""

from dataclasses import fields
from pathlib import Path

import yaml

from service.settings import Settings

ROOT = Path(__file__).parents[2]
KUBERNETES = ROOT / "config/kubernetes"


def objects() -> dict[str, dict]:
    """Every Kubernetes object by its kind."""
    found = [
        document
        for file in sorted(KUBERNETES.glob("*.yaml"))
        for document in yaml.safe_load_all(file.read_text(encoding="utf-8"))
    ]
    by_kind = {document["kind"]: document for document in found}
    assert len(by_kind) == len(found)
    return by_kind


def compose() -> dict:
    return yaml.safe_load((ROOT / "config/compose.yaml").read_text(encoding="utf-8"))


def variables() -> set[str]:
    """The names of the service's variables."""
    names = {field.name.upper() for field in fields(Settings)} - {"METRICS_PATH"}
    return names | {"PROMETHEUS_MULTIPROC_DIR", "REDIS_URL_FILE", "DATABASE_URL_FILE"}


def container(kind: str = "Deployment") -> dict:
    """The only container of an object's pods."""
    [found] = objects()[kind]["spec"]["template"]["spec"]["containers"]
    return found


def environments() -> dict[str, dict[str, str]]:
    """The variables that each place sets for the service."""
    found = {
        name: service["environment"] for name, service in compose()["services"].items() if "build" in service
    }
    found["ConfigMap"] = objects()["ConfigMap"]["data"]
    found["Job"] = {each["name"]: each["value"] for each in container("Job")["env"]}
    return found
