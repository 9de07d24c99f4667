"""The gateway, compose and Kubernetes files: of the right shape, and agreeing with the service they run.

The schemas are our own and small: those parts of the published ones that these files use, closed against
misspelt names (Compose Specification; Kubernetes API reference, apps/v1, v1, networking.k8s.io/v1, policy/v1,
autoscaling/v2).
"""

import re
from dataclasses import fields
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from service.settings import Settings, read_settings
from service.version import VERSION

ROOT = Path(__file__).parents[2]
KUBERNETES = ROOT / "config/kubernetes"
TEXT, COUNT, ANY = {"type": "string"}, {"type": "integer", "minimum": 0}, {}
YES, NO = {"const": True}, {"const": False}


def an_object(required: dict, **optional) -> dict:
    """An object with these fields and no others."""
    properties = {**required, **optional}
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def a_list(items: dict) -> dict:
    return {"type": "array", "items": items, "minItems": 1}


LABELS = {"type": "object", "additionalProperties": TEXT, "minProperties": 1}
QUANTITY = {"type": "string", "pattern": r"^[0-9]+(m|Mi|Gi)?$"}
AMOUNTS = an_object({}, cpu=QUANTITY, memory=QUANTITY)
METADATA = an_object({"name": TEXT}, labels=LABELS)
SELECTOR = an_object({"matchLabels": LABELS})
PROBE = an_object(
    {"httpGet": an_object({"path": TEXT, "port": {"const": "http"}}), "periodSeconds": COUNT},
    timeoutSeconds=COUNT,
    failureThreshold=COUNT,
)
CONTAINER = an_object(
    {
        "name": TEXT,
        "image": TEXT,
        "ports": a_list(an_object({"name": TEXT, "containerPort": COUNT})),
        "resources": an_object({"requests": {**AMOUNTS, "required": ["cpu", "memory"]}, "limits": AMOUNTS}),
        "securityContext": an_object(
            {
                "readOnlyRootFilesystem": YES,
                "allowPrivilegeEscalation": NO,
                "capabilities": an_object({"drop": {"const": ["ALL"]}}),
            }
        ),
        "startupProbe": PROBE,
        "livenessProbe": PROBE,
        "readinessProbe": PROBE,
    },
    envFrom=a_list(an_object({"configMapRef": an_object({"name": TEXT})})),
    volumeMounts=a_list(an_object({"name": TEXT, "mountPath": TEXT})),
    lifecycle=an_object({"preStop": an_object({"exec": an_object({"command": a_list(TEXT)})})}),
)
POD = an_object(
    {
        "automountServiceAccountToken": NO,
        "securityContext": an_object(
            {"runAsNonRoot": YES, "runAsUser": COUNT, "runAsGroup": COUNT, "seccompProfile": ANY}
        ),
        "containers": a_list(CONTAINER),
        "terminationGracePeriodSeconds": COUNT,
    },
    enableServiceLinks=NO,
    topologySpreadConstraints=a_list(
        an_object(
            {"maxSkew": COUNT, "topologyKey": TEXT, "whenUnsatisfiable": TEXT, "labelSelector": SELECTOR}
        )
    ),
    volumes=a_list(an_object({"name": TEXT, "emptyDir": an_object({}, medium=TEXT, sizeLimit=QUANTITY)})),
)
BACKEND = an_object({"service": an_object({"name": TEXT, "port": an_object({"name": TEXT})})})
PATH = an_object({"path": TEXT, "pathType": {"enum": ["Prefix", "Exact"]}, "backend": BACKEND})
RULE = an_object({"host": TEXT, "http": an_object({"paths": a_list(PATH)})})
METRIC = an_object(
    {
        "type": {"const": "Resource"},
        "resource": an_object(
            {
                "name": {"enum": ["cpu", "memory"]},
                "target": an_object({"type": {"const": "Utilization"}, "averageUtilization": COUNT}),
            }
        ),
    }
)
SPECS = {
    ("apps/v1", "Deployment"): an_object(
        {
            "selector": SELECTOR,
            "strategy": ANY,
            "template": an_object({"metadata": an_object({"labels": LABELS}), "spec": POD}),
        }
    ),
    ("v1", "Service"): an_object(
        {
            "selector": LABELS,
            "ports": a_list(an_object({"name": TEXT, "port": COUNT, "targetPort": {"const": "http"}})),
        }
    ),
    ("networking.k8s.io/v1", "Ingress"): an_object(
        {"tls": a_list(an_object({"hosts": a_list(TEXT), "secretName": TEXT})), "rules": a_list(RULE)}
    ),
    ("policy/v1", "PodDisruptionBudget"): an_object({"minAvailable": COUNT, "selector": SELECTOR}),
    ("autoscaling/v2", "HorizontalPodAutoscaler"): an_object(
        {
            "scaleTargetRef": an_object({"apiVersion": TEXT, "kind": TEXT, "name": TEXT}),
            "minReplicas": {"type": "integer", "minimum": 2},
            "maxReplicas": COUNT,
            "metrics": a_list(METRIC),
        },
        behavior=ANY,
    ),
}
CONDITION = an_object({"condition": {"enum": ["service_started", "service_healthy"]}})
COMPOSE_SERVICE = an_object(
    {
        "image": TEXT,
        "read_only": YES,
        "cap_drop": {"const": ["ALL"]},
        "security_opt": {"const": ["no-new-privileges:true"]},
        "restart": TEXT,
    },
    build=an_object({"context": TEXT}),
    command=a_list(TEXT),
    volumes=a_list(TEXT),
    ports=a_list(TEXT),
    user=TEXT,
    tmpfs=a_list(TEXT),
    environment={"type": "object", "additionalProperties": TEXT},
    depends_on={"type": "object", "additionalProperties": CONDITION},
    healthcheck=an_object({"test": a_list(TEXT)}, interval=TEXT, timeout=TEXT, retries=COUNT),
    deploy=an_object({"resources": an_object({"limits": an_object({}, cpus=TEXT, memory=TEXT)})}),
    stop_grace_period=TEXT,
)
COMPOSE = an_object({"services": {"type": "object", "additionalProperties": COMPOSE_SERVICE}}, name=TEXT)


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
    return names | {"PROMETHEUS_MULTIPROC_DIR"}


