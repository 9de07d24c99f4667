"""The gateway, compose and Kubernetes files: of the right shape, and agreeing with the service they run."""

import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from service.app import create_app
from service.catalog import load_catalog
from service.cli import main
from service.errors import CatalogError
from service.settings import Settings, read_settings
from service.version import VERSION
from tests.unit.deployment import ROOT, compose, container, environments, objects, variables
from tests.unit.deployment_schemas import COMPOSE, METADATA, SPECS, TEXT, an_object

# Read from its file; in a test there is one.
SECRET = "postgresql://sizing:hidden@database/sizing"


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
    Draft202012Validator(SPECS["apps/v1", "Deployment"]).validate(document["spec"])
    document["spec"]["template"]["spec"]["containers"][0]["readynessProbe"] = {}
    assert not Draft202012Validator(SPECS["apps/v1", "Deployment"]).is_valid(document["spec"])
    services = compose()
    services["services"]["cache"]["comand"] = ["x"]
    assert not Draft202012Validator(COMPOSE).is_valid(services)
    for kind, name in (("batch/v1", "Job"), ("networking.k8s.io/v1", "NetworkPolicy")):
        document = objects()[name]
        document["spec"]["unknown"] = 1
        assert not Draft202012Validator(SPECS[kind, name]).is_valid(document["spec"])


