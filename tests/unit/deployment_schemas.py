"""Shapes of the compose file and the Kubernetes objects, closed against misspelt names.

Our own and small: those parts of the published schemas that the files use (Compose Specification; Kubernetes
API reference, apps/v1, batch/v1, v1, networking.k8s.io/v1, policy/v1, autoscaling/v2).
"""

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
EXPRESSION = an_object({"key": TEXT, "operator": {"enum": ["In", "Exists"]}}, values=a_list(TEXT))
PROBE = an_object(
    {"httpGet": an_object({"path": TEXT, "port": {"const": "http"}}), "periodSeconds": COUNT},
    timeoutSeconds=COUNT,
    failureThreshold=COUNT,
)
_RUNS = {
    "name": TEXT,
    "image": TEXT,
    "resources": an_object({"requests": {**AMOUNTS, "required": ["cpu", "memory"]}, "limits": AMOUNTS}),
    "securityContext": an_object(
        {
            "readOnlyRootFilesystem": YES,
            "allowPrivilegeEscalation": NO,
            "capabilities": an_object({"drop": {"const": ["ALL"]}}),
        }
    ),
}
MOUNTS = a_list(an_object({"name": TEXT, "mountPath": TEXT}, readOnly=YES))
CONTAINER = an_object(
    {
        **_RUNS,
        "ports": a_list(an_object({"name": TEXT, "containerPort": COUNT})),
        "startupProbe": PROBE,
        "livenessProbe": PROBE,
        "readinessProbe": PROBE,
    },
    envFrom=a_list(an_object({"configMapRef": an_object({"name": TEXT})})),
    volumeMounts=MOUNTS,
    lifecycle=an_object({"preStop": an_object({"exec": an_object({"command": a_list(TEXT)})})}),
)
TASK = an_object(
    {**_RUNS, "command": a_list(TEXT)},
    env=a_list(an_object({"name": TEXT, "value": TEXT})),
    volumeMounts=MOUNTS,
)
VOLUME = {
    "oneOf": [
        an_object({"name": TEXT, "emptyDir": an_object({}, medium=TEXT, sizeLimit=QUANTITY)}),
        an_object({"name": TEXT, "secret": an_object({"secretName": TEXT})}),
        an_object({"name": TEXT, "configMap": an_object({"name": TEXT}, optional=YES)}),
    ]
}
_UNPRIVILEGED = {
    "automountServiceAccountToken": NO,
    "securityContext": an_object(
        {"runAsNonRoot": YES, "seccompProfile": {"const": {"type": "RuntimeDefault"}}}
    ),
}
POD = an_object(
    {**_UNPRIVILEGED, "containers": a_list(CONTAINER), "terminationGracePeriodSeconds": COUNT},
    enableServiceLinks=NO,
    topologySpreadConstraints=a_list(
        an_object(
            {"maxSkew": COUNT, "topologyKey": TEXT, "whenUnsatisfiable": TEXT, "labelSelector": SELECTOR}
        )
    ),
    volumes=a_list(VOLUME),
)
TASK_POD = an_object(
    {**_UNPRIVILEGED, "containers": a_list(TASK), "restartPolicy": {"enum": ["OnFailure", "Never"]}},
    enableServiceLinks=NO,
    volumes=a_list(VOLUME),
)
PORTS = a_list(an_object({"ports": a_list(an_object({"protocol": {"enum": ["TCP", "UDP"]}, "port": COUNT}))}))
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
    ("batch/v1", "Job"): an_object(
        {"template": an_object({"metadata": an_object({"labels": LABELS}), "spec": TASK_POD})},
        backoffLimit=COUNT,
        activeDeadlineSeconds=COUNT,
        ttlSecondsAfterFinished=COUNT,
    ),
    ("networking.k8s.io/v1", "NetworkPolicy"): an_object(
        {
            "podSelector": an_object({"matchExpressions": a_list(EXPRESSION)}),
            "policyTypes": {"const": ["Ingress", "Egress"]},
            "ingress": PORTS,
            "egress": PORTS,
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
CONDITION = an_object(
    {"condition": {"enum": ["service_started", "service_healthy", "service_completed_successfully"]}}
)
COMPOSE_SERVICE = an_object(
    {
        "image": TEXT,
        "read_only": YES,
        "cap_drop": {"const": ["ALL"]},
        "security_opt": {"const": ["no-new-privileges:true"]},
        "restart": {"enum": ["unless-stopped", "no"]},
        "networks": a_list(TEXT),
    },
    build=an_object({"context": TEXT}),
    command=a_list(TEXT),
    volumes=a_list(TEXT),
    ports=a_list(TEXT),
    user=TEXT,
    tmpfs=a_list(TEXT),
    environment={"type": "object", "additionalProperties": TEXT},
    depends_on={"type": "object", "additionalProperties": CONDITION},
    healthcheck={
        "oneOf": [
            an_object({"test": a_list(TEXT)}, interval=TEXT, timeout=TEXT, retries=COUNT),
            an_object({"disable": YES}),
        ]
    },
    secrets=a_list(TEXT),
    deploy=an_object({"resources": an_object({"limits": an_object({}, cpus=TEXT, memory=TEXT)})}),
    stop_grace_period=TEXT,
)
COMPOSE = an_object(
    {"services": {"type": "object", "additionalProperties": COMPOSE_SERVICE}},
    name=TEXT,
    secrets={"type": "object", "additionalProperties": an_object({"file": TEXT})},
    volumes={"type": "object", "additionalProperties": an_object({})},
    networks={"type": "object", "additionalProperties": an_object({}, internal=YES)},
)