@pytest.mark.parametrize("kind", sorted({kind for _, kind in SPECS} | {"ConfigMap"}))
def test_a_kubernetes_object_has_the_right_shape(kind):
    """Each object is of a known version, and holds no field that Kubernetes would not know."""
    document = objects()[kind]
    head = {"apiVersion": TEXT, "kind": TEXT, "metadata": METADATA}
    if kind == "ConfigMap":
        schema = an_object({**head, "data": {"type": "object", "additionalProperties": TEXT}})
    else:
        schema = an_object({**head, "spec": SPECS[document["apiVersion"], kind]})
    Draft202012Validator(schema).validate(document)


def test_the_schemas_refuse_a_misspelt_field():
    """A check that accepts anything checks nothing."""
    document = objects()["Deployment"]
    document["spec"]["template"]["spec"]["containers"][0]["readynessProbe"] = {}
    assert not Draft202012Validator(SPECS["apps/v1", "Deployment"]).is_valid(document["spec"])
    services = compose()
    services["services"]["cache"]["comand"] = ["x"]
    assert not Draft202012Validator(COMPOSE).is_valid(services)


def test_kubernetes_objects_find_each_other():
    """Selectors, names and ports of the objects agree."""
    found = objects()
    labels = found["Deployment"]["spec"]["template"]["metadata"]["labels"]
    for kind in ("Deployment", "PodDisruptionBudget"):
        assert found[kind]["spec"]["selector"]["matchLabels"] == labels
    assert found["Service"]["spec"]["selector"] == labels
    target = found["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]
    assert (target["kind"], target["name"]) == ("Deployment", found["Deployment"]["metadata"]["name"])
    [path] = found["Ingress"]["spec"]["rules"][0]["http"]["paths"]
    assert path["backend"]["service"]["name"] == found["Service"]["metadata"]["name"]
    assert path["backend"]["service"]["port"]["name"] == found["Service"]["spec"]["ports"][0]["name"]
    [container] = found["Deployment"]["spec"]["template"]["spec"]["containers"]
    assert container["envFrom"][0]["configMapRef"]["name"] == found["ConfigMap"]["metadata"]["name"]
    assert str(container["ports"][0]["containerPort"]) == found["ConfigMap"]["data"]["PORT"]


def test_a_pod_may_finish_its_requests():
    """The grace period covers the pause before SIGTERM and the time that workers get after it."""
    pod = objects()["Deployment"]["spec"]["template"]["spec"]
    pause = int(pod["containers"][0]["lifecycle"]["preStop"]["exec"]["command"][1])
    graceful = int(objects()["ConfigMap"]["data"]["GRACEFUL_TIMEOUT_SECONDS"])
    assert pod["terminationGracePeriodSeconds"] > pause + graceful
    service = compose()["services"]["service-1"]
    assert int(service["stop_grace_period"].rstrip("s")) > int(
        service["environment"]["GRACEFUL_TIMEOUT_SECONDS"]
    )


def test_probes_are_addresses_of_the_service(client):
    """Every probe of the files is answered with 200."""
    [container] = objects()["Deployment"]["spec"]["template"]["spec"]["containers"]
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert client.get(container[probe]["httpGet"]["path"]).status_code == 200


def test_the_compose_file_has_the_right_shape():
    """Closed against misspelt names; every service is read-only and without privileges."""
    Draft202012Validator(COMPOSE).validate(compose())
    services = compose()["services"]
    assert set(services) == {"gateway", "service-1", "service-2", "cache"}
    for service in services.values():
        assert set(service.get("depends_on", {})) <= set(services)
        for name, wanted in service.get("depends_on", {}).items():
            checked = "healthcheck" in services[name] or "build" in services[name]  # the image has its own
            assert wanted["condition"] != "service_healthy" or checked
    for volume in services["gateway"]["volumes"]:
        assert (ROOT / "config" / volume.split(":")[0]).is_file()


@pytest.mark.parametrize("source", ["ConfigMap", "service-1", "service-2"])
def test_the_files_set_variables_that_exist(monkeypatch, source):
    """Every variable is one that the service reads, and its value is accepted."""
    found = objects()["ConfigMap"]["data"] if source == "ConfigMap" else None
    values = found or compose()["services"][source]["environment"]
    assert set(values) <= variables()
    for name in variables():
        monkeypatch.delenv(name, raising=False)
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    assert read_settings() != Settings()


def test_the_gateway_asks_the_services_of_the_compose_file():
    """The servers of nginx's upstream are services of the compose file, on the port they listen on."""
    text = (ROOT / "config/gateway/nginx.conf").read_text(encoding="utf-8")
    servers = re.findall(r"^\s*server (\S+):(\d+) ", text, re.M)
    services = {name for name, service in compose()["services"].items() if "build" in service}
    assert {name for name, _ in servers} == services
    assert {port for _, port in servers} == {str(Settings().port)}
    assert "listen 8080" in text
    assert compose()["services"]["gateway"]["ports"] == ["8080:8080"]


def test_images_have_the_version_of_the_code():
    """The files run the version that they were released with."""
    images = [service["image"] for service in compose()["services"].values() if "build" in service]
    [container] = objects()["Deployment"]["spec"]["template"]["spec"]["containers"]
    assert {*images, container["image"]} == {f"llm-sizing:{VERSION}"}