def test_kubernetes_objects_find_each_other():
    """Selectors, names and ports of the objects agree."""
    found = objects()
    labels = found["Deployment"]["spec"]["template"]["metadata"]["labels"]
    for kind in ("Deployment", "PodDisruptionBudget"):
        assert found[kind]["spec"]["selector"]["matchLabels"] == labels
    assert found["Service"]["spec"]["selector"] == labels
    target = found["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]
    assert (target["kind"], target["name"]) == ("Deployment", found["Deployment"]["metadata"]["name"])
    for path in found["Ingress"]["spec"]["rules"][0]["http"]["paths"]:
        assert path["backend"]["service"]["name"] == found["Service"]["metadata"]["name"]
        assert path["backend"]["service"]["port"]["name"] == found["Service"]["spec"]["ports"][0]["name"]
    service = container()
    assert service["envFrom"][0]["configMapRef"]["name"] == found["ConfigMap"]["metadata"]["name"]
    assert str(service["ports"][0]["containerPort"]) == found["ConfigMap"]["data"]["PORT"]
    [selected] = found["NetworkPolicy"]["spec"]["podSelector"]["matchExpressions"]
    pods = [found[kind]["spec"]["template"]["metadata"]["labels"] for kind in ("Deployment", "Job")]
    assert sorted(labels[selected["key"]] for labels in pods) == sorted(selected["values"])
    assert pods[0] != pods[1], "a Service must not send requests to the Job"
    [[open_port]] = [rule["ports"] for rule in found["NetworkPolicy"]["spec"]["ingress"]]
    assert open_port["port"] == service["ports"][0]["containerPort"]


def test_the_ingress_leads_to_all_but_metrics_and_probes():
    """Every address of the service is reached from outside; the numbers and the probes are not."""
    paths = objects()["Ingress"]["spec"]["rules"][0]["http"]["paths"]
    exact = {path["path"] for path in paths if path["pathType"] == "Exact"}
    below = tuple(f"{path['path']}/" for path in paths if path["pathType"] == "Prefix")
    app = create_app(Settings(public_url="https://sizing.example.org"))
    inside = {
        rule.rule
        for rule in app.url_map.iter_rules()
        if rule.rule not in exact and not f"{rule.rule}/".startswith(below)
    }
    assert inside == {"/metrics", "/health/live", "/health/ready", "/health/info"}


@pytest.mark.parametrize("kind", ["Deployment", "Job"])
def test_volumes_are_mounted_and_hold_what_is_read(kind):
    """Every mount has its volume, and each path that a variable names lies in a mount."""
    spec = objects()[kind]["spec"]["template"]["spec"]
    mounts = {each["name"]: each["mountPath"] for each in container(kind)["volumeMounts"]}
    assert mounts.keys() == {each["name"] for each in spec["volumes"]}
    values = environments()["ConfigMap" if kind == "Deployment" else "Job"]
    for name, value in values.items():
        if name.endswith(("_FILE", "_PATH")):
            assert any(Path(value).is_relative_to(path) for path in mounts.values()), name


def test_a_mounted_configmap_is_an_overlay(tmp_path):
    """A ConfigMap's folder, links and all, is read as facts of the operator; an absent one is none."""
    assert (
        load_catalog(Settings().config_path, tmp_path).digest == load_catalog(Settings().config_path).digest
    )
    version = tmp_path / "..2026_12_01"
    version.mkdir()
    (version / "gpus.yaml").write_text("- {id: x}\n")
    (tmp_path / "..data").symlink_to(version.name)
    (tmp_path / "gpus.yaml").symlink_to("..data/gpus.yaml")
    with pytest.raises(CatalogError, match=r"gpus\.yaml"):
        load_catalog(Settings().config_path, tmp_path)


def test_the_migration_is_a_command_of_the_service():
    """Compose and Kubernetes run `migrate` by the module, and services wait for its success."""
    services = compose()["services"]
    for words in (container("Job")["command"], services["migrate"]["command"]):
        assert words[:3] == ["python", "-m", "service.cli"]
        assert words[3:] == ["migrate"]
        assert "migrate" in main.list_commands(None)
    for name in ("service-1", "service-2"):
        assert services[name]["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}
    assert services["migrate"]["restart"] == "no"
    assert objects()["Job"]["metadata"]["name"].endswith(VERSION.replace(".", "-"))


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
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert client.get(container()[probe]["httpGet"]["path"]).status_code == 200


def test_the_compose_file_has_the_right_shape():
    """Closed against misspelt names; every service is read-only and without privileges."""
    Draft202012Validator(COMPOSE).validate(compose())
    services = compose()["services"]
    assert set(services) == {"gateway", "service-1", "service-2", "migrate", "cache", "database"}
    for name, service in services.items():
        assert set(service["networks"]) <= set(compose()["networks"])
        assert ("ports" in service) == (name == "gateway") == ("outside" in service["networks"])
        assert set(service.get("secrets", ())) <= set(compose()["secrets"])
        for key, value in service.get("environment", {}).items():
            if key.endswith("_FILE"):
                assert value.removeprefix("/run/secrets/") in service["secrets"], key
        assert set(service.get("depends_on", {})) <= set(services)
        for name, wanted in service.get("depends_on", {}).items():
            checked = "healthcheck" in services[name] or "build" in services[name]  # the image has its own
            assert wanted["condition"] != "service_healthy" or checked
        if wanted := service.get("volumes", []):
            named = [volume.split(":")[0] for volume in wanted]
            assert all(volume.startswith(".") or volume in compose()["volumes"] for volume in named)
    for volume in services["gateway"]["volumes"]:
        assert (ROOT / "config" / volume.split(":")[0]).is_file()


@pytest.mark.parametrize("source", ["ConfigMap", "Job", "service-1", "service-2", "migrate"])
def test_the_files_set_variables_that_exist(monkeypatch, tmp_path, source):
    """Every variable is one that the service reads, and its value is accepted, with its secret's file."""
    values = environments()[source]
    assert set(values) <= variables()
    (tmp_path / "database-url").write_text(f"{SECRET}\n")
    for name in variables():
        monkeypatch.delenv(name, raising=False)
    for name, value in values.items():
        here = {"DATABASE_URL_FILE": str(tmp_path / "database-url"), "CATALOG_PATH": str(tmp_path)}
        monkeypatch.setenv(name, here.get(name, value))
    assert read_settings().database_url == SECRET


def test_the_gateway_asks_the_services_of_the_compose_file():
    """The servers of nginx's upstream are services of the compose file, on the port they listen on."""
    text = (ROOT / "config/gateway/nginx.conf").read_text(encoding="utf-8")
    servers = re.findall(r"^\s*server (\S+):(\d+) ", text, re.M)
    services = {name for name, service in compose()["services"].items() if "build" in service}
    assert {name for name, _ in servers} == services - {"migrate"}
    assert {port for _, port in servers} == {str(Settings().port)}
    assert "listen 8080" in text
    assert compose()["services"]["gateway"]["ports"] == ["8080:8080"]


def test_the_image_runs_as_nobody_in_particular():
    """A numeric user, no volume and no root step after it; nothing is fetched but by the pinned list."""
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    steps = [line.split(None, 1) for line in lines if line and not line.startswith("#")]
    last = [index for index, step in enumerate(steps) if step[0] == "FROM"][-1]
    user = next(index for index, step in enumerate(steps) if step[0] == "USER")
    assert user > last
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", steps[user][1])
    assert {step[0] for step in steps[user:]} <= {"USER", "EXPOSE", "HEALTHCHECK", "CMD"}
    assert not {step[0] for step in steps} & {"ADD", "VOLUME", "ENTRYPOINT"}
    assert not [step for step in steps[last:] if step[0] == "RUN"]
    assert [step[1] for step in steps if "pip install" in step[-1]] == [
        "/opt/venv/bin/pip install --require-hashes -r /src/requirements.txt"
    ]


def test_services_on_the_network_limit_their_callers(monkeypatch):
    """Image, compose file and Kubernetes limit what is computed for one caller; `make run` does not."""
    image = dict(re.findall(r"([A-Z_]+)=(\S+)", (ROOT / "Dockerfile").read_text(encoding="utf-8")))
    places = [image, objects()["ConfigMap"]["data"]]
    places += [compose()["services"][name]["environment"] for name in ("service-1", "service-2")]
    for values in places:
        monkeypatch.setenv("RATE_LIMIT_MISSES", values["RATE_LIMIT_MISSES"])
        assert read_settings().rate_limit_misses is not None
    assert Settings().rate_limit_misses is None


def test_images_have_the_version_of_the_code():
    """The files run the version that they were released with."""
    images = [service["image"] for service in compose()["services"].values() if "build" in service]
    images += [container(kind)["image"] for kind in ("Deployment", "Job")]
    assert set(images) == {f"llm-sizing:{VERSION}"}
